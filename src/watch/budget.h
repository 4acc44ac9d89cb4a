/*
 * Budgets: how much one agent, or one credential, may spend in an hour and in a day.
 *
 * Spending is counted in slices of a thirty-second of its period, and a slice is let go when all of
 * it is older than the period.  So in no hour, wherever it begins, is more admitted than the hour's
 * budget; what was spent is held against its owner for the period and at most a thirty-second of it
 * longer.  What a piece of work will cost is known when it has ended: the one that crosses the line
 * is not cut, and the next one is refused.
 *
 * Pure and deterministic, as the breakers are (watch/breaker.h).  Everything is counted, whatever the
 * rules say at that time.  Memory is bounded by `cap`: who has spent nothing for a day is forgotten
 * for a new name, and nobody else; where there is no room, a new name is refused.
 */
#ifndef RF_WATCH_BUDGET_H
#define RF_WATCH_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "watch/clock.h"
#include "watch/table.h"

/* What is counted.  The numbers are stored: a new one goes to the end. */
enum rf_budget {
	RF_BUDGET_RUNS,
	RF_BUDGET_CPU_MS,
	RF_BUDGET_BYTES,
	RF_BUDGET_REQUESTS,
	RF_BUDGET_MONEY, /* in millionths of whatever it is counted in */
	RF_BUDGET_DENIALS,
	RF_BUDGET_TIMEOUTS,
	RF_BUDGETS
};

enum rf_budget_period {
	RF_BUDGET_HOUR,
	RF_BUDGET_DAY,
	RF_BUDGET_PERIODS
};

#define RF_BUDGET_NONE   UINT64_MAX
#define RF_BUDGET_REASON 160

struct rf_budget_rule {
	uint64_t limits[RF_BUDGETS][RF_BUDGET_PERIODS]; /* RF_BUDGET_NONE: no limit */
};

struct rf_budget_answer {
	bool is_spent;
	enum rf_budget what; /* the one that takes the longest to recover */
	enum rf_budget_period period;
	uint64_t used, limit;
	uint64_t retry_ms; /* from now */
	char reason[RF_BUDGET_REASON];
};

struct rf_budget_options {
	size_t cap;      /* owners at one time */
	uint64_t key[2]; /* random, for the table */
};

struct rf_budget_set;

/* Gives; NULL when memory is gone. */
struct rf_budget_set *rf_budget_new(const struct rf_budget_options *options);
void rf_budget_free(struct rf_budget_set *set);

/* "cpu" and so on; "hour", "day". */
const char *rf_budget_name(enum rf_budget budget);
const char *rf_budget_period_name(enum rf_budget_period period);

/* A rule without limits, to be filled in. */
struct rf_budget_rule rf_budget_rule_none(void);

/* Whether all that its owner may spend is spent.  Spends nothing. */
void rf_budget_ask(struct rf_budget_set *set, enum rf_table_kind kind, const char *name,
		   const struct rf_budget_rule *rule, uint64_t mono_ms,
		   struct rf_budget_answer *ret_answer);

/* Counts an amount.  Returns 0, -EINVAL for a name that can't be one, -ENOSPC or -ENOMEM. */
int rf_budget_spend(struct rf_budget_set *set, enum rf_table_kind kind, const char *name,
		    enum rf_budget budget, uint64_t amount, uint64_t mono_ms);

/* What is held against an owner now. */
uint64_t rf_budget_used(struct rf_budget_set *set, enum rf_table_kind kind, const char *name,
			enum rf_budget budget, enum rf_budget_period period, uint64_t mono_ms);

/* Forgets what its owner has spent.  Returns 0, or -ENOENT. */
int rf_budget_reset(struct rf_budget_set *set, enum rf_table_kind kind, const char *name);

size_t rf_budget_count(const struct rf_budget_set *set);

/*
 * For a successor, as rf_breaker_pack() and rf_breaker_unpack() are.  Who does not fit the buffer
 * fails it: a budget that is forgotten would be one to spend again.
 */
void rf_budget_pack(const struct rf_budget_set *set, const char *boot, struct rf_buf *out);
int rf_budget_unpack(struct rf_budget_set *set, const char *boot, uint64_t mono_ms,
		     const void *data, size_t len, struct rf_err *err);

/* How many agents are kept in mind whose names begin with the first `len` bytes of `prefix`, and whether this one is. */
size_t rf_budget_agents(const struct rf_budget_set *set, const char *prefix, size_t len);
bool rf_budget_knows(const struct rf_budget_set *set, const char *agent);

#endif
