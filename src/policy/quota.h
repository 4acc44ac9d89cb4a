/*
 * What is counted over many runs: when an agent's breaker opens, and what it may spend.
 *
 * Figures like the limits of a box (policy/limit.h), with the same units and the same words, but kept
 * by the watcher, and only where a policy asks for them or names an agent.  Without one of these keys
 * a breaker goes by the defaults here, and nothing is budgeted.
 */
#ifndef RF_POLICY_QUOTA_H
#define RF_POLICY_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/limit.h"

enum rf_quota {
	RF_QUOTA_FAILURES, /* in a row */
	RF_QUOTA_RATE,     /* of the last few */
	RF_QUOTA_OF,       /* how many these are */
	RF_QUOTA_WITHIN,   /* and how old at most */
	RF_QUOTA_OPEN,     /* for how long */
	RF_QUOTA_BUDGETS,  /* the first budget; by the hour and by the day in turns */
	RF_QUOTA_RUNS_HOUR = RF_QUOTA_BUDGETS,
	RF_QUOTA_RUNS_DAY,
	RF_QUOTA_CPU_HOUR,
	RF_QUOTA_CPU_DAY,
	RF_QUOTA_DENIALS_HOUR,
	RF_QUOTA_DENIALS_DAY,
	RF_QUOTA_TIMEOUTS_HOUR,
	RF_QUOTA_TIMEOUTS_DAY,
	RF_QUOTA_REQUESTS_HOUR,
	RF_QUOTA_REQUESTS_DAY,
	RF_QUOTA_BYTES_HOUR,
	RF_QUOTA_BYTES_DAY,
	RF_QUOTA_MONEY_HOUR,
	RF_QUOTA_MONEY_DAY,
	RF_QUOTA_COUNT
};

/* In millionths: a thousand million of whatever is counted. */
#define RF_QUOTA_MONEY_MOST UINT64_C(1000000000000000)

/* What one run's policy says of all of them. */
struct rf_quotas {
	uint64_t figures[RF_QUOTA_COUNT]; /* RF_LIMIT_NONE: none */
	bool counts_failures;             /* any run that did not end well, not only at a limit */
};

#define RF_QUOTA_TEXT 512 /* bytes of them as one word, with its NUL */

/*
 * As one word, for the way from a launcher to a watcher: the figures in their order, then what is
 * counted.  Reading takes exactly what is written, with every figure in the range of its row.
 */
void rf_quota_format(const struct rf_quotas *quotas, char text[RF_QUOTA_TEXT]);
bool rf_quota_parse(const char *text, struct rf_quotas *ret_quotas);

/* `key` is the last part of the policy's key; `for_run` what applies without it. */
extern const struct rf_limit_info rf_quota_table[RF_QUOTA_COUNT];

#endif
