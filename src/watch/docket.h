/*
 * Whether an agent may begin a run, and what its runs came to.
 *
 * Where breakers and budgets meet: an agent's breaker is asked first, then its budgets, and a budget
 * that is spent opens the breaker until it is not.  So there is one thing that refuses an agent, with
 * one reason and one time to come back, and one thing that a person looks at and resets.
 *
 * The rules come with each question, from the policy of that run.  Pure: time is passed in.
 */
#ifndef RF_WATCH_DOCKET_H
#define RF_WATCH_DOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/quota.h"
#include "watch/breaker.h"
#include "watch/budget.h"
#include "watch/metrics.h"

/* What a run came to, as far as it matters here. */
enum rf_docket_end {
	RF_DOCKET_WELL,
	RF_DOCKET_FAILED,  /* by itself: another code than 0, or a signal of its own */
	RF_DOCKET_TIMEOUT, /* at the limit on time */
	RF_DOCKET_LIMIT,   /* at another limit */
	RF_DOCKET_DENIED,  /* the policy refused it */
	RF_DOCKET_UNKNOWN, /* ended by whoever asked for it, or by a fault of ours; or nobody knows */
};

struct rf_docket_outcome {
	enum rf_docket_end end;
	uint64_t cpu_ms, denials;
};

/* Time that passed, and time since 1970. */
struct rf_docket_now {
	uint64_t mono_ms, wall_ms;
};

struct rf_docket;

/* Takes breakers, budgets and figures (borrows) of one watcher.  Gives; NULL when memory is gone. */
struct rf_docket *rf_docket_new(struct rf_breaker_set *breakers, struct rf_budget_set *budgets,
				struct rf_metrics *metrics);
void rf_docket_free(struct rf_docket *docket);

/*
 * Asks whether a run may begin.  What is admitted counts as one.  `*ret_spent` tells of the budget, if
 * it was one that has just been found to be spent.
 */
void rf_docket_ask(struct rf_docket *docket, const char *agent, const struct rf_quotas *quotas,
		   uint64_t mono_ms, struct rf_breaker_answer *ret_answer,
		   struct rf_budget_answer *ret_spent);

/* Says what a run came to that was admitted with `ticket`. */
void rf_docket_tell(struct rf_docket *docket, const char *agent, const struct rf_quotas *quotas,
		    uint64_t ticket, const struct rf_docket_outcome *outcome, uint64_t mono_ms);

/* Says what a run of an agent's has sent and got, while it goes on. */
void rf_docket_traffic(struct rf_docket *docket, const char *agent, uint64_t requests,
		       uint64_t bytes, uint64_t mono_ms);

/* Says that a credential was put into a request of an agent's (or "": nobody's), and what that cost, in millionths. */
void rf_docket_use(struct rf_docket *docket, const char *credential, const char *agent,
		   uint64_t cost, uint64_t mono_ms);

/*
 * Closes a breaker, and forgets what its owner has spent; gateways are told so with the next books.  Returns 0, or -ENOENT; where
 * `is_known`, somebody else has such a breaker.
 */
int rf_docket_reset(struct rf_docket *docket, enum rf_table_kind kind, const char *name,
		    bool is_known, const struct rf_docket_now *now);

/*
 * What the gateway of a box is to know: what these credentials (names, with commas between) have come to, what is opened by
 * hand, and what was reset since `serial` (0: nothing).
 */
int rf_docket_books(struct rf_docket *docket, uint64_t serial, const char *credentials,
		    uint64_t mono_ms, struct rf_buf *out, struct rf_err *err);

/* What the verdict of a result ("ok", "timeout" ...) means here. */
enum rf_docket_end rf_docket_end_of(const char *verdict);

/* Brings the figures that are looked up, not counted, up to date. */
void rf_docket_measure(struct rf_docket *docket, uint64_t mono_ms);

#endif
