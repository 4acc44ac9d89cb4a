/*
 * What the watcher is told of a run: that it starts, under which policy and plan; that it ended, how, and what it used and
 * was refused.
 *
 * Never what it was given: a program's name is told, its arguments, variables and output are not.
 */
#ifndef RF_AUDIT_RUNS_H
#define RF_AUDIT_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/teller.h"
#include "base/err.h"
#include "policy/plan.h"
#include "result/result.h"

#define RF_RUNS_DENIALS      64 /* of one run, that are told one by one; all are counted */
#define RF_RUNS_POLICY_PARTS 12 /* of a policy's text; a longer one is not told */

/* How well a limit was kept, as a letter of `grades`; in the order of enum rf_limit, '-' where it is not known. */
#define RF_RUNS_GRADES "nrsh"

struct rf_runs_facts {
	const char *box;       /* its id */
	const char *policy;    /* its text, as rf_policy_format_told() has it; or NULL */
	const char *workspace; /* its name, or NULL */
	pid_t pid;             /* of who asked */
};

/*
 * Asks whether the plan's agent may begin a run, of the box with this id; one without an agent may.  Returns 0: it
 * may; 1: it may not, and `err` is the refusal; or a negative errno: nobody can say.
 */
int rf_runs_admit(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		  struct rf_err *err);

/* The refusal of a run whose policy has rules that only a watcher keeps.  Returns err->code. */
int rf_runs_unwatched(const struct rf_err *why, struct rf_err *err);

/* Tells that a run is about to start, and under which policy: a watcher keeps each text once.  It may when rf_teller_wait() has returned 0. */
int rf_runs_started(struct rf_teller *teller, const struct rf_plan *plan,
		    const struct rf_runs_facts *facts, struct rf_err *err);

/*
 * Shows the box of a run that has been told of, by a pidfd of its pid 1 and a hand on its network or -1 (both borrowed).  Not waited
 * for.  The first writes what is said of it, for who sends it by himself.
 */
void rf_runs_write_sight(const struct rf_plan *plan, const char *box, bool is_lesser,
			 struct rf_buf *out);
int rf_runs_show(struct rf_teller *teller, const struct rf_plan *plan, const char *box, int pidfd,
		 int hand, bool is_lesser, struct rf_err *err);

/*
 * Completes the result of a run that was killed by who knows whom: if the watcher ended it, the status is
 * `killed`, and the error says who wanted it and why.  For who asks by himself: the question, if there is one to
 * be asked, and what is done with its answer.
 */
void rf_runs_explain(struct rf_teller *teller, const char *box, struct rf_result *result);
bool rf_runs_write_fate(const struct rf_result *result, const char *box, struct rf_buf *out);
void rf_runs_read_fate(const char *answer, struct rf_result *result);

/* Adds, to what is told next: the canaries of a box, each by the hash of its value; and that one was read, or sent. */
int rf_runs_planted(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		    struct rf_err *err);
int rf_runs_caught(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		   const struct rf_result *result, struct rf_err *err);

/*
 * Of a run that was learnt from, before its end: that it used `what` of what `key` of a policy grants ("files.read", a path; "commands", a
 * program).  When all is told, rf_runs_learnt() says so; without that it is not known what it did not use.
 */
int rf_runs_used(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		 const char *key, const char *what, struct rf_err *err);
int rf_runs_learnt(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		   size_t count, struct rf_err *err);
#define RF_RUNS_LEARNT "learn" /* in the place of a key: all is told */
#define RF_RUNS_ANY    "*"     /* in the place of a program: what it made itself */
#define RF_RUNS_USED   250     /* that are told of one run: more is not told at all */

/* Tells how it ended, with what it was refused; rf_teller_wait() says when it is written. */
int rf_runs_ended(struct rf_teller *teller, const struct rf_plan *plan, const char *box,
		  const struct rf_result *result, struct rf_err *err);

/*
 * The same as bodies of messages, for who does not wait: a question to ASK, and events to TELL; and what an answer
 * says.  A run that was told of and is not begun after all is lost, one that was only asked for is refused; neither is
 * its agent's failure.
 */
void rf_runs_write_question(const struct rf_plan *plan, const char *box, struct rf_buf *out);
int rf_runs_read_answer(const struct rf_plan *plan, const char *answer, struct rf_err *err);
int rf_runs_write_started(struct rf_buf *out, const struct rf_plan *plan,
			  const struct rf_runs_facts *facts, struct rf_err *err);
int rf_runs_write_ended(struct rf_buf *out, const struct rf_plan *plan, const char *box,
			const struct rf_result *result, struct rf_err *err);

/* Of a program in a box that is kept: that it is begun, or, with a result, that it has ended. */
struct rf_runs_exec {
	const char *program;
	uint32_t number;                /* among its box's */
	const struct rf_result *result; /* or NULL */
};
int rf_runs_write_exec(struct rf_buf *out, const struct rf_plan *plan, const char *box,
		       const struct rf_runs_exec *exec, struct rf_err *err);

int rf_runs_write_lost(struct rf_buf *out, const struct rf_plan *plan, const char *box,
		       const char *reason, struct rf_err *err);
int rf_runs_write_refused(struct rf_buf *out, const struct rf_plan *plan, const char *box,
			  const char *reason, struct rf_err *err);

/* The refusal of a run that must be recorded and can't be, for which `why` says what failed.  Returns err->code. */
int rf_runs_require(const struct rf_err *why, struct rf_err *err);

/* The same for a run that a server's client asked for: -EHOSTDOWN, since it may be asked for again when a watcher stands. */
int rf_runs_require_served(const struct rf_err *why, struct rf_err *err);

/* Tells that something was found that a process of Ringfort's left which was killed, and what was done with it.  `box` may be NULL. */
int rf_runs_write_recovery(struct rf_buf *out, const char *box, const char *what, const char *done,
			   struct rf_err *err);

/* The hash of all that a plan says of its box; not of what runs in it. */
void rf_runs_digest(const struct rf_plan *plan, uint8_t hash[RF_AUDIT_HASH]);

#endif
