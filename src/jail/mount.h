/* The mount wall: a root directory of the box's own: see mount.c. */
#ifndef RF_JAIL_MOUNT_H
#define RF_JAIL_MOUNT_H

#include "base/err.h"
#include "jail/box.h"

#define RF_OWN_DIR "/.ringfort" /* what is ours in the box's root; nothing in it can be opened */

/*
 * As root: opens the host's trees and maps their owner to the box.  For all: finds what of them is to be
 * hidden.
 */
int rf_mount_open(struct rf_box *box, struct rf_err *err);

/* Builds the root, moves into it and forgets the host's. */
int rf_mount_raise(struct rf_box *box, struct rf_err *err);

/*
 * Makes a mold (mold.h): in a mount namespace of the caller's own, builds what all boxes of this plan
 * have in common and moves into it.
 */
int rf_mount_cast(const struct rf_plan *plan, struct rf_err *err);

/*
 * A fresh file system of `type`, detached.  `options` are names and values in turn, ended by NULL.
 * Returns a descriptor or a negative errno.
 */
int rf_mount_new(const char *type, const char *const *options, unsigned attrs);

#endif
