/* What the watcher does with what it hears: see steward.h. */
#include "watch/steward.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/pack.h"
#include "watch/abroad.h"
#include "watch/anomaly.h"
#include "watch/docket.h"
#include "watch/listing.h"

#define FORMAT  1
#define BOX     33 /* bytes of a box's id, with its NUL */
#define BREAKER (RF_TABLE_NAME + 16)

/* A run that was admitted and has not ended. */
struct run {
	struct rf_table_node node; /* first: found by its box */
	struct run *older, *newer;
	char agent[RF_TABLE_NAME];
	uint64_t ticket;
	struct rf_quotas quotas;
};

struct rf_steward {
	struct rf_steward_options options;
	struct rf_breaker_set *breakers;
	struct rf_budget_set *budgets;
	struct rf_metrics *metrics;
	struct rf_docket *docket;
	struct rf_table runs;
	struct run *oldest, *newest;
	struct rf_abroad abroad;
	uint64_t started, ended; /* boxes */
	struct rf_steward_now now;
	const char *by; /* whose doing a change is */
	enum rf_steward_news news;
};

/* ------------------------------------------------------------- events of our own */

static void note(struct rf_steward *steward, const struct rf_audit_event *event)
{
	if (steward->options.note)
		steward->options.note(steward->options.data, event);
}

/* When to come back, on the clock; nothing where that is not known. */
static void put_until(struct rf_audit_event *event, const struct rf_steward *steward,
		      uint64_t retry_ms)
{
	if (retry_ms != RF_CLOCK_NEVER)
		rf_audit_event_number(event, RF_AUDIT_UNTIL_MS,
				      rf_clock_after(steward->now.wall_ms, retry_ms));
}

static void on_change(void *data, const struct rf_breaker_view *view, enum rf_breaker_state before)
{
	struct rf_steward *steward = data;
	struct rf_audit_event event;
	char breaker[BREAKER];

	steward->news = RF_STEWARD_CHANGED;
	if (view->state == RF_BREAKER_OPEN)
		rf_metrics_add(steward->metrics, RF_METRIC_BREAKER_OPENED,
			       rf_table_kind_name(view->kind), NULL, 1);
	snprintf(breaker, sizeof(breaker), "%s %s", rf_table_kind_name(view->kind), view->name);
	rf_audit_event_init(&event, RF_AUDIT_BREAKER_CHANGE);
	rf_audit_event_text(&event, RF_AUDIT_BREAKER, breaker);
	rf_audit_event_text(&event, RF_AUDIT_FROM, rf_breaker_state_name(before));
	rf_audit_event_text(&event, RF_AUDIT_TO, rf_breaker_state_name(view->state));
	rf_audit_event_text(&event, RF_AUDIT_REASON, view->reason);
	rf_audit_event_text(&event, RF_AUDIT_BY, steward->by);
	if (view->kind == RF_TABLE_AGENT)
		rf_audit_event_text(&event, RF_AUDIT_AGENT, view->name);
	if (view->state == RF_BREAKER_OPEN)
		put_until(&event, steward, view->retry_ms);
	note(steward, &event);
}

static void note_refused(struct rf_steward *steward, const char *box, const char *agent,
			 const struct rf_breaker_answer *answer)
{
	struct rf_audit_event event;
	char breaker[BREAKER];

	snprintf(breaker, sizeof(breaker), "agent %s", agent);
	rf_audit_event_init(&event, RF_AUDIT_RUN_REFUSED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, agent);
	rf_audit_event_text(&event, RF_AUDIT_RING, "blast");
	rf_audit_event_text(&event, RF_AUDIT_BREAKER, breaker);
	rf_audit_event_text(&event, RF_AUDIT_REASON, answer->reason);
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, "denied");
	put_until(&event, steward, answer->retry_ms);
	note(steward, &event);
}

static void note_spent(struct rf_steward *steward, const char *agent,
		       const struct rf_budget_answer *spent)
{
	struct rf_audit_event event;
	char budget[64];

	snprintf(budget, sizeof(budget), "%s_per_%s", rf_budget_name(spent->what),
		 rf_budget_period_name(spent->period));
	rf_audit_event_init(&event, RF_AUDIT_BUDGET_SPENT);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, agent);
	rf_audit_event_text(&event, RF_AUDIT_BUDGET, budget);
	rf_audit_event_number(&event, RF_AUDIT_SPENT, spent->used);
	rf_audit_event_number(&event, RF_AUDIT_LIMIT, spent->limit);
	note(steward, &event);
}

/* What is odd is an alarm. */
static void sound(struct rf_steward *steward, const struct rf_anomaly_facts *facts, const char *box,
		  const char *agent)
{
	const struct rf_anomaly *found[4];
	size_t count = rf_anomaly_find(facts, found, RF_LEN(found));

	for (size_t i = 0; i < count; i++) {
		struct rf_audit_event event;

		rf_metrics_add(steward->metrics, RF_METRIC_ALARMS, found[i]->name, NULL, 1);
		rf_audit_event_init(&event, RF_AUDIT_ALARM);
		rf_audit_event_text(&event, RF_AUDIT_ALARM_NAME, found[i]->name);
		rf_audit_event_text(&event, RF_AUDIT_SEVERITY, found[i]->severity);
		rf_audit_event_text(&event, RF_AUDIT_REASON, found[i]->reason);
		rf_audit_event_text(&event, RF_AUDIT_BOX, box);
		rf_audit_event_text(&event, RF_AUDIT_AGENT, agent);
		if (facts->denials > 0 || facts->refused > 0)
			rf_audit_event_number(&event, RF_AUDIT_COUNT,
					      facts->refused ? facts->refused : facts->denials);
		note(steward, &event);
	}
}

/* ------------------------------------------------------------- runs */

static struct run *find_run(const struct rf_steward *steward, const char *box)
{
	return (struct run *)rf_table_find(&steward->runs, RF_TABLE_AGENT,
					   box); /* all of one kind */
}

static void forget_run(struct rf_steward *steward, struct run *run)
{
	*(run->older ? &run->older->newer : &steward->oldest) = run->newer;
	*(run->newer ? &run->newer->older : &steward->newest) = run->older;
	rf_table_remove(&steward->runs, &run->node);
	free(run);
}

/* Keeps an admitted run in mind; the oldest goes, should its launcher have died before it began. */
static int remember_run(struct rf_steward *steward, const char *box, const char *agent,
			const struct rf_quotas *quotas, uint64_t ticket)
{
	struct run *run = find_run(steward, box);

	if (run)
		forget_run(steward, run);
	if (steward->runs.node_count >= steward->options.runs && steward->oldest)
		forget_run(steward, steward->oldest);
	run = calloc(1, sizeof(*run));
	if (!run || rf_table_add(&steward->runs, &run->node, RF_TABLE_AGENT, box) < 0) {
		free(run);
		return -ENOMEM;
	}
	snprintf(run->agent, sizeof(run->agent), "%s", agent);
	run->ticket = ticket;
	run->quotas = *quotas;
	run->older = steward->newest;
	*(run->older ? &run->older->newer : &steward->oldest) = run;
	steward->newest = run;
	return 0;
}

/*
 * A run that a watcher before this one admitted: what it cost is its agent's, and what it came to counts by
 * the rules that apply where a policy says nothing.
 */
static void end_unknown(struct rf_steward *steward, const struct rf_audit_event *event,
			const struct rf_docket_outcome *outcome)
{
	struct rf_quotas quotas = { 0 };
	char agent[RF_TABLE_NAME];

	rf_audit_event_copy(event, RF_AUDIT_AGENT, agent, sizeof(agent));
	if (!rf_table_takes(agent))
		return;
	for (int i = 0; i < RF_QUOTA_COUNT; i++)
		quotas.figures[i] = rf_quota_table[i].for_run;
	rf_docket_tell(steward->docket, agent, &quotas, 0, outcome, steward->now.mono_ms);
}

static void end_run(struct rf_steward *steward, const struct rf_audit_event *event)
{
	char box[BOX], verdict[32], agent[RF_TABLE_NAME];
	struct rf_docket_outcome outcome = {
		.cpu_ms = rf_audit_event_get(event, RF_AUDIT_CPU_US) / 1000,
		.denials = rf_audit_event_get(event, RF_AUDIT_DENIALS),
	};
	struct run *run;

	rf_audit_event_copy(event, RF_AUDIT_BOX, box, sizeof(box));
	rf_audit_event_copy(event, RF_AUDIT_VERDICT, verdict, sizeof(verdict));
	outcome.end = rf_docket_end_of(verdict);
	rf_metrics_add(steward->metrics, RF_METRIC_RUNS, verdict, NULL, 1);
	rf_metrics_add(steward->metrics, RF_METRIC_RUN_SECONDS, NULL, NULL,
		       rf_audit_event_get(event, RF_AUDIT_WALL_US) * 1000);
	rf_metrics_add(steward->metrics, RF_METRIC_CPU_SECONDS, NULL, NULL,
		       rf_audit_event_get(event, RF_AUDIT_CPU_US) * 1000);
	if (rf_audit_event_has(event, RF_AUDIT_START_US))
		rf_metrics_observe(steward->metrics, RF_METRIC_START_SECONDS,
				   rf_audit_event_get(event, RF_AUDIT_START_US) * 1000);
	steward->ended += steward->ended < steward->started;
	rf_abroad_leave(&steward->abroad, box);
	rf_audit_event_copy(event, RF_AUDIT_AGENT, agent, sizeof(agent));
	sound(steward, &(struct rf_anomaly_facts){ verdict, outcome.denials, 0 }, box, agent);
	run = find_run(steward, box);
	if (!run) {
		end_unknown(steward, event, &outcome);
		return;
	}
	rf_docket_tell(steward->docket, run->agent, &run->quotas, run->ticket, &outcome,
		       steward->now.mono_ms);
	forget_run(steward, run);
}

/* A run that was admitted and is not begun, by who asked for it: it counts for nothing. */
static void take_back(struct rf_steward *steward, const struct rf_audit_event *event)
{
	const struct rf_docket_outcome nothing = { .end = RF_DOCKET_UNKNOWN };
	struct run *run;
	char box[BOX];

	rf_audit_event_copy(event, RF_AUDIT_BOX, box, sizeof(box));
	run = find_run(steward, box);
	if (!run)
		return;
	rf_docket_tell(steward->docket, run->agent, &run->quotas, run->ticket, &nothing,
		       steward->now.mono_ms);
	forget_run(steward, run);
}

/* What went through the gateway: a request, or a connection that was not looked into. */
static void count_traffic(struct rf_steward *steward, const struct rf_audit_event *event)
{
	uint64_t out = rf_audit_event_get(event, RF_AUDIT_BYTES_OUT);
	uint64_t in = rf_audit_event_get(event, RF_AUDIT_BYTES_IN);
	char what[32], decision[32], agent[RF_TABLE_NAME];
	bool is_passed;

	rf_audit_event_copy(event, RF_AUDIT_WHAT, what, sizeof(what));
	if (strcmp(what, "request") != 0 && strcmp(what, "connect") != 0)
		return;
	rf_audit_event_copy(event, RF_AUDIT_DECISION, decision, sizeof(decision));
	rf_audit_event_copy(event, RF_AUDIT_AGENT, agent, sizeof(agent));
	is_passed = strcmp(decision, "allow") == 0 || strcmp(decision, "report") == 0;
	rf_metrics_add(steward->metrics, RF_METRIC_NET_REQUESTS, decision, NULL, 1);
	rf_metrics_add(steward->metrics, RF_METRIC_NET_BYTES, "out", NULL, out);
	rf_metrics_add(steward->metrics, RF_METRIC_NET_BYTES, "in", NULL, in);
	if (is_passed && strcmp(what, "request") == 0)
		rf_metrics_observe(steward->metrics, RF_METRIC_NET_SECONDS,
				   rf_audit_event_get(event, RF_AUDIT_TOOK_US) * 1000);
	if (rf_table_takes(agent))
		rf_docket_traffic(steward->docket, agent, is_passed, out + in,
				  steward->now.mono_ms);
}

/* Two tenants may call theirs the same: a tenant's is TENANT/NAME, as its agents are.  No name of a credential has a slash. */
static void name_credential(const struct rf_audit_event *event, char name[RF_TABLE_NAME])
{
	char tenant[65], own[RF_TABLE_NAME];

	rf_audit_event_copy(event, RF_AUDIT_TENANT, tenant, sizeof(tenant));
	rf_audit_event_copy(event, RF_AUDIT_CREDENTIAL, own, sizeof(own));
	snprintf(name, RF_TABLE_NAME, "%s%s%s", tenant, tenant[0] ? "/" : "", own);
}

/* A credential that the gateway put into a request, or kept from one. */
static void count_use(struct rf_steward *steward, const struct rf_audit_event *event)
{
	uint64_t cost = rf_audit_event_get(event, RF_AUDIT_SPENT);
	char credential[RF_TABLE_NAME], decision[32], agent[RF_TABLE_NAME];

	rf_audit_event_copy(event, RF_AUDIT_DECISION, decision, sizeof(decision));
	if (!rf_audit_event_has(event, RF_AUDIT_HOST)) /* a canary that was planted */
		return;
	name_credential(event, credential);
	rf_audit_event_copy(event, RF_AUDIT_AGENT, agent, sizeof(agent));
	rf_metrics_add(steward->metrics, RF_METRIC_CREDENTIAL_USES, credential, decision, 1);
	if (strcmp(decision, "allow") != 0)
		return;
	if (cost > 0)
		rf_metrics_add(steward->metrics, RF_METRIC_MONEY, credential, NULL, cost);
	rf_docket_use(steward->docket, credential, agent, cost, steward->now.mono_ms);
}

static void hear_abroad(struct rf_steward *steward, const struct rf_audit_event *event)
{
	enum rf_table_kind kind;

	if (rf_abroad_hear(&steward->abroad, event, &kind))
		rf_metrics_add(steward->metrics, RF_METRIC_BREAKER_OPENED, rf_table_kind_name(kind),
			       NULL, 1);
}

void rf_steward_event(struct rf_steward *steward, const struct rf_audit_event *event,
		      const struct rf_steward_now *now)
{
	char text[64];

	steward->now = *now;
	if (steward->news == RF_STEWARD_NOTHING)
		steward->news = RF_STEWARD_COUNTED;
	rf_metrics_add(steward->metrics, RF_METRIC_EVENTS, rf_audit_event_kind_name(event->kind),
		       NULL, 1);
	switch (event->kind) {
	case RF_AUDIT_RUN_STARTED:
		steward->started++;
		rf_metrics_add(steward->metrics, RF_METRIC_STARTS, NULL, NULL, 1);
		break;
	case RF_AUDIT_RUN_ENDED:
		end_run(steward, event);
		break;
	case RF_AUDIT_RUN_REFUSED:
		take_back(steward, event);
		break;
	case RF_AUDIT_DENIAL:
		rf_audit_event_copy(event, RF_AUDIT_RING, text, sizeof(text));
		rf_metrics_add(steward->metrics, RF_METRIC_DENIALS, text, NULL,
			       rf_audit_event_has(event, RF_AUDIT_COUNT)
				       ? rf_audit_event_get(event, RF_AUDIT_COUNT)
				       : 1);
		break;
	case RF_AUDIT_NET_REQUEST:
		count_traffic(steward, event);
		break;
	case RF_AUDIT_CREDENTIAL_USE:
		count_use(steward, event);
		break;
	case RF_AUDIT_BREAKER_CHANGE:
		hear_abroad(steward, event);
		break;
	case RF_AUDIT_ALARM:
		rf_audit_event_copy(event, RF_AUDIT_ALARM_NAME, text, sizeof(text));
		rf_metrics_add(steward->metrics, RF_METRIC_ALARMS, text, NULL, 1);
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------- answers */

static int fail_word(const char *what, const char *word, struct rf_err *err)
{
	return rf_fail_say(err, -EINVAL, "\"%.60s\" is not %s", word, what);
}

/*
 * A tenant of a server's invents names as it likes, and what is kept in mind is bounded for all together: so it has its share, and no more.
 * A name that is known already is always good.
 */
static bool is_one_too_many(const struct rf_steward *steward, const char *agent)
{
	const char *stroke = strchr(agent, '/');
	size_t len = stroke ? (size_t)(stroke - agent) + 1 : 0;

	if (!stroke || rf_breaker_knows(steward->breakers, agent) ||
	    rf_budget_knows(steward->budgets, agent))
		return false;
	return rf_breaker_agents(steward->breakers, agent, len) >= RF_STEWARD_OF_TENANT ||
	       rf_budget_agents(steward->budgets, agent, len) >= RF_STEWARD_OF_TENANT;
}

static int refuse_one_too_many(struct rf_steward *steward, const char *box, const char *agent,
			       struct rf_buf *out)
{
	struct rf_audit_event event;

	rf_audit_event_init(&event, RF_AUDIT_RUN_REFUSED);
	rf_audit_event_text(&event, RF_AUDIT_BOX, box);
	rf_audit_event_text(&event, RF_AUDIT_AGENT, agent);
	rf_audit_event_text(&event, RF_AUDIT_RING, "blast");
	rf_audit_event_text(&event, RF_AUDIT_REASON, "its tenant has too many agents");
	rf_audit_event_text(&event, RF_AUDIT_VERDICT, "denied");
	note(steward, &event);
	rf_buf_printf(out, "refused 60000 its tenant has %d agents, and no more are kept apart\n",
		      RF_STEWARD_OF_TENANT);
	return 1;
}

static int answer_admit(struct rf_steward *steward, const char *const *words, struct rf_buf *out,
			struct rf_err *err)
{
	const char *box = words[0], *agent = words[1];
	struct rf_breaker_answer answer;
	struct rf_budget_answer spent;
	struct rf_breaker_view view;
	struct rf_quotas quotas;

	if (!rf_table_takes(box) || strlen(box) >= BOX)
		return fail_word("the id of a box", box, err);
	if (!rf_table_takes(agent))
		return fail_word("the name of an agent", agent, err);
	if (!rf_quota_parse(words[2], &quotas))
		return fail_word("what a policy says of quotas", words[2], err);
	if (is_one_too_many(steward, agent))
		return refuse_one_too_many(steward, box, agent, out);
	rf_docket_ask(steward->docket, agent, &quotas, steward->now.mono_ms, &answer, &spent);
	if (spent.is_spent)
		note_spent(steward, agent, &spent);
	if (answer.is_admitted && remember_run(steward, box, agent, &quotas, answer.ticket) < 0)
		return rf_fail(err, -ENOMEM, "keep a run in mind");
	if (answer.is_admitted) {
		rf_buf_puts(out, "admitted\n");
		return 1;
	}
	note_refused(steward, box, agent, &answer);
	if (rf_breaker_look(steward->breakers, RF_TABLE_AGENT, agent, steward->now.mono_ms, &view))
		sound(steward, &(struct rf_anomaly_facts){ "", 0, view.refused }, NULL, agent);
	if (answer.retry_ms == RF_CLOCK_NEVER)
		rf_buf_printf(out, "refused - %s\n", answer.reason);
	else
		rf_buf_printf(out, "refused %" PRIu64 " %s\n", answer.retry_ms, answer.reason);
	return 1;
}

static int answer_list(struct rf_steward *steward, const char *const *words, struct rf_buf *out,
		       struct rf_err *err)
{
	if (strcmp(words[0], "text") != 0 && strcmp(words[0], "json") != 0)
		return fail_word("a form", words[0], err);
	return rf_listing_write(steward->breakers, &steward->abroad, steward->now.mono_ms,
				steward->now.wall_ms, words[0][0] == 'j', out, err);
}

/* What a breaker is about, from two words. */
static int parse_breaker(const char *const *words, enum rf_table_kind *ret_kind, struct rf_err *err)
{
	*ret_kind = rf_table_kind_parse(words[0]);
	if (*ret_kind == RF_TABLE_KINDS) {
		fail_word("something that has a breaker", words[0], err);
		return rf_fail_hint(err, "agent, host, tool or credential");
	}
	if (!rf_table_takes(words[1])) {
		fail_word("a name", words[1], err);
		return rf_fail_hint(err, "1 to 127 bytes without blanks and control characters");
	}
	return 0;
}

static int answer_reset(struct rf_steward *steward, const char *const *words, struct rf_buf *out,
			struct rf_err *err)
{
	enum rf_table_kind kind;
	int code;

	if (parse_breaker(words, &kind, err) < 0)
		return err->code;
	steward->by = "hand";
	code = rf_docket_reset(
		steward->docket, kind, words[1], rf_abroad_has(&steward->abroad, kind, words[1]),
		&(struct rf_docket_now){ steward->now.mono_ms, steward->now.wall_ms });
	if (code < 0) {
		rf_fail_say(err, code, "nothing is known of %s %.100s", words[0], words[1]);
		return rf_fail_hint(err, "`ringfort breaker ls` lists what is known");
	}
	steward->news = RF_STEWARD_CHANGED;
	rf_buf_printf(out, "closed: %s %s\n", words[0], words[1]);
	return 1;
}

static bool is_reason(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return len <= 120 && rf_json_is_utf8(text, len);
}

static int answer_trip(struct rf_steward *steward, const char *const *words, struct rf_buf *out,
		       struct rf_err *err)
{
	uint64_t open_ms = RF_CLOCK_NEVER;
	char reason[RF_BREAKER_REASON], wait[32], *end = NULL;
	enum rf_table_kind kind;
	int code;

	if (parse_breaker(words, &kind, err) < 0)
		return err->code;
	if (strcmp(words[2], "-") != 0) {
		errno = 0;
		open_ms = strtoull(words[2], &end, 10);
		if (words[2][0] < '1' || words[2][0] > '9' || *end || errno)
			return fail_word("a time", words[2], err);
	}
	if (!is_reason(words[3]))
		return rf_fail_say(err, -EINVAL, "a reason is one line of at most 120 bytes");
	snprintf(reason, sizeof(reason), "by hand%s%s", words[3][0] ? ": " : "", words[3]);
	steward->by = "hand";
	code = rf_breaker_trip(steward->breakers, kind, words[1], reason, open_ms,
			       steward->now.mono_ms);
	if (code < 0)
		return rf_fail(err, code, "open %s %.100s", words[0], words[1]);
	steward->news = RF_STEWARD_CHANGED;
	rf_listing_wait(open_ms, wait, sizeof(wait));
	rf_buf_printf(out, "open: %s %s, %s%s\n", words[0], words[1],
		      open_ms == RF_CLOCK_NEVER ? "until it is " : "for ", wait);
	return 1;
}

/* What a launcher saw opens the breaker of its agent, as what the watcher sees does. */
static int answer_alarm(struct rf_steward *steward, const char *const *words, struct rf_buf *out,
			struct rf_err *err)
{
	const struct rf_steward_now now = steward->now;

	if (!rf_table_takes(words[0]))
		return fail_word("an agent", words[0], err);
	if (!is_reason(words[2]))
		return rf_fail_say(err, -EINVAL, "a reason is one line of at most 120 bytes");
	rf_steward_trip(steward, words[1], words[0], words[2], &now);
	rf_buf_printf(out, "open: agent %s\n", words[0]);
	return 1;
}

static int answer_metrics(struct rf_steward *steward, const char *const *words, struct rf_buf *out,
			  struct rf_err *err)
{
	(void)words;
	rf_metrics_set(steward->metrics, RF_METRIC_BOXES, NULL, NULL,
		       steward->started - steward->ended);
	rf_docket_measure(steward->docket, steward->now.mono_ms);
	for (size_t i = 0; i < steward->abroad.count; i++)
		rf_metrics_add(steward->metrics, RF_METRIC_BREAKERS,
			       rf_table_kind_name(steward->abroad.rows[i].kind),
			       rf_breaker_state_name(steward->abroad.rows[i].state), 1);
	rf_metrics_text(steward->metrics, out);
	return out->has_failed ? rf_fail(err, -E2BIG, "print the figures") : 1;
}

static int answer_books(struct rf_steward *steward, const char *const *words, struct rf_buf *out,
			struct rf_err *err)
{
	uint64_t serial;
	char *end = NULL;

	errno = 0;
	serial = strtoull(words[0], &end, 10);
	if (words[0][0] < '0' || words[0][0] > '9' || *end || errno)
		return fail_word("the number of a reset", words[0], err);
	return rf_docket_books(steward->docket, serial, words[1], steward->now.mono_ms, out, err) <
			       0
		       ? err->code
		       : 1;
}

/* clang-format off */
static const struct {
	const char *first, *second; /* NULL: one word is enough */
	size_t count;               /* of the words that follow */
	int (*answer)(struct rf_steward *steward, const char *const *words, struct rf_buf *out,
		      struct rf_err *err);
} answers[] = {
	{ "admit",   NULL,    3, answer_admit },
	{ "books",   NULL,    2, answer_books },
	{ "breaker", "alarm", 3, answer_alarm },
	{ "breaker", "ls",    1, answer_list },
	{ "breaker", "reset", 2, answer_reset },
	{ "breaker", "trip",  4, answer_trip },
	{ "metrics", NULL,    0, answer_metrics },
};
/* clang-format on */

int rf_steward_ask(struct rf_steward *steward, const char *const *words, size_t count,
		   const struct rf_steward_now *now, struct rf_buf *out, struct rf_err *err)
{
	bool is_known = false;
	int code;

	steward->now = *now;
	for (size_t i = 0; i < RF_LEN(answers); i++) {
		size_t skip = answers[i].second ? 2 : 1;

		if (count == 0 || strcmp(words[0], answers[i].first) != 0)
			continue;
		is_known = true;
		if (count != skip + answers[i].count ||
		    (answers[i].second && strcmp(words[1], answers[i].second) != 0))
			continue;
		steward->by = "watcher";
		code = answers[i].answer(steward, words + skip, out, err);
		steward->by = "watcher";
		return code;
	}
	return is_known ? rf_fail_say(err, -EINVAL, "`%.40s` with other words than it takes",
				      words[0])
			: 0;
}

/* ------------------------------------------------------------- life */

struct rf_steward *rf_steward_new(const struct rf_steward_options *options)
{
	struct rf_steward *steward = calloc(1, sizeof(*steward));
	struct rf_breaker_options breakers = { .cap = options->cap,
					       .key = { options->key[0], options->key[1] },
					       .changed = on_change,
					       .arg = steward };
	struct rf_budget_options budgets = { .cap = options->cap,
					     .key = { options->key[0], options->key[1] } };

	if (!steward)
		return NULL;
	steward->options = *options;
	steward->by = "watcher";
	rf_table_init(&steward->runs, options->key);
	steward->breakers = rf_breaker_new(&breakers);
	steward->budgets = rf_budget_new(&budgets);
	steward->metrics = rf_metrics_new();
	steward->docket = rf_docket_new(steward->breakers, steward->budgets, steward->metrics);
	if (!steward->breakers || !steward->budgets || !steward->metrics || !steward->docket) {
		rf_steward_free(steward);
		return NULL;
	}
	rf_metrics_set(steward->metrics, RF_METRIC_INFO, RF_VERSION, NULL, 1);
	rf_metrics_set(steward->metrics, RF_METRIC_WATCHED, NULL, NULL, 1);
	rf_metrics_begin(steward->metrics);
	return steward;
}

void rf_steward_free(struct rf_steward *steward)
{
	if (!steward)
		return;
	while (steward->oldest)
		forget_run(steward, steward->oldest);
	rf_table_done(&steward->runs);
	rf_docket_free(steward->docket);
	rf_metrics_free(steward->metrics);
	rf_budget_free(steward->budgets);
	rf_breaker_free(steward->breakers);
	free(steward);
}

const char *rf_steward_breaker(struct rf_steward *steward, const char *agent,
			       const struct rf_steward_now *now, const char **ret_reason)
{
	struct rf_breaker_view view;

	steward->now = *now;
	if (!rf_table_takes(agent) ||
	    !rf_breaker_look(steward->breakers, RF_TABLE_AGENT, agent, now->mono_ms, &view))
		return NULL;
	*ret_reason = view.reason;
	return rf_breaker_state_name(view.state);
}

void rf_steward_trip(struct rf_steward *steward, const char *box, const char *agent,
		     const char *reason, const struct rf_steward_now *now)
{
	const struct run *run = find_run(steward, box);

	steward->now = *now;
	if (!rf_table_takes(agent))
		return;
	rf_breaker_trip(steward->breakers, RF_TABLE_AGENT, agent, reason,
			run ? run->quotas.figures[RF_QUOTA_OPEN]
			    : rf_quota_table[RF_QUOTA_OPEN].for_run,
			now->mono_ms);
	steward->news = RF_STEWARD_CHANGED;
}

struct rf_metrics *rf_steward_metrics(struct rf_steward *steward)
{
	return steward->metrics;
}

enum rf_steward_news rf_steward_news(const struct rf_steward *steward)
{
	return steward->news;
}

/* ------------------------------------------------------------- for a successor */

void rf_steward_pack(struct rf_steward *steward, const char *boot, struct rf_buf *out)
{
	size_t at;
	uint32_t len;

	rf_pack_u32(out, FORMAT);
	at = out->len;
	rf_pack_u32(out, 0); /* how long the budgets are, when that is known */
	rf_budget_pack(steward->budgets, boot, out);
	len = (uint32_t)(out->len - at - sizeof(len));
	if (!out->has_failed)
		memcpy(out->data + at, &len, sizeof(len));
	rf_breaker_pack(steward->breakers, boot, out);
	if (!out->has_failed)
		steward->news = RF_STEWARD_NOTHING;
}

int rf_steward_unpack(struct rf_steward *steward, const char *boot, uint64_t mono_ms,
		      const void *data, size_t len, struct rf_err *err)
{
	struct rf_pack_reader reader;
	uint32_t format, budgets;
	size_t rest;

	rf_pack_read_init(&reader, data, len);
	format = rf_pack_read_u32(&reader);
	budgets = rf_pack_read_u32(&reader);
	rest = (size_t)(reader.end - reader.at);
	if (reader.has_failed || format != FORMAT || budgets > rest)
		return rf_fail_say(err, -EBADMSG,
				   "the watcher's state is damaged, or another version's");
	if (rf_budget_unpack(steward->budgets, boot, mono_ms, reader.at, budgets, err) < 0)
		return err->code;
	return rf_breaker_unpack(steward->breakers, boot, mono_ms, reader.at + budgets,
				 rest - budgets, err);
}
