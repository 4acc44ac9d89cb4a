/*
 * A program that stands still for a moment, while what it has done so far is copied: `checkpoint --live`, `fork --live`.
 */
#ifndef RF_CLI_STANDSTILL_H
#define RF_CLI_STANDSTILL_H

#include <stdint.h>

#include "base/err.h"
#include "workspace/snapshot.h"

/*
 * Keeps what the program in workspace `name` has done so far as a point, called `checkpoint` (or NULL); it goes on
 * afterwards.  Gives the snapshot, open, and the point.  -ESRCH: no program runs there.
 */
int rf_standstill_keep(const char *name, const char *checkpoint, struct rf_snapshot *ret_snapshot,
		       uint32_t *ret_point, struct rf_err *err);

#endif
