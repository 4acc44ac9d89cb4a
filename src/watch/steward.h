/*
 * What the watcher does with what it hears: counts it, holds agents to their breakers and budgets, and
 * answers those who ask.
 *
 * A launcher asks for each run that is done for an agent before it begins (`admit`), and tells of its
 * start and end as of everything else; the two are tied together by the box's id.  Words are the
 * whole surface, each with its number of arguments, in one table.
 *
 * It makes no system call: time is passed in, what it wants recorded is given to `note`, and who
 * keeps its state for a successor is told when there is something new.
 */
#ifndef RF_WATCH_STEWARD_H
#define RF_WATCH_STEWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/buf.h"
#include "base/err.h"

#define RF_STEWARD_OF_TENANT 64 /* agents of one tenant of a server's */

/* What the clocks say: time that passed, and time since 1970. */
struct rf_steward_now {
	uint64_t mono_ms, wall_ms;
};

struct rf_steward_options {
	uint64_t key[2]; /* random */
	size_t cap;      /* agents, hosts, tools and credentials that are kept in mind */
	size_t runs;     /* runs that are under way at one time */
	void (*note)(void *data, const struct rf_audit_event *event); /* to be recorded */
	void *data;
};

struct rf_steward;

/* Gives; NULL when memory is gone. */
struct rf_steward *rf_steward_new(const struct rf_steward_options *options);
void rf_steward_free(struct rf_steward *steward);

/* Something was recorded. */
void rf_steward_event(struct rf_steward *steward, const struct rf_audit_event *event,
		      const struct rf_steward_now *now);

/*
 * Answers words: 1 and an answer in `out`, 0 if it does not know the first of them, or a negative
 * errno with what is wrong.
 *
 *   admit BOX AGENT QUOTAS                "admitted", or "refused MS REASON"; MS is - for "when reset"
 *   breaker ls text|json                  all of them
 *   breaker reset KIND NAME               closes one, and forgets what its owner spent
 *   breaker trip KIND NAME MS|- REASON    opens one, for a while or until it is reset
 *   breaker alarm AGENT BOX REASON        opens an agent's, for as long as the run of the box says
 *   books SERIAL NAMES                    what a gateway is to know (wire/books.h); NAMES: credentials, with commas between
 *   metrics                               Prometheus's text
 */
int rf_steward_ask(struct rf_steward *steward, const char *const *words, size_t count,
		   const struct rf_steward_now *now, struct rf_buf *out, struct rf_err *err);

/* The state of an agent's breaker and the reason for it (borrowed, until the next call); NULL if it has none. */
const char *rf_steward_breaker(struct rf_steward *steward, const char *agent,
			       const struct rf_steward_now *now, const char **ret_reason);

/* Opens the breaker of an agent for which that box runs, for as long as its policy says. */
void rf_steward_trip(struct rf_steward *steward, const char *box, const char *agent,
		     const char *reason, const struct rf_steward_now *now);

/* Figures that the watcher itself knows, for the next who asks for them. */
struct rf_metrics;
struct rf_metrics *rf_steward_metrics(struct rf_steward *steward);

/* How much is new since the state was last packed. */
enum rf_steward_news {
	RF_STEWARD_NOTHING,
	RF_STEWARD_COUNTED, /* something was counted: may be saved with others */
	RF_STEWARD_CHANGED, /* a breaker opened or closed: to be saved now */
};
enum rf_steward_news rf_steward_news(const struct rf_steward *steward);

/* The state for a successor: see rf_breaker_pack(). */
void rf_steward_pack(struct rf_steward *steward, const char *boot, struct rf_buf *out);
int rf_steward_unpack(struct rf_steward *steward, const char *boot, uint64_t mono_ms,
		      const void *data, size_t len, struct rf_err *err);

#endif
