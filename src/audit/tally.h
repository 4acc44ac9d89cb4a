/*
 * What a log comes to: events counted by agent, and by the policy that runs were under.
 *
 * Fed with events in the order of the log, all of them: those before the period say which policies there are and
 * which runs are under way.  It makes no system call.  What others can make grow without bound has a bound here, and
 * what is behind it is counted and not listed.
 */
#ifndef RF_AUDIT_TALLY_H
#define RF_AUDIT_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "audit/pick.h"
#include "policy/arena.h"
#include "policy/limit.h"
#include "policy/trim.h"

/* Something that was counted: a verdict, a program, what was denied, a host. */
struct rf_tally_row {
	const char *name, *rule, *remedy; /* "" where there is none */
	uint64_t count;
	uint64_t hash;
};

struct rf_tally_list {
	struct rf_tally_row *rows; /* those with the most first, once all is told */
	size_t count;
	uint64_t total; /* of all of them */
	uint64_t more;  /* of those that have no row */
};

/* Something that happened at a moment: a breaker that opened, an alarm, a kill. */
struct rf_tally_note {
	uint64_t time_ns, seq;
	enum rf_audit_kind kind;
	const char *name, *reason, *severity, *box, *by;
	uint64_t until_ms;
};

#define RF_TALLY_NOTES 100 /* of a sort, the last ones; all are counted */
struct rf_tally_notes {
	struct rf_tally_note *notes; /* the oldest first, once all is told */
	size_t count;
	uint64_t total;
};

/* Runs under one policy. */
struct rf_tally_policy {
	uint8_t hash[RF_AUDIT_HASH]; /* all zeros: not told */
	const char *text;            /* or NULL: the log does not have it */
	uint64_t runs, ended;        /* in the period */
	uint64_t first_ns, last_ns;
	struct rf_tally_list programs;
	struct rf_tally_list rules,
		credentials; /* that let requests pass: `rule` is the method; and were added to them */
	struct rf_trim_seen limits[RF_LIMIT_COUNT];
	uint64_t learnt;           /* runs that were learnt from: `used` is all that they used */
	struct rf_tally_list used; /* files and programs; `rule` is the key that grants them */
};

/* What is budgeted: the most in any hour, and in any day. */
enum rf_tally_budget {
	RF_TALLY_RUNS,
	RF_TALLY_CPU_MS,
	RF_TALLY_DENIALS,
	RF_TALLY_TIMEOUTS,
	RF_TALLY_REQUESTS,
	RF_TALLY_BYTES,
	RF_TALLY_MONEY, /* in millionths */
	RF_TALLY_BUDGETS
};

struct rf_window;
struct rf_boxes;
struct rf_texts;

struct rf_tally_agent {
	const char *name; /* "": runs without an agent */
	uint64_t name_hash;
	uint64_t first_ns, last_ns;
	uint64_t started, ended, refused, under_way;
	uint64_t cpu_us, wall_us;
	uint64_t heard;                     /* runs of which the kernel tells what it refused */
	uint64_t denied;                    /* by all runs, told one by one or not */
	uint64_t used[RF_TALLY_BUDGETS];    /* in the period */
	uint64_t most[2][RF_TALLY_BUDGETS]; /* in an hour, in a day */
	struct rf_tally_list verdicts, denials, refusals;
	struct rf_tally_list hosts, methods, credentials, tools;
	struct rf_tally_notes openings, alarms, reactions;
	struct rf_tally_policy *policies;
	size_t policy_count;
	uint64_t other_policies; /* runs under one that has no row */
	struct rf_window *window;
};

struct rf_tally {
	struct rf_pick period; /* since, until, agent */
	struct rf_tally_agent *agents;
	size_t agent_count;
	uint64_t other_agents;     /* events of agents that have no row */
	struct rf_tally_agent own; /* what is nobody's: the watcher's alarms, other breakers */
	uint64_t events;           /* in the period */
	uint64_t first_ns, last_ns;
	struct rf_arena *memory;
	struct rf_boxes *boxes;
	struct rf_texts *texts;
};

/* `period` is borrowed until the end. */
int rf_tally_init(struct rf_tally *tally, const struct rf_pick *period, struct rf_err *err);
void rf_tally_done(struct rf_tally *tally);

/* Which kinds it wants to hear of. */
uint64_t rf_tally_kinds(void);

/* One event (borrows). */
void rf_tally_add(struct rf_tally *tally, const struct rf_audit_event *event);

/* All is told: lists are put in order, and policies get their texts.  -ENOMEM if something is missing. */
int rf_tally_end(struct rf_tally *tally, struct rf_err *err);

/* What runs of this agent under this policy were seen to use. */
void rf_tally_use(const struct rf_tally_agent *agent, const struct rf_tally_policy *policy,
		  struct rf_trim_use *ret_use);

#endif
