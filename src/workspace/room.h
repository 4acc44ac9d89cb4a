/*
 * The room of one run's changes: which of the ways to keep them within the run's limits this machine has.
 *
 * As root, a project quota where the file system of the layers has them.  Otherwise a file system in memory, where the
 * limit is small beside what the box may use of memory: what lies there counts as memory of the box, and is copied to
 * the pool when the run is kept.  Otherwise the pool itself, looked at from time to time: nothing is copied, and the
 * limit is `sampled`.
 */
#ifndef RF_WORKSPACE_ROOM_H
#define RF_WORKSPACE_ROOM_H

#include <sys/stat.h>

#include "base/err.h"
#include "policy/plan.h"

/* The part of its memory that a box's changes may fill: one half. */
#define RF_ROOM_SHARE 2

void rf_room_init(struct rf_room *room);

/*
 * Chooses one for the layer whose folder is `layer`, over a directory that looks like `st`; `limits` are the run's (by enum
 * rf_limit), or NULL: whoever writes there is trusted with it.
 */
int rf_room_begin(struct rf_room *room, int layer, const struct stat *st, const uint64_t *limits,
		  struct rf_err *err);

/* The run is over: `layer` is no longer limited.  What is in memory stays until rf_room_done(). */
void rf_room_end(struct rf_room *room, int layer);

void rf_room_done(struct rf_room *room);

#endif
