/*
 * The host's trees that a plan shows: opened, checked and cloned, ready to be put in their place.
 */
#ifndef RF_JAIL_SOURCE_H
#define RF_JAIL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "jail/box.h"

/* True for what the policy or the current directory put there, and not every box has. */
bool rf_source_is_named(const struct rf_place *place);

/*
 * Opens what place->source names, and refuses what no box may be shown: a symbolic link on the way,
 * the kernel's own, Ringfort's own state, what is neither file nor directory.  Returns an O_PATH
 * descriptor or a negative errno.
 */
int rf_source_find(const struct rf_place *place, struct rf_err *err);

/*
 * Clones the tree at place->source with everything mounted beneath it: without setuid and devices,
 * read-only unless the place is written.  A symbolic link is an error, and so is anything of
 * Ringfort's own state.  Returns a detached mount or a negative errno.
 */
int rf_source_open(const struct rf_place *place, struct rf_err *err);

/*
 * As root, in the launcher: opens every tree that the policy names into box->trees, mapped so that
 * its owner's files are the box's own.  Where the file system can't map, a tree that is only read
 * stays as it is, and a box that writes takes the owner's uid, if that is not root's.
 */
int rf_source_open_owned(struct rf_box *box, struct rf_err *err);

#endif
