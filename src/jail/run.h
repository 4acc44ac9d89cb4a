/*
 * One run: a plan carried out from start to result.
 *
 * Starts the box, moves its standard streams, passes signals on, keeps the limits that the kernel
 * does not keep by itself, and tells the cause of the end apart.  When rf_run() returns, nothing of
 * the box is left.
 */
#ifndef RF_JAIL_RUN_H
#define RF_JAIL_RUN_H

#include <stdbool.h>

#include "base/err.h"
#include "policy/plan.h"

#include "result/result.h"

struct rf_errand;
struct rf_footprint;
struct rf_outward;

struct rf_run_options {
	const char *init_path;   /* the program ringfort-init */
	const char *caller_path; /* the caller's PATH, to explain a program that is not found */
	bool is_captured;        /* keep the output in the result instead of passing it on */
	bool wants_denials;      /* listen to what the kernel refuses, where it can be heard */
	struct rf_footprint
		*footprint; /* where it is noted what a box of ours uses; or NULL; borrowed */
	bool is_plain;      /* text only: no escape sequence, no control character */
	/* A warden that keeps the box, or -1: then the box is ours.  Not with a terminal. */
	int warden;
	const struct rf_errand *errand; /* what the warden is asked for */
	const char *id;                 /* what the box is called, or NULL: a random name */
	struct rf_outward *outward;     /* a gateway that was asked to let it out, or NULL */
	/*
	 * Called before a box of ours is built, with its id, and before it is told what to run; if one of them
	 * fails, there is no run.  May be NULL.
	 */
	int (*on_start)(void *data, const char *id, struct rf_err *err);
	int (*on_orders)(void *data, struct rf_err *err);
	/* Called once the box has lived for a while, and every few seconds more, with a pidfd of its pid 1.  May be NULL. */
	void (*on_settled)(void *data, int pidfd, bool is_lesser);
	/* Called when it is over, while the box is still being taken down.  May be NULL. */
	void (*on_end)(void *data, struct rf_result *result);
	void *data;
};

/* Runs to the end.  Always fills `ret_result` (initialised by the caller); whatever went wrong is in it. */
void rf_run(const struct rf_plan *plan, const struct rf_run_options *options,
	    struct rf_result *ret_result);

#endif
