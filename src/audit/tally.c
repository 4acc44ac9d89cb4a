/* What a log comes to: see tally.h. */
#include "audit/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/boxes.h"
#include "audit/redact.h"
#include "audit/texts.h"
#include "audit/window.h"
#include "base/fd.h"

#define ROWS     256  /* of a list */
#define AGENTS   1024 /* with a part of their own */
#define POLICIES 64   /* of an agent */
_Static_assert(RF_TALLY_BUDGETS == RF_WINDOW_WHAT, "each budget has its window");
_Static_assert(ROWS <= RF_TRIM_ENTRIES, "whatever has a row is told");
_Static_assert(2 * RF_TALLY_BUDGETS == RF_QUOTA_COUNT - RF_QUOTA_BUDGETS,
	       "in the order of the quotas");

#define HOUR_NS (3600 * 1000000000ull)
#define DAY_NS  (24 * HOUR_NS)

static uint64_t hash_of(const char *text, size_t len, uint64_t hash)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
	return hash;
}

#define SEED 0xcbf29ce484222325

/* ------------------------------------------------------------- lists */

/* A text of the event, which lives as long as the tally; "" if it has none. */
static const char *keep(struct rf_tally *tally, const struct rf_audit_event *event,
			enum rf_audit_field field)
{
	size_t len = rf_audit_event_has(event, field) ? event->values[field].len : 0;
	char *text = len > 0 ? rf_arena_alloc(tally->memory, len + 1) : NULL;

	if (text)
		memcpy(text, event->values[field].text, len);
	return text ? text : "";
}

/* The same array with room for one more than its `used`; NULL when memory is gone. */
static void *grow(struct rf_tally *tally, void *old, size_t used, size_t size)
{
	bool is_full = (used & (used - 1)) == 0; /* 0, 1, 2, 4, 8 ... are what it has room for */
	void *more = is_full ? rf_arena_alloc(tally->memory, (used ? 2 * used : 1) * size) : old;

	if (is_full && more && used > 0)
		memcpy(more, old, used * size);
	return more;
}

static bool is_same(const char *text, const struct rf_audit_event *event, enum rf_audit_field field)
{
	size_t len = rf_audit_event_has(event, field) ? event->values[field].len : 0;

	return strlen(text) == len &&
	       (len == 0 || memcmp(text, event->values[field].text, len) == 0);
}

/* Counts what a field says; `rule` and `remedy` are fields besides, or 0. */
static void tell(struct rf_tally *tally, struct rf_tally_list *list,
		 const struct rf_audit_event *event, enum rf_audit_field field,
		 enum rf_audit_field rule, enum rf_audit_field remedy, uint64_t times)
{
	uint64_t hash = SEED;
	struct rf_tally_row *rows;

	if (!rf_audit_event_has(event, field))
		return;
	hash = hash_of(event->values[field].text, event->values[field].len, hash);
	if (rule && rf_audit_event_has(event, rule))
		hash = hash_of(event->values[rule].text, event->values[rule].len, hash ^ 1);
	list->total += times;
	for (size_t i = 0; i < list->count; i++) {
		struct rf_tally_row *row = &list->rows[i];

		if (row->hash == hash && is_same(row->name, event, field) &&
		    (!rule || is_same(row->rule, event, rule))) {
			row->count += times;
			return;
		}
	}
	rows = list->count < ROWS ? grow(tally, list->rows, list->count, sizeof(*list->rows))
				  : NULL;
	if (!rows) {
		list->more += times;
		return;
	}
	list->rows = rows;
	rows[list->count++] =
		(struct rf_tally_row){ .name = keep(tally, event, field),
				       .rule = rule ? keep(tally, event, rule) : "",
				       .remedy = remedy ? keep(tally, event, remedy) : "",
				       .count = times,
				       .hash = hash };
}

static void note(struct rf_tally *tally, struct rf_tally_notes *list,
		 const struct rf_audit_event *event, enum rf_audit_field name)
{
	if (!list->notes)
		list->notes = rf_arena_alloc(tally->memory, RF_TALLY_NOTES * sizeof(*list->notes));
	if (!list->notes)
		return;
	list->notes[list->total++ % RF_TALLY_NOTES] = (struct rf_tally_note){
		.time_ns = event->time_ns,
		.seq = event->seq,
		.kind = event->kind,
		.name = keep(tally, event, name),
		.reason = keep(tally, event, RF_AUDIT_REASON),
		.severity = keep(tally, event, RF_AUDIT_SEVERITY),
		.box = keep(tally, event, RF_AUDIT_BOX),
		.by = keep(tally, event, RF_AUDIT_BY),
		.until_ms = rf_audit_event_get(event, RF_AUDIT_UNTIL_MS),
	};
	list->count = list->total < RF_TALLY_NOTES ? (size_t)list->total : RF_TALLY_NOTES;
}

/* ------------------------------------------------------------- agents and policies */

/* The agent of this name; NULL if it is not wanted, or there is no room. */
static struct rf_tally_agent *agent_of(struct rf_tally *tally, const char *name, size_t len)
{
	const char *wanted = tally->period.agent;
	uint64_t hash = hash_of(name, len, SEED);
	struct rf_tally_agent *agents;
	char *copy;

	if (wanted && (strlen(wanted) != len || memcmp(wanted, name, len) != 0))
		return NULL;
	for (size_t i = 0; i < tally->agent_count; i++)
		if (tally->agents[i].name_hash == hash && strlen(tally->agents[i].name) == len &&
		    memcmp(tally->agents[i].name, name, len) == 0)
			return &tally->agents[i];
	agents = tally->agent_count < AGENTS
			 ? grow(tally, tally->agents, tally->agent_count, sizeof(*agents))
			 : NULL;
	copy = agents ? rf_arena_alloc(tally->memory, len + 1) : NULL;
	if (!copy) {
		tally->other_agents++;
		return NULL;
	}
	memcpy(copy, name, len);
	tally->agents = agents;
	agents += tally->agent_count++;
	*agents = (struct rf_tally_agent){ .name = copy, .name_hash = hash };
	return agents;
}

static struct rf_tally_policy *policy_of(struct rf_tally *tally, struct rf_tally_agent *agent,
					 const uint8_t hash[RF_AUDIT_HASH])
{
	struct rf_tally_policy *policies;

	for (size_t i = 0; i < agent->policy_count; i++)
		if (memcmp(agent->policies[i].hash, hash, RF_AUDIT_HASH) == 0)
			return &agent->policies[i];
	policies = agent->policy_count < POLICIES
			   ? grow(tally, agent->policies, agent->policy_count, sizeof(*policies))
			   : NULL;
	if (!policies)
		return NULL;
	agent->policies = policies;
	policies += agent->policy_count++;
	*policies = (struct rf_tally_policy){ 0 };
	memcpy(policies->hash, hash, RF_AUDIT_HASH);
	return policies;
}

static bool is_inside(const struct rf_tally *tally, const struct rf_audit_event *event)
{
	return event->time_ns >= tally->period.since_ns &&
	       (!tally->period.until_ns || event->time_ns < tally->period.until_ns);
}

static void spend(struct rf_tally *tally, struct rf_tally_agent *agent, uint64_t time_ns,
		  enum rf_tally_budget what, uint64_t amount)
{
	agent->used[what] += amount;
	if (!agent->window)
		agent->window = rf_arena_alloc(tally->memory, sizeof(*agent->window));
	if (agent->window && amount > 0)
		rf_window_add(agent->window, time_ns, what, amount);
}

/* ------------------------------------------------------------- kinds */

typedef void take_fn(struct rf_tally *tally, struct rf_tally_agent *agent,
		     const struct rf_audit_event *event);

static void take_started(struct rf_tally *tally, struct rf_tally_agent *agent,
			 const struct rf_audit_event *event)
{
	static const uint8_t none[RF_AUDIT_HASH];
	const uint8_t *hash = rf_audit_event_has(event, RF_AUDIT_POLICY)
				      ? (const uint8_t *)event->values[RF_AUDIT_POLICY].text
				      : none;
	struct rf_tally_policy *policy;

	agent->started++;
	spend(tally, agent, event->time_ns, RF_TALLY_RUNS, 1);
	policy = policy_of(tally, agent, hash);
	if (!policy) {
		agent->other_policies++;
		return;
	}
	policy->runs++;
	policy->first_ns = policy->first_ns ? policy->first_ns : event->time_ns;
	policy->last_ns = event->time_ns;
	tell(tally, &policy->programs, event, RF_AUDIT_PROGRAM, 0, 0, 1);
}

#define ALWAYS RF_LIMIT_COUNT /* exact, whatever keeps the limit */

/*
 * Which field tells what was used of a limit, how many of its units are one of the limit's, and which limit must be kept
 * exactly for the figure to be exact: who has a group has its counts.
 */
/* clang-format off */
static const struct {
	enum rf_audit_field field; /* 0: none */
	uint64_t unit;
	enum rf_limit vouches;
} measured[RF_LIMIT_COUNT] = {
	[RF_LIMIT_MEMORY]   = { RF_AUDIT_MEMORY,  1,    RF_LIMIT_MEMORY },
	[RF_LIMIT_CPU_TIME] = { RF_AUDIT_CPU_US,  1000, RF_LIMIT_MEMORY },
	[RF_LIMIT_TIME]     = { RF_AUDIT_WALL_US, 1000, ALWAYS },
	[RF_LIMIT_PIDS]     = { RF_AUDIT_PIDS,    1,    RF_LIMIT_PIDS },
	[RF_LIMIT_DISK]     = { RF_AUDIT_DISK,    1,    ALWAYS },
	[RF_LIMIT_OUTPUT]   = { RF_AUDIT_OUTPUT,  1,    ALWAYS },
};
/* clang-format on */

static void see(struct rf_trim_seen *seen, uint64_t value, bool is_exact)
{
	seen->is_exact = is_exact && (!seen->is_known || seen->is_exact);
	seen->is_known = true;
	if (value > seen->most)
		seen->most = value;
}

static void measure(struct rf_tally_policy *policy, const struct rf_audit_event *event)
{
	uint64_t wall = rf_audit_event_get(event, RF_AUDIT_WALL_US);
	char grades[RF_LIMIT_COUNT + 1], verdict[16];

	rf_audit_event_copy(event, RF_AUDIT_GRADES, grades, sizeof(grades));
	rf_audit_event_copy(event, RF_AUDIT_VERDICT, verdict, sizeof(verdict));
	for (int i = 0; i < RF_LIMIT_COUNT; i++) {
		enum rf_audit_field field = measured[i].field;
		bool is_exact =
			measured[i].vouches == ALWAYS ||
			(strlen(grades) == RF_LIMIT_COUNT && grades[measured[i].vouches] == 'h');

		if (field && rf_audit_event_has(event, field))
			see(&policy->limits[i],
			    (rf_audit_event_get(event, field) + measured[i].unit - 1) /
				    measured[i].unit,
			    is_exact);
		if (strcmp(verdict, rf_limit_table[i].cause) == 0 && strcmp(verdict, "failed") != 0)
			policy->limits[i].was_reached = true;
	}
	if (wall >= 100000 && rf_audit_event_has(event, RF_AUDIT_CPU_US)) /* else it is all noise */
		see(&policy->limits[RF_LIMIT_CPU],
		    rf_audit_event_get(event, RF_AUDIT_CPU_US) * 100 / wall, true);
}

static void take_ended(struct rf_tally *tally, struct rf_tally_agent *agent,
		       const struct rf_audit_event *event)
{
	uint64_t denials = rf_audit_event_get(event, RF_AUDIT_DENIALS);

	agent->ended++;
	agent->cpu_us += rf_audit_event_get(event, RF_AUDIT_CPU_US);
	agent->wall_us += rf_audit_event_get(event, RF_AUDIT_WALL_US);
	agent->denied += denials;
	agent->heard += rf_audit_event_has(event, RF_AUDIT_DENIALS);
	tell(tally, &agent->verdicts, event, RF_AUDIT_VERDICT, 0, 0, 1);
	spend(tally, agent, event->time_ns, RF_TALLY_CPU_MS,
	      rf_audit_event_get(event, RF_AUDIT_CPU_US) / 1000);
	spend(tally, agent, event->time_ns, RF_TALLY_DENIALS, denials);
	spend(tally, agent, event->time_ns, RF_TALLY_TIMEOUTS,
	      event->values[RF_AUDIT_VERDICT].len == 7 &&
		      memcmp(event->values[RF_AUDIT_VERDICT].text, "timeout", 7) == 0);
}

static void take_refused(struct rf_tally *tally, struct rf_tally_agent *agent,
			 const struct rf_audit_event *event)
{
	agent->refused++;
	tell(tally, &agent->refusals, event, RF_AUDIT_REASON, 0, 0, 1);
}

static void take_denial(struct rf_tally *tally, struct rf_tally_agent *agent,
			const struct rf_audit_event *event)
{
	uint64_t times = rf_audit_event_get(event, RF_AUDIT_COUNT);

	tell(tally, &agent->denials, event, RF_AUDIT_WHAT, RF_AUDIT_RULE, RF_AUDIT_REMEDY,
	     times ? times : 1);
}

static void take_breaker(struct rf_tally *tally, struct rf_tally_agent *agent,
			 const struct rf_audit_event *event)
{
	if (is_same("open", event, RF_AUDIT_TO))
		note(tally, &agent->openings, event, RF_AUDIT_BREAKER);
}

static void take_alarm(struct rf_tally *tally, struct rf_tally_agent *agent,
		       const struct rf_audit_event *event)
{
	note(tally, &agent->alarms, event, RF_AUDIT_ALARM_NAME);
}

static void take_reaction(struct rf_tally *tally, struct rf_tally_agent *agent,
			  const struct rf_audit_event *event)
{
	/* What each is best known by. */
	static const enum rf_audit_field names[RF_AUDIT_KIND_END] = {
		[RF_AUDIT_BUDGET_SPENT] = RF_AUDIT_BUDGET, [RF_AUDIT_KILL] = RF_AUDIT_RULE,
		[RF_AUDIT_FREEZE] = RF_AUDIT_TO,           [RF_AUDIT_HOOK] = RF_AUDIT_PROGRAM,
		[RF_AUDIT_RECOVERY] = RF_AUDIT_WHAT,
	};

	note(tally, &agent->reactions, event, names[event->kind]);
}

/* Something passed the gateway, as steward.c spends it. */
static bool is_passed(const struct rf_audit_event *event)
{
	return is_same("allow", event, RF_AUDIT_DECISION) ||
	       is_same("report", event, RF_AUDIT_DECISION);
}

static void take_request(struct rf_tally *tally, struct rf_tally_agent *agent,
			 const struct rf_audit_event *event)
{
	if (is_same("request", event, RF_AUDIT_WHAT) || is_same("connect", event, RF_AUDIT_WHAT)) {
		spend(tally, agent, event->time_ns, RF_TALLY_REQUESTS, is_passed(event));
		spend(tally, agent, event->time_ns, RF_TALLY_BYTES,
		      rf_audit_event_get(event, RF_AUDIT_BYTES_OUT) +
			      rf_audit_event_get(event, RF_AUDIT_BYTES_IN));
	}
	tell(tally, &agent->hosts, event, RF_AUDIT_HOST, RF_AUDIT_DECISION, 0, 1);
	tell(tally, &agent->methods, event, RF_AUDIT_METHOD, RF_AUDIT_DECISION, 0, 1);
}

static void take_credential(struct rf_tally *tally, struct rf_tally_agent *agent,
			    const struct rf_audit_event *event)
{
	tell(tally, &agent->credentials, event, RF_AUDIT_CREDENTIAL, RF_AUDIT_DECISION, 0, 1);
	if (is_passed(event))
		spend(tally, agent, event->time_ns, RF_TALLY_MONEY,
		      rf_audit_event_get(event, RF_AUDIT_SPENT));
}

static void take_tool(struct rf_tally *tally, struct rf_tally_agent *agent,
		      const struct rf_audit_event *event)
{
	tell(tally, &agent->tools, event, RF_AUDIT_TOOL, RF_AUDIT_DECISION, 0, 1);
}

/* It says something of a policy, and nothing of its agent: see take_under(). */
static void take_used(struct rf_tally *tally, struct rf_tally_agent *agent,
		      const struct rf_audit_event *event)
{
	(void)tally;
	(void)agent;
	(void)event;
}

static take_fn *const takes[RF_AUDIT_KIND_END] = {
	[RF_AUDIT_RUN_STARTED] = take_started,
	[RF_AUDIT_RUN_ENDED] = take_ended,
	[RF_AUDIT_RUN_REFUSED] = take_refused,
	[RF_AUDIT_DENIAL] = take_denial,
	[RF_AUDIT_BREAKER_CHANGE] = take_breaker,
	[RF_AUDIT_ALARM] = take_alarm,
	[RF_AUDIT_BUDGET_SPENT] = take_reaction,
	[RF_AUDIT_KILL] = take_reaction,
	[RF_AUDIT_FREEZE] = take_reaction,
	[RF_AUDIT_HOOK] = take_reaction,
	[RF_AUDIT_RECOVERY] = take_reaction,
	[RF_AUDIT_NET_REQUEST] = take_request,
	[RF_AUDIT_CREDENTIAL_USE] = take_credential,
	[RF_AUDIT_TOOL_CALL] = take_tool,
	[RF_AUDIT_RUN_USED] = take_used,
};

uint64_t rf_tally_kinds(void)
{
	uint64_t kinds = 1ull << RF_AUDIT_POLICY_TEXT;

	for (unsigned i = 0; i < RF_AUDIT_KIND_END; i++)
		kinds |= takes[i] ? 1ull << i : 0;
	return kinds;
}

/* ------------------------------------------------------------- the whole */

int rf_tally_init(struct rf_tally *tally, const struct rf_pick *period, struct rf_err *err)
{
	*tally = (struct rf_tally){ .period = *period, .own = { .name = "" } };
	tally->memory = rf_arena_new();
	tally->boxes = rf_boxes_new();
	tally->texts = rf_texts_new();
	if (tally->memory && tally->boxes && tally->texts)
		return 0;
	rf_tally_done(tally);
	return rf_fail(err, -ENOMEM, "a report");
}

void rf_tally_done(struct rf_tally *tally)
{
	for (size_t i = 0; i < tally->agent_count; i++)
		rf_window_done(tally->agents[i].window);
	rf_arena_free(tally->memory);
	rf_boxes_free(tally->boxes);
	rf_texts_free(tally->texts);
	*tally = (struct rf_tally){ 0 };
}

/* Whose it is: its agent's, or that of the run with its box. */
static struct rf_tally_agent *whose(struct rf_tally *tally, const struct rf_audit_event *event,
				    const struct rf_boxes_run *run)
{
	bool is_run = event->kind == RF_AUDIT_RUN_STARTED || event->kind == RF_AUDIT_RUN_ENDED ||
		      event->kind == RF_AUDIT_RUN_REFUSED || event->kind == RF_AUDIT_DENIAL;

	if (rf_audit_event_has(event, RF_AUDIT_AGENT))
		return agent_of(tally, event->values[RF_AUDIT_AGENT].text,
				event->values[RF_AUDIT_AGENT].len);
	if (run)
		return agent_of(tally, run->agent, strlen(run->agent));
	if (is_run)
		return agent_of(tally, "", 0);
	return tally->period.agent ? NULL : &tally->own;
}

/* What a run under a policy did: its end, and what it used of the network that the policy grants. */
static void take_under(struct rf_tally *tally, struct rf_tally_policy *policy,
		       const struct rf_audit_event *event)
{
	bool is_held = is_same("hold", event, RF_AUDIT_DECISION);

	if (event->kind == RF_AUDIT_RUN_ENDED) {
		policy->ended++;
		measure(policy, event);
	} else if (event->kind == RF_AUDIT_NET_REQUEST && (is_passed(event) || is_held)) {
		tell(tally, &policy->rules, event, RF_AUDIT_RULE, RF_AUDIT_METHOD, 0, 1);
	} else if (event->kind == RF_AUDIT_CREDENTIAL_USE && (is_passed(event) || is_held)) {
		tell(tally, &policy->credentials, event, RF_AUDIT_CREDENTIAL, 0, 0, 1);
	} else if (event->kind == RF_AUDIT_RUN_USED) {
		policy->learnt += !rf_audit_event_has(event, RF_AUDIT_WHAT);
		tell(tally, &policy->used, event, RF_AUDIT_WHAT, RF_AUDIT_SETTING, 0, 1);
	}
}

void rf_tally_add(struct rf_tally *tally, const struct rf_audit_event *event)
{
	struct rf_boxes_run *run = NULL;
	struct rf_tally_agent *agent;

	if (event->kind == RF_AUDIT_POLICY_TEXT) {
		rf_texts_add(tally->texts, event);
		return;
	}
	if (event->kind == RF_AUDIT_RUN_STARTED)
		rf_boxes_add(tally->boxes, event, is_inside(tally, event));
	else if (rf_audit_event_has(event, RF_AUDIT_BOX))
		run = rf_boxes_find(tally->boxes, event);
	if (takes[event->kind] && is_inside(tally, event)) {
		agent = whose(tally, event, run);
		if (agent) {
			tally->events++;
			tally->first_ns = tally->first_ns ? tally->first_ns : event->time_ns;
			tally->last_ns = event->time_ns;
			agent->first_ns = agent->first_ns ? agent->first_ns : event->time_ns;
			agent->last_ns = event->time_ns;
			takes[event->kind](tally, agent, event);
		}
		if (agent && run && event->kind != RF_AUDIT_RUN_STARTED) {
			struct rf_tally_policy *policy = policy_of(tally, agent, run->policy);

			if (policy)
				take_under(tally, policy, event);
		}
	}
	if (!run)
		return;
	run->has_held |=
		event->kind == RF_AUDIT_NET_REQUEST && is_same("hold", event, RF_AUDIT_DECISION);
	run->is_over |= event->kind == RF_AUDIT_RUN_ENDED;
	if (run->is_over && !run->has_held)
		rf_boxes_remove(tally->boxes, run);
}

static int by_count(const void *a, const void *b)
{
	const struct rf_tally_row *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void sort(struct rf_tally_list *list)
{
	if (list->count > 1)
		qsort(list->rows, list->count, sizeof(*list->rows), by_count);
}

static int by_time(const void *a, const void *b)
{
	const struct rf_tally_note *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void sort_notes(struct rf_tally_notes *list)
{
	if (list->count > 1)
		qsort(list->notes, list->count, sizeof(*list->notes), by_time);
}

static void end_agent(struct rf_tally *tally, struct rf_tally_agent *agent)
{
	struct rf_tally_list *const lists[] = { &agent->verdicts, &agent->denials,
						&agent->refusals, &agent->hosts,
						&agent->methods,  &agent->credentials,
						&agent->tools };

	for (size_t i = 0; i < RF_LEN(lists); i++)
		sort(lists[i]);
	sort_notes(&agent->openings);
	sort_notes(&agent->alarms);
	sort_notes(&agent->reactions);
	for (int i = 0; agent->window && i < RF_TALLY_BUDGETS; i++)
		for (int span = 0; span < 2; span++)
			agent->most[span][i] = agent->window->most[span][i];
	for (size_t i = 0; i < agent->policy_count; i++) {
		sort(&agent->policies[i].programs);
		agent->policies[i].text = rf_texts_find(tally->texts, agent->policies[i].hash);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct rf_tally_agent *)a)->name,
		      ((const struct rf_tally_agent *)b)->name);
}

static void count_left(void *data, const struct rf_boxes_run *run)
{
	struct rf_tally *tally = data;
	struct rf_tally_agent *agent =
		run->is_inside ? agent_of(tally, run->agent, strlen(run->agent)) : NULL;

	if (agent)
		agent->under_way++;
}

int rf_tally_end(struct rf_tally *tally, struct rf_err *err)
{
	bool has_failed = false;

	for (size_t i = 0; i < tally->agent_count; i++)
		end_agent(tally, &tally->agents[i]);
	rf_boxes_each(tally->boxes, count_left, tally);
	for (size_t i = 0; i < tally->agent_count; i++)
		has_failed |= tally->agents[i].window && tally->agents[i].window->has_failed;
	end_agent(tally, &tally->own);
	if (tally->agent_count > 1)
		qsort(tally->agents, tally->agent_count, sizeof(*tally->agents), by_name);
	if (has_failed || tally->memory->has_failed || rf_boxes_has_failed(tally->boxes) ||
	    rf_texts_has_failed(tally->texts))
		return rf_fail(err, -ENOMEM, "a report");
	return 0;
}

/* A text that was cut or filtered is no longer the policy's. */
static bool is_whole(const char *text)
{
	size_t len = strlen(text);

	return !strstr(text, RF_REDACT_MARK) && (len < 3 || strcmp(text + len - 3, "...") != 0);
}

static void list_use(const struct rf_tally_list *list, bool is_known, struct rf_trim_list *use)
{
	use->is_known = is_known && list->more == 0;
	for (size_t i = 0; i < list->count && use->count < RF_TRIM_ENTRIES; i++) {
		use->is_known &= is_whole(list->rows[i].name);
		use->entries[use->count++] =
			(struct rf_trim_entry){ list->rows[i].name, list->rows[i].rule };
	}
}

/* What all runs of the agent that were learnt from used, whatever policy they were under. */
static void learnt_use(const struct rf_tally_agent *agent, struct rf_trim_list *use)
{
	use->is_known = true;
	for (size_t i = 0; i < agent->policy_count; i++) {
		const struct rf_tally_list *list = &agent->policies[i].used;

		use->is_known &= list->more == 0;
		for (size_t k = 0; k < list->count; k++) {
			use->is_known &=
				is_whole(list->rows[k].name) && use->count < RF_TRIM_ENTRIES;
			if (use->count < RF_TRIM_ENTRIES)
				use->entries[use->count++] =
					(struct rf_trim_entry){ list->rows[k].name,
								list->rows[k].rule };
		}
	}
}

void rf_tally_use(const struct rf_tally_agent *agent, const struct rf_tally_policy *policy,
		  struct rf_trim_use *ret_use)
{
	uint64_t span_ns = agent->last_ns - agent->first_ns;

	*ret_use = (struct rf_trim_use){ 0 };
	memcpy(ret_use->limits, policy->limits, sizeof(ret_use->limits));
	list_use(&policy->rules, policy->ended > 0, &ret_use->rules);
	list_use(&policy->credentials, policy->ended > 0, &ret_use->credentials);
	for (int i = 0; i < RF_TALLY_BUDGETS; i++)
		for (int span = 0; span < 2; span++)
			ret_use->quotas[RF_QUOTA_BUDGETS + 2 * i + span] = (struct rf_trim_seen){
				.most = agent->most[span][i],
				.is_known = span_ns >= (span ? 7 * DAY_NS : DAY_NS),
				.is_exact = true,
			};
	learnt_use(agent, &ret_use->learnt);
}
