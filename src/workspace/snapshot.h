/*
 * A copy of the layer that a living program writes to, kept as a point of its workspace.
 *
 * The launcher has the workspace locked while its program runs.  What it and who takes a copy both write, the ledger, they
 * write only while they hold the launcher's note (occupant.h), and the launcher reads it again before it adds its own
 * point.  Whoever takes a copy has stopped the program first.
 */
#ifndef RF_WORKSPACE_SNAPSHOT_H
#define RF_WORKSPACE_SNAPSHOT_H

#include <sys/types.h>

#include "base/err.h"
#include "workspace/occupant.h"
#include "workspace/visit.h"

struct rf_snapshot {
	struct rf_occupant occupant;
	struct rf_visit
		visit; /* as if a run had just ended that did what the living one has done so far */
};

/* Begins one of the program that runs in a workspace.  -ESRCH: none does. */
int rf_snapshot_open(const char *name, struct rf_snapshot *ret_snapshot, struct rf_err *err);

/* Copies the layer, while the program stands still. */
int rf_snapshot_copy(struct rf_snapshot *snapshot, struct rf_err *err);

/* Makes it a point, called `name` (or NULL), beside what the program does from here on.  Gives its id. */
int rf_snapshot_keep(struct rf_snapshot *snapshot, const char *name, uint32_t *ret_point,
		     struct rf_err *err);

void rf_snapshot_close(struct rf_snapshot *snapshot);

#endif
