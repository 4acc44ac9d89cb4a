/*
 * Tripwires: a box's canaries (policy/canary.h), watched from outside.
 *
 * A canary is a file in the box's own file system.  inotify watches its inode, through pid 1's root, from before
 * anything runs: whoever opens it, by whichever name, link or descriptor, is seen; who only looks at its name or its
 * attributes is not.  Needs no privilege; a box without canaries pays nothing.
 */
#ifndef RF_JAIL_TRIPWIRE_H
#define RF_JAIL_TRIPWIRE_H

#include "base/err.h"
#include "jail/box.h"

/* Lays the wires of a box whose walls are up.  Gives a descriptor, readable once one was touched. */
int rf_tripwire_lay(struct rf_box *box, struct rf_err *err);

/* Which canary was touched, by its path inside; NULL if none was. */
const char *rf_tripwire_read(const struct rf_box *box);

#endif
