/*
 * What a run left in the folders that it could write and that acts later, on the host.
 *
 * A box that may write a project's folder can plant a git hook or a task for an editor there, and it is
 * run outside, by whoever uses the folder next.  So protected names (policy/protected.h) and
 * executable files are noted before the start and compared after the end, by what the box can't
 * forge: inode, time of change, size and mode.  It is a report and no wall.
 */
#ifndef RF_JAIL_PLANTED_H
#define RF_JAIL_PLANTED_H

#include "policy/plan.h"
#include "result/result.h"

/* The state of the written folders at one time. */
struct rf_planted;

/* Takes note of the folders that the plan lets a box write.  NULL if there are none, or no memory. */
struct rf_planted *rf_planted_begin(const struct rf_plan *plan);

/* Looks again and frees it (takes; may be NULL).  Writes what it finds into the result. */
void rf_planted_end(struct rf_planted *planted, struct rf_result *result);

#endif
