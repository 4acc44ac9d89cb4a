/* What the watcher is told of a run: see runs.h. */
#include "audit/runs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/sight.h"
#include "base/fd.h"
#include "base/sha256.h"

/* ------------------------------------------------------------- a plan's hash */

static void add_number(struct rf_sha256 *sha, uint64_t number)
{
	rf_sha256_add(sha, &number, sizeof(number));
}

/* With its NUL, so that two texts are never one; one that is absent is told from one that is empty. */
static void add_text(struct rf_sha256 *sha, const char *text)
{
	if (text)
		rf_sha256_add(sha, text, strlen(text) + 1);
	else
		rf_sha256_add(sha, "\1", 2); /* no path or name of ours has that byte */
}

static void add_list(struct rf_sha256 *sha, char *const *list)
{
	add_number(sha, list != NULL);
	for (; list && *list; list++)
		add_text(sha, *list);
	add_text(sha, NULL);
}

/* Names of variables; their values may be secrets, and a hash of a short one can be guessed. */
static void add_names(struct rf_sha256 *sha, char *const *env)
{
	for (; env && *env; env++) {
		rf_sha256_add(sha, *env, strcspn(*env, "="));
		rf_sha256_add(sha, "", 1);
	}
	add_text(sha, NULL);
}

void rf_runs_digest(const struct rf_plan *plan, uint8_t hash[RF_AUDIT_HASH])
{
	struct rf_sha256 sha;

	rf_sha256_init(&sha);
	add_number(&sha, plan->place_count);
	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];

		const uint8_t how[] = { (uint8_t)place->kind, (uint8_t)place->rights,
					place->is_optional };

		rf_sha256_add(&sha, how, sizeof(how));
		add_text(&sha, place->path);
		if (place->kind == RF_PLACE_TEXT || place->kind == RF_PLACE_DATA || !place->source)
			add_text(&sha, NULL);
		else if (strcmp(place->source, place->path) == 0)
			add_text(&sha, "\2"); /* most are: half of what there is to hash */
		else
			add_text(&sha, place->source);
	}
	add_number(&sha, plan->deny_count);
	for (size_t i = 0; i < plan->deny_count; i++)
		add_text(&sha, plan->deny[i].text);
	rf_sha256_add(&sha, plan->limits, sizeof(plan->limits));
	add_list(&sha, plan->commands);
	add_list(&sha, plan->seccomp);
	add_names(&sha, plan->env);
	add_text(&sha, plan->hostname);
	add_text(&sha, plan->workdir);
	add_number(&sha, plan->isolation);
	add_number(&sha, plan->link);
	add_number(&sha, plan->has_loopback);
	add_number(&sha, plan->has_unix);
	add_number(&sha, plan->syscalls);
	add_number(&sha, plan->hides_credentials);
	add_number(&sha, plan->keeps_attributes);
	add_number(&sha, plan->may_be_weaker);
	add_number(&sha, plan->needs_hard);
	rf_sha256_end(&sha, hash);
}

/* ------------------------------------------------------------- breakers */

/* "refused MS REASON\n", as the watcher says it. */
static int refuse(const struct rf_plan *plan, const char *answer, struct rf_err *err)
{
	static const char refused[] = "refused ";
	const char *wait = answer + sizeof(refused) - 1, *reason;
	char *end = NULL, text[32];
	uint64_t ms;

	if (strncmp(answer, refused, sizeof(refused) - 1) != 0)
		return rf_fail_say(err, -EPROTO, "the watcher answers something else");
	ms = strtoull(wait, &end, 10);
	reason = strchr(wait, ' ');
	reason = reason ? reason + 1 : "";
	rf_fail_say(err, -EPERM, "the breaker of agent %s is open: %.*s", plan->agent,
		    (int)strcspn(reason, "\n"), reason);
	if (end == wait) {
		rf_fail_hint(err, "it stays so until `ringfort breaker reset %s`", plan->agent);
		return 1;
	}
	ms = (ms + 999) / 1000 * 1000;
	rf_limit_write(&rf_quota_table[RF_QUOTA_OPEN], ms, text, sizeof(text));
	rf_fail_hint(err, "try again in %s, or look at `ringfort breaker ls`", text);
	return 1;
}

void rf_runs_write_question(const struct rf_plan *plan, const char *box, struct rf_buf *out)
{
	char quotas[RF_QUOTA_TEXT];
	const char *const words[] = { "admit", box, plan->agent, quotas };

	rf_quota_format(&plan->quotas, quotas);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		rf_buf_add(out, words[i], strlen(words[i]) + 1);
}

int rf_runs_read_answer(const struct rf_plan *plan, const char *answer, struct rf_err *err)
{
	return strcmp(answer, "admitted\n") == 0 ? 0 : refuse(plan, answer, err);
}

int rf_runs_admit(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		  struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf line, answer;

	rf_buf_init(&line, 4096);
	rf_buf_init(&answer, 4096);
	if (!plan->agent)
		return 0;
	rf_runs_write_question(plan, box, &line);
	if (line.has_failed)
		return rf_fail(err, -ENOMEM, "ask the watcher");
	if (rf_teller_ask(teller, line.data, line.len, &answer, err) < 0)
		return err->code;
	return rf_runs_read_answer(plan, answer.data, err);
}

int rf_runs_unwatched(const struct rf_err *why, struct rf_err *err)
{
	bool is_none = why->code == -ENOENT || why->code == -ECONNREFUSED;

	rf_fail_say(err, -EPERM, "the policy has a breaker, budgets or alarms, and %s%s",
		    is_none ? "no watcher stands to keep them" : "the watcher does not answer: ",
		    is_none ? "" : why->msg);
	if (is_none)
		return rf_fail_hint(err, "start one: ringfort watch &, or run without: "
					 "`weaker: allow`");
	return rf_fail_hint(err, "%s", why->hint[0] ? why->hint : "see `ringfort watch --status`");
}

/* ------------------------------------------------------------- events */

/* A program's own name, without the folders that lead to it. */
static const char *base_of(const char *program)
{
	const char *slash = program ? strrchr(program, '/') : NULL;

	return slash && slash[1] ? slash + 1 : program && *program ? program : "?";
}

static const char *name_of(const struct rf_plan *plan)
{
	return base_of(plan && plan->argv ? plan->argv[0] : NULL);
}

/* For whom it is done. */
static void put_whose(struct rf_audit_event *event, const struct rf_plan *plan)
{
	if (!plan)
		return;
	rf_audit_event_text(event, RF_AUDIT_AGENT, plan->agent);
	rf_audit_event_text(event, RF_AUDIT_TENANT, plan->origin.tenant);
	rf_audit_event_text(event, RF_AUDIT_KEY, plan->origin.key);
	rf_audit_event_text(event, RF_AUDIT_REQUEST, plan->origin.request);
	rf_audit_event_text(event, RF_AUDIT_TRACE, plan->origin.trace);
}

/* Where the first part of a text ends: behind a line, if one ends within the room that there is. */
static size_t part_of(const char *text)
{
	size_t len = strlen(text), end;

	if (len <= RF_AUDIT_TEXT_MAX)
		return len;
	for (end = RF_AUDIT_TEXT_MAX; end > 0 && text[end - 1] != '\n';)
		end--;
	for (len = RF_AUDIT_TEXT_MAX; ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	return end > 0 ? end : len;
}

/* The policy's text, in as many events as it needs. */
static int add_policy(struct rf_buf *out, const char *text, const uint8_t hash[RF_AUDIT_HASH],
		      struct rf_err *err)
{
	struct rf_audit_event event;
	char part[RF_AUDIT_TEXT_MAX + 1];
	uint64_t count = 0;

	for (const char *at = text; *at; at += part_of(at))
		count++;
	if (count > RF_RUNS_POLICY_PARTS)
		return 0;
	for (uint64_t i = 1; *text; i++) {
		size_t len = part_of(text);

		memcpy(part, text, len);
		part[len] = '\0';
		text += len;
		rf_audit_event_init(&event, RF_AUDIT_POLICY_TEXT);
		rf_audit_event_digest(&event, RF_AUDIT_POLICY, hash);
		rf_audit_event_text(&event, RF_AUDIT_TEXT_PART, part);
		rf_audit_event_number(&event, RF_AUDIT_PART, i);
		rf_audit_event_number(&event, RF_AUDIT_COUNT, count);
		if (rf_teller_write(out, &event, err) < 0)
			return err->code;
	}
	return 0;
}

int rf_runs_write_started(struct rf_buf *out, const struct rf_plan *plan,
			  const struct rf_runs_facts *facts, struct rf_err *err)
{
	uint8_t of_plan[RF_AUDIT_HASH], of_policy[RF_AUDIT_HASH];
	struct rf_audit_event event;
	struct rf_sha256 sha;

	rf_audit_event_init(&event, RF_AUDIT_RUN_STARTED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, facts->box);
	put_whose(&event, plan);
	rf_audit_event_number(&event, RF_AUDIT_USER, geteuid());
	rf_audit_event_number(&event, RF_AUDIT_PID, (uint64_t)facts->pid);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, name_of(plan));
	rf_audit_event_text(&event, RF_AUDIT_WORKSPACE, facts->workspace);
	rf_runs_digest(plan, of_plan);
	rf_audit_event_digest(&event, RF_AUDIT_PLAN, of_plan);
	if (facts->policy) {
		rf_sha256_init(&sha);
		rf_sha256_add(&sha, facts->policy, strlen(facts->policy));
		rf_sha256_end(&sha, of_policy);
		rf_audit_event_digest(&event, RF_AUDIT_POLICY, of_policy);
		if (add_policy(out, facts->policy, of_policy, err) < 0)
			return err->code;
	}
	return rf_teller_write(out, &event, err);
}

int rf_runs_started(struct rf_teller *teller, const struct rf_plan *plan,
		    const struct rf_runs_facts *facts, struct rf_err *err)
{
	int code;

	rf_buf_reserve(&teller->out, RF_AUDIT_EVENT_MAX - 64); /* at once, and not piece by piece */
	code = rf_runs_write_started(&teller->out, plan, facts, err);
	return code < 0 ? code : rf_teller_post(teller, err);
}

static void put_us(struct rf_audit_event *event, enum rf_audit_field field, uint64_t ns)
{
	if (ns != UINT64_MAX)
		rf_audit_event_number(event, field, ns / 1000);
}

static void put_known(struct rf_audit_event *event, enum rf_audit_field field, uint64_t number)
{
	if (number != UINT64_MAX)
		rf_audit_event_number(event, field, number);
}

/* How a program ended, and what it used until then. */
static void put_end(struct rf_audit_event *event, const struct rf_result *result)
{
	if (result->exit_code >= 0)
		rf_audit_event_number(event, RF_AUDIT_EXIT_CODE, (uint64_t)result->exit_code);
	if (result->signal > 0)
		rf_audit_event_number(event, RF_AUDIT_SIGNAL, (uint64_t)result->signal);
	put_us(event, RF_AUDIT_WALL_US, result->usage.wall_ns);
	put_us(event, RF_AUDIT_CPU_US, result->usage.cpu_ns);
	put_known(event, RF_AUDIT_MEMORY, result->usage.memory_peak);
	if (result->error.code)
		rf_audit_event_text(event, RF_AUDIT_REASON, result->error.msg);
}

static int add_denial(struct rf_buf *out, const struct rf_plan *plan, const char *box,
		      const struct rf_result_denial *denial, struct rf_err *err)
{
	struct rf_audit_event event;
	char what[512];

	snprintf(what, sizeof(what), "%s %s", denial->kind, denial->what);
	rf_audit_event_init(&event, RF_AUDIT_DENIAL);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	put_whose(&event, plan);
	rf_audit_event_text(&event, RF_AUDIT_RING, "execution");
	rf_audit_event_text(&event, RF_AUDIT_WHAT, what);
	rf_audit_event_text(&event, RF_AUDIT_RULE, denial->rule);
	rf_audit_event_text(&event, RF_AUDIT_REMEDY, denial->remedy);
	return rf_teller_write(out, &event, err);
}

int rf_runs_write_ended(struct rf_buf *out, const struct rf_plan *plan, const char *box,
			const struct rf_result *result, struct rf_err *err)
{
	char grades[RF_LIMIT_COUNT + 1] = "";
	struct rf_audit_event event;

	for (size_t i = 0; i < result->denial_count && i < RF_RUNS_DENIALS; i++)
		if (add_denial(out, plan, box, &result->denials[i], err) < 0)
			return err->code;
	rf_audit_event_init(&event, RF_AUDIT_RUN_ENDED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	put_whose(&event, plan);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, name_of(plan));
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, rf_result_status(result->status));
	rf_audit_event_text(&event, RF_AUDIT_ISOLATION,
			    result->walls.is_lesser ? "lesser" : "process");
	put_end(&event, result);
	put_us(&event, RF_AUDIT_START_US, result->usage.start_ns);
	put_known(&event, RF_AUDIT_PIDS, result->usage.pids_peak);
	put_known(&event, RF_AUDIT_DISK, result->usage.disk_bytes);
	put_known(&event, RF_AUDIT_OUTPUT, result->usage.output_bytes);
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		grades[i] = RF_RUNS_GRADES[result->grades[i]];
	if (result->proven)
		rf_audit_event_text(&event, RF_AUDIT_GRADES, grades);
	if (result->has_seen_denials || result->denial_count > 0)
		rf_audit_event_number(&event, RF_AUDIT_DENIALS, result->denial_count);
	return rf_teller_write(out, &event, err);
}

int rf_runs_write_exec(struct rf_buf *out, const struct rf_plan *plan, const char *box,
		       const struct rf_runs_exec *exec, struct rf_err *err)
{
	const struct rf_result *result = exec->result;
	struct rf_audit_event event;

	rf_audit_event_init(&event, result ? RF_AUDIT_EXEC_ENDED : RF_AUDIT_EXEC_STARTED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	put_whose(&event, plan);
	rf_audit_event_number(&event, RF_AUDIT_EXEC, exec->number);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, base_of(exec->program));
	if (!result)
		return rf_teller_write(out, &event, err);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, rf_result_status(result->status));
	put_end(&event, result);
	return rf_teller_write(out, &event, err);
}

int rf_runs_ended(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		  const struct rf_result *result, struct rf_err *err)
{
	int code = rf_runs_write_ended(&teller->out, plan, box, result, err);

	return code < 0 ? code : rf_teller_post(teller, err);
}

static int tell_use(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		    const char *key, const char *what, size_t count, struct rf_err *err)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_RUN_USED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, plan->agent);
	rf_audit_event_text(&event, RF_AUDIT_SETTING, key);
	rf_audit_event_text(&event, RF_AUDIT_WHAT, what);
	if (!what)
		rf_audit_event_number(&event, RF_AUDIT_COUNT, count);
	if (teller->out.len + RF_AUDIT_EVENT_MAX > RF_TELLER_MOST &&
	    rf_teller_send(teller, NULL, err) < 0)
		return err->code;
	return rf_teller_add(teller, &event, err);
}

int rf_runs_used(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		 const char *key, const char *what, struct rf_err *err)
{
	return tell_use(teller, plan, box, key, what, 0, err);
}

int rf_runs_learnt(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		   size_t count, struct rf_err *err)
{
	return tell_use(teller, plan, box, RF_RUNS_LEARNT, NULL, count, err);
}

int rf_runs_write_lost(struct rf_buf *out, const struct rf_plan *plan, const char *box,
		       const char *reason, struct rf_err *err)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_RUN_ENDED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	put_whose(&event, plan);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, "lost");
	rf_audit_event_text(&event, RF_AUDIT_REASON, reason);
	return rf_teller_write(out, &event, err);
}

int rf_runs_write_refused(struct rf_buf *out, const struct rf_plan *plan, const char *box,
			  const char *reason, struct rf_err *err)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_RUN_REFUSED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	put_whose(&event, plan);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, name_of(plan));
	rf_audit_event_text(&event, RF_AUDIT_REASON, reason);
	return rf_teller_write(out, &event, err);
}

int rf_runs_write_recovery(struct rf_buf *out, const char *box, const char *what, const char *done,
			   struct rf_err *err)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_RECOVERY);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_audit_event_text(&event, RF_AUDIT_WHAT, what);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, done);
	rf_audit_event_text(&event, RF_AUDIT_REASON, "its launcher was killed");
	return rf_teller_write(out, &event, err);
}

/* ------------------------------------------------------------- canaries */

/* In hexadecimal: enough to know the value by, where it turns up, and not to learn it. */
static void hash_value(const struct rf_plan *plan, size_t number, char text[65])
{
	char value[RF_CANARY_VALUE];
	uint8_t hash[RF_AUDIT_HASH];
	struct rf_sha256 sha;

	rf_canary_value(plan->seed, number, value);
	rf_sha256_init(&sha);
	rf_sha256_add(&sha, value, strlen(value));
	rf_sha256_end(&sha, hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
}

int rf_runs_planted(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		    struct rf_err *err)
{
	for (size_t i = 0; plan->canaries && plan->canaries[i]; i++) {
		struct rf_audit_event event;
		char hash[65];

		hash_value(plan, i, hash);
		rf_audit_event_init(&event, RF_AUDIT_CREDENTIAL_USE);
		rf_audit_event_text(&event, RF_AUDIT_BOX, box);
		put_whose(&event, plan);
		rf_audit_event_text(&event, RF_AUDIT_CREDENTIAL, hash);
		rf_audit_event_text(&event, RF_AUDIT_DECISION, "planted");
		rf_audit_event_text(&event, RF_AUDIT_REASON, plan->canaries[i]);
		if (rf_teller_add(teller, &event, err) < 0)
			return err->code;
	}
	return 0;
}

static int open_breaker(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
			bool is_sent, struct rf_err *err)
{
	const char *const words[] = { "breaker", "alarm", plan->agent, box,
				      is_sent ? "canary: a planted credential was sent"
					      : "canary: a planted credential was read" };
	RF_AUTO_BUF struct rf_buf line, answer;

	rf_buf_init(&line, 512);
	rf_buf_init(&answer, 4096);
	for (size_t i = 0; i < RF_LEN(words); i++)
		rf_buf_add(&line, words[i], strlen(words[i]) + 1);
	return rf_teller_ask(teller, line.data, line.len, &answer, err);
}

int rf_runs_caught(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		   const struct rf_result *result, struct rf_err *err)
{
	const char *canary = result->canary;
	bool is_sent = result->canary_to[0];
	struct rf_audit_event event;
	char hash[65] = "", reason[352] = "a planted credential was read";

	for (size_t i = 0; plan->canaries && plan->canaries[i]; i++)
		if (plan->canaries[i] == canary)
			hash_value(plan, i, hash);
	rf_audit_event_init(&event, RF_AUDIT_ALARM);
	rf_audit_event_text(&event, RF_AUDIT_ALARM_NAME, "canary");
	rf_audit_event_text(&event, RF_AUDIT_SEVERITY, "critical");
	if (is_sent)
		snprintf(reason, sizeof(reason), "a planted credential was sent to %s, and refused",
			 result->canary_to);
	rf_audit_event_text(&event, RF_AUDIT_REASON, reason);
	rf_audit_event_text(&event, RF_AUDIT_RULE, "files.canaries");
	rf_audit_event_text(&event, RF_AUDIT_WHAT, canary);
	rf_audit_event_text(&event, RF_AUDIT_CREDENTIAL, hash);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	put_whose(&event, plan);
	rf_audit_event_text(&event, RF_AUDIT_PROGRAM, name_of(plan));
	if (rf_teller_add(teller, &event, err) < 0 || !plan->agent ||
	    !(is_sent || plan->alarms.opens_breaker))
		return err->code;
	return rf_teller_send(teller, NULL, err) < 0
		       ? err->code
		       : open_breaker(teller, plan, box, is_sent, err);
}

/* ------------------------------------------------------------- boxes that live */

void rf_runs_write_sight(const struct rf_plan *plan, const char *box, bool is_lesser,
			 struct rf_buf *out)
{
	struct rf_sight sight = { .is_lesser = is_lesser };

	snprintf(sight.box, sizeof(sight.box), "%s", box);
	memcpy(sight.limits, plan->limits, sizeof(sight.limits));
	sight.alarms = plan->alarms;
	rf_sight_pack(&sight, out);
}

int rf_runs_show(struct rf_teller *teller, const struct rf_plan *plan, const char *box, int pidfd,
		 int hand, bool is_lesser, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 1024);
	rf_runs_write_sight(plan, box, is_lesser, &body);
	return body.has_failed ? rf_fail(err, -ENOMEM, "show a box to the watcher")
			       : rf_teller_show(teller, &body, pidfd, hand, err);
}

bool rf_runs_write_fate(const struct rf_result *result, const char *box, struct rf_buf *out)
{
	if (result->signal != SIGKILL)
		return false;
	rf_buf_add(out, "fate", sizeof("fate"));
	rf_buf_add(out, box, strlen(box) + 1);
	return !out->has_failed;
}

void rf_runs_read_fate(const char *answer, struct rf_result *result)
{
	static const char killed[] = "killed ", alarmed[] = " by the watcher:";
	struct rf_err err;
	char *why = NULL;
	uint64_t cpu_ns;

	if (strncmp(answer, killed, sizeof(killed) - 1) != 0)
		return;
	/* Whose end nobody foresaw was not looked at by the launcher. */
	cpu_ns = strtoull(answer + sizeof(killed) - 1, &why, 10);
	if (result->usage.cpu_ns == UINT64_MAX || result->usage.cpu_ns < cpu_ns)
		result->usage.cpu_ns = cpu_ns;
	result->is_alarmed = strncmp(why, alarmed, sizeof(alarmed) - 1) == 0;
	rf_fail_say(&err, -ECANCELED, "killed%.*s", (int)strcspn(why, "\n"), why);
	rf_result_fail(result, RF_STATUS_KILLED, 128 + SIGKILL, &err);
}

void rf_runs_explain(struct rf_teller *teller, const char *box, struct rf_result *result)
{
	RF_AUTO_BUF struct rf_buf line, answer;
	struct rf_err err = RF_ERR_INIT;

	rf_buf_init(&line, 256);
	rf_buf_init(&answer, 4096);
	if (rf_runs_write_fate(result, box, &line) && rf_teller_is_open(teller) &&
	    rf_teller_ask(teller, line.data, line.len, &answer, &err) == 0)
		rf_runs_read_fate(answer.data, result);
}

int rf_runs_require(const struct rf_err *why, struct rf_err *err)
{
	bool is_none = why->code == -ENOENT || why->code == -ECONNREFUSED;

	rf_fail_say(err, -EPERM, "audit: required, and %s%s",
		    is_none ? "no watcher stands" : "the watcher keeps nothing: ",
		    is_none ? "" : why->msg);
	if (is_none)
		return rf_fail_hint(err, "start one: ringfort watch &");
	return rf_fail_hint(err, "%s", why->hint[0] ? why->hint : "see `ringfort watch --status`");
}

int rf_runs_require_served(const struct rf_err *why, struct rf_err *err)
{
	bool is_none = why->code == -ENOENT || why->code == -ECONNREFUSED;

	rf_fail_say(err, -EHOSTDOWN, "nothing is begun that is not recorded, and %s%s",
		    is_none ? "no watcher stands" : "the watcher keeps nothing: ",
		    is_none ? "" : why->msg);
	return rf_fail_hint(err, "try again: the server starts a watcher where none stands");
}
