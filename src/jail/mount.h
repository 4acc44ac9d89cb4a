/* The mount wall: a root directory of the box's own: see mount.c. */
#ifndef RF_JAIL_MOUNT_H
#define RF_JAIL_MOUNT_H

#include "base/err.h"
#include "jail/box.h"

/* As root: opens the host's trees and maps their owner to the box. */
int rf_mount_open(struct rf_box *box, struct rf_err *err);

/* Builds the root, moves into it and forgets the host's. */
int rf_mount_raise(struct rf_box *box, struct rf_err *err);

/*
 * A fresh file system of `type`, detached.  `options` are names and values in turn, ended by NULL.
 * Returns a descriptor or a negative errno.
 */
int rf_mount_new(const char *type, const char *const *options, unsigned attrs);

#endif
