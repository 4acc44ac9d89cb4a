/*
 * A copy of a whole workspace, for a run where overlayfs can't be had, and how it becomes a layer.
 *
 * Before the run, all that the stack shows is copied: blocks are shared where the file system can, so that it costs names and
 * no content.  Afterwards, what differs is moved into a layer in overlayfs's own form; what no program has touched is not
 * read again.  A file is untouched if its folder is the one that was made for that path and its ctime is older than
 * the run; no program can set that time.  So every other command is the same.
 */
#ifndef RF_WORKSPACE_REPLICA_H
#define RF_WORKSPACE_REPLICA_H

#include "base/err.h"
#include "workspace/stack.h"

struct rf_replica;

/*
 * Copies what `stack` shows to the empty folder `whole`.  Gives what has to be known later, to be freed with
 * rf_replica_free().
 */
int rf_replica_make(const struct rf_stack *stack, int whole, struct rf_replica **ret_replica,
		    struct rf_err *err);

/* Moves what differs from `stack`, which is the same, to the empty folder `up` of a layer. */
int rf_replica_take(const struct rf_replica *replica, const struct rf_stack *stack, int whole,
		    int up, struct rf_err *err);

void rf_replica_free(struct rf_replica *replica);

#endif
