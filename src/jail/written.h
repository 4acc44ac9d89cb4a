/* Files of a box that are not the host's: written from what the plan says. */
#ifndef RF_JAIL_WRITTEN_H
#define RF_JAIL_WRITTEN_H

#include <stddef.h>

#include "base/err.h"
#include "policy/plan.h"

/* Writes a place that is TEXT or DATA as the new file `name` in `dir`, which everybody may read and nobody change. */
int rf_written_put(int dir, const char *name, const struct rf_place *place, struct rf_err *err);

/* What all of them take, in whole pages. */
size_t rf_written_bytes(const struct rf_plan *plan);

#endif
