/*
 * The verdict: what ended a run, told apart from what was seen of it.
 *
 * Pure: takes what the launcher observed and fills the result's status, codes and limits, so that
 * every rule can be tested with made-up endings.
 */
#ifndef RF_JAIL_VERDICT_H
#define RF_JAIL_VERDICT_H

#include <stdbool.h>

#include "init/orders.h"
#include "jail/cgroup.h"
#include "result/result.h"

/* What was seen of a run that is over. */
struct rf_ending {
	struct rf_report start, end;   /* what pid 1 said; kind 0: nothing */
	struct rf_cgroup_usage counts; /* what the groups counted */
	enum rf_limit killed_for;      /* the limit that Ringfort killed for, or RF_LIMIT_COUNT */
	uint32_t used_up;              /* limits (bits) that the launcher found nothing left of */
	bool has_left;                 /* pid 1 left by itself, and nobody killed it */
	int forwarded;                 /* the last signal to stop that was passed on, or 0 */
	struct rf_err setup;           /* why the walls could not be raised; code 0: they were */
};

/*
 * Judges.  A program that could not be executed is named `program`; `found_outside` is where the
 * caller's PATH has it, or NULL.
 */
void rf_verdict_judge(const struct rf_ending *ending, const char *program,
		      const char *found_outside, struct rf_result *result);

#endif
