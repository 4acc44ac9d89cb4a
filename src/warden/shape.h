/* The shape of a plan: everything that a box is built from, and nothing of what it will run. */
#ifndef RF_WARDEN_SHAPE_H
#define RF_WARDEN_SHAPE_H

#include <stdbool.h>

#include "policy/plan.h"

/*
 * True if a box built for one plan is the box of the other.  Says no where it does not know: for plans
 * that name programs, patterns or profiles.
 */
bool rf_shape_is_same(const struct rf_plan *a, const struct rf_plan *b);

/* False for plans that are like no other. */
bool rf_shape_is_common(const struct rf_plan *plan);

#endif
