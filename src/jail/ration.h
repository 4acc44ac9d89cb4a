/*
 * What a box may put on disks, beside its scratch: the layer over its workspace, and trees of the host that it may write.
 *
 * A layer has a room (policy/plan.h).  One in memory is a file system of its own, made by who raises the walls and handed
 * to the launcher, who reads it when the box is gone.  One with a project quota is kept by its file system.  Any other
 * layer is looked at as often as it could overflow, and so is what the kernel counts as written where a tree of the host
 * is; the box is killed at the limit.
 */
#ifndef RF_JAIL_RATION_H
#define RF_JAIL_RATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jail/box.h"

#define RF_TMPFS        0x01021994 /* what statfs() calls a file system in memory */
#define RF_RATION_INODE 1024u      /* bytes that the kernel needs for an empty file in one */

/* The room of the plan's layers, or NULL. */
struct rf_room *rf_ration_room(const struct rf_plan *plan);

/* How well limits.disk and limits.inodes can be kept: their grades, and what else the box has to say of it. */
void rf_ration_grade(struct rf_box *box);

/*
 * In the child, for a room in memory: makes the file system, hangs it up as `top` in the folder `own`, and hands it over.
 * `owners` maps it as the tree is, or -1.
 */
int rf_ration_mount(struct rf_box *box, struct rf_room *room, int owners, int own,
		    struct rf_err *err);

/* In the launcher, once the child is pid 1: takes what it handed over, under the number that room->top has. */
int rf_ration_take(const struct rf_box *box, struct rf_err *err);

/*
 * Looks at what was used.  Returns the limit that was passed, or RF_LIMIT_COUNT; `*ret_next_ns` is how long it takes at least
 * until one can be.  `written` is what the box's processes have written to disks.
 */
enum rf_limit rf_ration_look(const struct rf_box *box, uint64_t written, uint64_t *ret_next_ns);

/* Bytes of memory that the layer is. */
uint64_t rf_ration_memory(const struct rf_plan *plan);

/* When the box is gone: fills in what was used, and gives the limits (bits) that nothing is left of. */
uint32_t rf_ration_end(const struct rf_plan *plan);

#endif
