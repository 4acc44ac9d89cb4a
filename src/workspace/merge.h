/*
 * Several layers made into one, which shows the same.
 *
 * A workspace that lives long has a layer for each of its runs, and overlayfs takes only so many.  Layers never change,
 * so the new one is made beside them and shares their files; whoever is killed on the way leaves a layer that nobody
 * names.
 */
#ifndef RF_WORKSPACE_MERGE_H
#define RF_WORKSPACE_MERGE_H

#include <stddef.h>

#include "base/err.h"
#include "workspace/pool.h"
#include "workspace/stack.h"
#include "workspace/workspace.h"

/* How many points a workspace keeps beneath its head, and what others may be chosen: overlayfs takes 500 layers. */
#define RF_MERGE_POINTS 128
#define RF_MERGE_LEAST  4
#define RF_MERGE_MOST   400

/*
 * Makes one layer of the first `count` of a stack, to be put in their place.  Its name goes to `id`.  Returns a descriptor
 * that holds it, or a negative errno; nothing is left then.
 */
int rf_merge_layers(int pool, const struct rf_stack *stack, size_t count, char id[RF_LAYER_ID],
		    struct rf_err *err);

/*
 * Merges points of an open workspace until no more than `most` lie beneath its head, and some fewer, so that this is not
 * due again at once.  The head stays, and so do checkpoints, points that several others begin at, and the point of the
 * last apply: only what nobody named goes, oldest first.  Of many applies the oldest are made one, too.  What can't be
 * merged is left.  Gives how many points went.
 */
int rf_merge_points(struct rf_workspace *workspace, size_t most, size_t *ret_merged,
		    struct rf_err *err);

#endif
