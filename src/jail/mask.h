/* Covers what a box must not see: see mask.c. */
#ifndef RF_JAIL_MASK_H
#define RF_JAIL_MASK_H

#include "base/err.h"
#include "jail/box.h"

/*
 * Covers everything on box->hidden in the root under construction, `root`, whose places are all there
 * already.
 */
int rf_mask_cover(const struct rf_box *box, int root, struct rf_err *err);

/* True if the box has mounts on names of the host's, which rf_mask_check() has to look at. */
bool rf_mask_is_needed(const struct rf_box *box);

/*
 * In the launcher, once pid 1 is there: looks through the box's own root whether each hidden path still is a cover, and
 * each place within a tree of the host still a mount.  The kernel detaches a mount when its mount point is removed
 * or replaced in another mount namespace, and tells nobody.  Fails with -ESTALE, naming the path: then nothing
 * may be started in that box.
 */
int rf_mask_check(const struct rf_box *box, struct rf_err *err);

#endif
