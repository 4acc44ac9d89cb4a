/*
 * A mold: what all boxes of one shape have in common in their root, made once.
 *
 * It is a mount namespace in which nobody lives: the finished root of a plan, read-only, but for what
 * each box has to itself (/proc, terminals, scratch, trees of the host), for which it has the mount points.
 * A box whose launcher stands in the mold when it is born has a copy of it for its mounts: nothing is to
 * be bound, and there is no root of the host to leave.
 */
#ifndef RF_JAIL_MOLD_H
#define RF_JAIL_MOLD_H

#include "base/err.h"
#include "policy/plan.h"

/* Makes the mold of a plan, as root.  Returns the namespace's descriptor. */
int rf_mold_make(const struct rf_plan *plan, struct rf_err *err);

#endif
