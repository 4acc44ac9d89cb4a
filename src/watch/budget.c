/* Budgets: see budget.h. */
#include "watch/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/quota.h"

#define FORMAT 1
#define SLICES 32           /* of a period */
#define HELD   (SLICES + 1) /* those that may hold something younger than the period */

#define HOUR_MS 3600000
#define DAY_MS  (24 * HOUR_MS)

static const struct {
	const char *name;
	uint64_t slice_ms;
} periods[RF_BUDGET_PERIODS] = {
	[RF_BUDGET_HOUR] = { "hour", HOUR_MS / SLICES },
	[RF_BUDGET_DAY] = { "day", DAY_MS / SLICES },
};

static const struct {
	const char *name;
	const char *unit; /* behind a number */
	uint64_t per;     /* of what is counted in one of that unit */
} budgets[RF_BUDGETS] = {
	[RF_BUDGET_RUNS] = { "runs", " runs", 1 },
	[RF_BUDGET_CPU_MS] = { "cpu", " s of processor time", 1000 },
	[RF_BUDGET_BYTES] = { "bytes", " bytes", 1 },
	[RF_BUDGET_REQUESTS] = { "requests", " requests", 1 },
	[RF_BUDGET_MONEY] = { "money", " of money", 1000000 },
	[RF_BUDGET_DENIALS] = { "denials", " denials", 1 },
	[RF_BUDGET_TIMEOUTS] = { "timeouts", " time-outs", 1 },
};

/* The last slices of a period.  `slot` is the number of the newest; each lies at its number. */
struct window {
	uint64_t slot, sum;
	uint64_t slices[HELD];
};

struct owner {
	struct rf_table_node node;   /* first: found by it */
	struct owner *older, *newer; /* by when they last spent */
	uint64_t spent_at;
	struct window *windows[RF_BUDGETS]; /* RF_BUDGET_PERIODS each, or NULL: nothing yet */
};

struct rf_budget_set {
	struct rf_budget_options options;
	struct rf_table table;
	struct rf_clock clock;
	struct owner *oldest, *newest;
};

const char *rf_budget_name(enum rf_budget budget)
{
	return budget < RF_BUDGETS ? budgets[budget].name : "?";
}

const char *rf_budget_period_name(enum rf_budget_period period)
{
	return period < RF_BUDGET_PERIODS ? periods[period].name : "?";
}

struct rf_budget_rule rf_budget_rule_none(void)
{
	struct rf_budget_rule rule;

	for (int i = 0; i < RF_BUDGETS; i++)
		for (int j = 0; j < RF_BUDGET_PERIODS; j++)
			rule.limits[i][j] = RF_BUDGET_NONE;
	return rule;
}

/* ------------------------------------------------------------- windows */

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - 1 - b ? UINT64_MAX - 1 : a + b;
}

static uint64_t sum_of(const struct window *w)
{
	uint64_t sum = 0;

	for (int i = 0; i < HELD; i++)
		sum = add(sum, w->slices[i]);
	return sum;
}

/* Lets go of what is too old. */
static void advance(struct window *w, enum rf_budget_period period, uint64_t now)
{
	uint64_t slot = now / periods[period].slice_ms;

	if (slot == w->slot)
		return;
	if (slot - w->slot >= HELD)
		memset(w->slices, 0, sizeof(w->slices));
	else
		for (uint64_t i = w->slot + 1; i <= slot; i++)
			w->slices[i % HELD] = 0;
	w->slot = slot;
	w->sum = sum_of(w);
}

/* How long until less than `limit` is held. */
static uint64_t wait_for(const struct window *w, enum rf_budget_period period, uint64_t limit,
			 uint64_t now)
{
	uint64_t slice_ms = periods[period].slice_ms, left, slot;
	int gone = 0;

	/* What is held after the oldest `gone` slices are gone; all of them: nothing. */
	do {
		gone++;
		left = 0;
		for (int i = gone; i < HELD; i++)
			left = add(left, w->slices[(w->slot + 1 + (uint64_t)i) % HELD]);
	} while (left >= limit && gone < HELD);
	slot = w->slot + (uint64_t)gone;
	return slot * slice_ms - now;
}

/* ------------------------------------------------------------- owners */

static void leave_queue(struct rf_budget_set *set, struct owner *o)
{
	if (o->older)
		o->older->newer = o->newer;
	else if (set->oldest == o)
		set->oldest = o->newer;
	if (o->newer)
		o->newer->older = o->older;
	else if (set->newest == o)
		set->newest = o->older;
	o->older = o->newer = NULL;
}

static void enter_queue(struct rf_budget_set *set, struct owner *o)
{
	o->older = set->newest;
	if (o->older)
		o->older->newer = o;
	else
		set->oldest = o;
	set->newest = o;
}

static void forget(struct rf_budget_set *set, struct owner *o)
{
	leave_queue(set, o);
	rf_table_remove(&set->table, &o->node);
	for (int i = 0; i < RF_BUDGETS; i++)
		free(o->windows[i]);
	free(o);
}

static struct owner *find(const struct rf_budget_set *set, enum rf_table_kind kind,
			  const char *name)
{
	return (struct owner *)rf_table_find(&set->table, kind, name);
}

/* True if there is room for one more, made if need be. */
static bool has_room(struct rf_budget_set *set)
{
	if (set->table.node_count < set->options.cap)
		return true;
	/* Two slices more than a day: nothing of it is held any longer. */
	if (!set->oldest || set->clock.now - set->oldest->spent_at < DAY_MS + 2 * (DAY_MS / SLICES))
		return false;
	forget(set, set->oldest);
	return true;
}

static int get(struct rf_budget_set *set, enum rf_table_kind kind, const char *name,
	       struct owner **ret_owner)
{
	struct owner *o = find(set, kind, name);

	if (!o) {
		if (!has_room(set))
			return -ENOSPC;
		o = calloc(1, sizeof(*o));
		if (!o || rf_table_add(&set->table, &o->node, kind, name) < 0) {
			free(o);
			return -ENOMEM;
		}
		o->spent_at = set->clock.now;
		enter_queue(set, o);
	}
	*ret_owner = o;
	return 0;
}

/* ------------------------------------------------------------- operations */

struct rf_budget_set *rf_budget_new(const struct rf_budget_options *options)
{
	struct rf_budget_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->options = *options;
	rf_table_init(&set->table, options->key);
	return set;
}

static void empty(struct rf_budget_set *set)
{
	while (set->oldest)
		forget(set, set->oldest);
}

void rf_budget_free(struct rf_budget_set *set)
{
	if (!set)
		return;
	empty(set);
	rf_table_done(&set->table);
	free(set);
}

/* "612 of 600 s of processor time in an hour", "2.6 of 2.5 of money in a day" */
static void explain(struct rf_budget_answer *answer)
{
	static const enum rf_quota money = RF_QUOTA_MONEY_DAY;
	uint64_t per = budgets[answer->what].per;
	char used[32], limit[32];

	snprintf(used, sizeof(used), "%" PRIu64, answer->used / per);
	snprintf(limit, sizeof(limit), "%" PRIu64, answer->limit / per);
	if (answer->what == RF_BUDGET_MONEY) {
		rf_limit_write(&rf_quota_table[money], answer->used, used, sizeof(used));
		rf_limit_write(&rf_quota_table[money], answer->limit, limit, sizeof(limit));
	}
	snprintf(answer->reason, sizeof(answer->reason), "the budget is spent: %s of %s%s in %s",
		 used, limit, budgets[answer->what].unit,
		 answer->period == RF_BUDGET_HOUR ? "an hour" : "a day");
}

void rf_budget_ask(struct rf_budget_set *set, enum rf_table_kind kind, const char *name,
		   const struct rf_budget_rule *rule, uint64_t mono_ms,
		   struct rf_budget_answer *ret_answer)
{
	uint64_t now = rf_clock_at(&set->clock, mono_ms);
	struct rf_budget_answer answer = { 0 };
	struct owner *o = rf_table_takes(name) ? find(set, kind, name) : NULL;

	for (int i = 0; i < RF_BUDGETS; i++)
		for (int j = 0; j < RF_BUDGET_PERIODS; j++) {
			struct window *w = o && o->windows[i] ? &o->windows[i][j] : NULL;
			uint64_t limit = rule->limits[i][j], wait;

			if (!w || limit == RF_BUDGET_NONE)
				continue;
			advance(w, (enum rf_budget_period)j, now);
			if (w->sum < limit)
				continue;
			wait = wait_for(w, (enum rf_budget_period)j, limit, now);
			if (answer.is_spent && wait <= answer.retry_ms)
				continue;
			answer = (struct rf_budget_answer){
				true, (enum rf_budget)i, (enum rf_budget_period)j, w->sum, limit,
				wait
			};
		}
	if (answer.is_spent)
		explain(&answer);
	*ret_answer = answer;
}

int rf_budget_spend(struct rf_budget_set *set, enum rf_table_kind kind, const char *name,
		    enum rf_budget budget, uint64_t amount, uint64_t mono_ms)
{
	uint64_t now = rf_clock_at(&set->clock, mono_ms);
	struct owner *o;
	int code;

	if (!rf_table_takes(name))
		return -EINVAL;
	code = get(set, kind, name, &o);
	if (code < 0)
		return code;
	if (!o->windows[budget])
		o->windows[budget] = calloc(RF_BUDGET_PERIODS, sizeof(struct window));
	if (!o->windows[budget])
		return -ENOMEM;
	for (int j = 0; j < RF_BUDGET_PERIODS; j++) {
		struct window *w = &o->windows[budget][j];

		advance(w, (enum rf_budget_period)j, now);
		w->slices[w->slot % HELD] = add(w->slices[w->slot % HELD], amount);
		w->sum = sum_of(w);
	}
	o->spent_at = now;
	leave_queue(set, o);
	enter_queue(set, o);
	return 0;
}

uint64_t rf_budget_used(struct rf_budget_set *set, enum rf_table_kind kind, const char *name,
			enum rf_budget budget, enum rf_budget_period period, uint64_t mono_ms)
{
	uint64_t now = rf_clock_at(&set->clock, mono_ms);
	const struct owner *o = rf_table_takes(name) ? find(set, kind, name) : NULL;

	if (!o || !o->windows[budget])
		return 0;
	advance(&o->windows[budget][period], period, now);
	return o->windows[budget][period].sum;
}

int rf_budget_reset(struct rf_budget_set *set, enum rf_table_kind kind, const char *name)
{
	struct owner *o = rf_table_takes(name) ? find(set, kind, name) : NULL;

	if (!o)
		return -ENOENT;
	forget(set, o);
	return 0;
}

size_t rf_budget_count(const struct rf_budget_set *set)
{
	return set->table.node_count;
}

/* ------------------------------------------------------------- for a successor */

static void pack_window(const struct window *w, struct rf_buf *out)
{
	rf_pack_u64(out, w->slot);
	for (int i = 0; i < HELD; i++)
		rf_pack_u64(out, w->slices[i]);
}

void rf_budget_pack(const struct rf_budget_set *set, const char *boot, struct rf_buf *out)
{
	rf_pack_u32(out, FORMAT);
	rf_clock_pack(&set->clock, boot, out);
	for (const struct owner *o = set->oldest; o; o = o->newer) {
		rf_pack_bool(out, true);
		rf_pack_u32(out, o->node.kind);
		rf_pack_string(out, o->node.name);
		rf_pack_u64(out, o->spent_at);
		for (int i = 0; i < RF_BUDGETS; i++) {
			rf_pack_bool(out, o->windows[i]);
			for (int j = 0; j < RF_BUDGET_PERIODS && o->windows[i]; j++)
				pack_window(&o->windows[i][j], out);
		}
	}
	rf_pack_bool(out, false);
}

static void unpack_window(struct window *w, enum rf_budget_period period, uint64_t now,
			  struct rf_pack_reader *reader)
{
	w->slot = rf_pack_read_u64(reader);
	for (int i = 0; i < HELD; i++)
		w->slices[i] = rf_pack_read_u64(reader);
	w->sum = sum_of(w);
	if (w->slot > now / periods[period].slice_ms)
		reader->has_failed = true;
}

static void unpack_owner(struct rf_budget_set *set, struct rf_pack_reader *reader)
{
	enum rf_table_kind kind = (enum rf_table_kind)rf_pack_read_below(reader, RF_TABLE_KINDS);
	const char *name = rf_pack_read_string(reader, RF_TABLE_NAME);
	uint64_t spent_at = rf_pack_read_u64(reader), now = set->clock.now;
	struct owner *o = NULL;

	if (reader->has_failed || !rf_table_takes(name) || find(set, kind, name) ||
	    spent_at > now || (set->newest && spent_at < set->newest->spent_at) ||
	    set->table.node_count >= set->options.cap || get(set, kind, name, &o) < 0) {
		reader->has_failed = true;
		return;
	}
	o->spent_at = spent_at;
	for (int i = 0; i < RF_BUDGETS && !reader->has_failed; i++) {
		if (!rf_pack_read_bool(reader))
			continue;
		o->windows[i] = calloc(RF_BUDGET_PERIODS, sizeof(struct window));
		if (!o->windows[i]) {
			reader->has_failed = true;
			return;
		}
		for (int j = 0; j < RF_BUDGET_PERIODS; j++)
			unpack_window(&o->windows[i][j], (enum rf_budget_period)j, now, reader);
	}
}

int rf_budget_unpack(struct rf_budget_set *set, const char *boot, uint64_t mono_ms,
		     const void *data, size_t len, struct rf_err *err)
{
	struct rf_pack_reader reader;

	rf_pack_read_init(&reader, data, len);
	if (rf_pack_read_u32(&reader) != FORMAT)
		reader.has_failed = true;
	rf_clock_unpack(&set->clock, boot, mono_ms, &reader);
	while (!reader.has_failed && rf_pack_read_bool(&reader))
		unpack_owner(set, &reader);
	if (rf_pack_is_whole(&reader))
		return 0;
	empty(set);
	set->clock = (struct rf_clock){ 0 };
	return rf_fail_say(err, -EBADMSG,
			   "the state of the budgets is damaged, or another version's");
}

size_t rf_budget_agents(const struct rf_budget_set *set, const char *prefix, size_t len)
{
	return rf_table_count(&set->table, RF_TABLE_AGENT, prefix, len);
}

bool rf_budget_knows(const struct rf_budget_set *set, const char *agent)
{
	return find(set, RF_TABLE_AGENT, agent) != NULL;
}
