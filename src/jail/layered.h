/* A tree of the host with layers over it, which take what the box changes: see layered.c. */
#ifndef RF_JAIL_LAYERED_H
#define RF_JAIL_LAYERED_H

#include "base/err.h"
#include "jail/box.h"

/*
 * Clones the folder of a place's layers.  `owners`: as root, the user namespace that maps the owner of the tree to
 * the box; else -1.  Returns a detached mount or a negative errno.
 */
int rf_layered_open_pool(const struct rf_place *place, int owners, struct rf_err *err);

/*
 * Puts the layers over `tree` (takes; detached), in the box's mount namespace.  `own` is a folder of ours in its
 * root to work in.  Returns the mount, ready to be moved to its place, or a negative errno.
 */
int rf_layered_raise(struct rf_box *box, const struct rf_place *place, int tree, int own,
		     struct rf_err *err);

#endif
