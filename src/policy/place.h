/* What every box holds, whatever its policy says: one table.  Internal to src/policy. */
#ifndef RF_POLICY_PLACE_H
#define RF_POLICY_PLACE_H

#include <stddef.h>

#include "policy/plan.h"

/* In the order in which they are made; the texts in /etc that depend on the plan are not here. */
extern const struct rf_place rf_place_table[];
extern const size_t rf_place_count;

/* The place of ours that a file rule can't be put at, over or beneath, or NULL if `path` is free. */
const char *rf_place_in_the_way(const char *path);

/* The folder of kernel interfaces that `source` lies in and that no rule may show, or NULL. */
const char *rf_place_forbidden(const char *source);

#endif
