/*
 * Parts of boxes that a launcher which stays makes once and uses for many: root's only, because an
 * ordinary user's boxes each own all that they are made of.
 */
#ifndef RF_JAIL_PARTS_H
#define RF_JAIL_PARTS_H

#include <stdbool.h>

#include "base/err.h"
#include "jail/box.h"

/* All borrowed from whoever keeps them; -1: there is none. */
struct rf_parts {
	int mounts; /* the launcher's own mount namespace, to come back to */
	int mold; /* one with what all boxes of a shape have in common in their root: see mold.h */
	int proc; /* the host's /proc, which is not to be seen from a mold */
};

#define RF_PARTS_NONE ((struct rf_parts){ -1, -1, -1 })

/* True if this box's root is made from the mold. */
bool rf_parts_has_mold(const struct rf_box *box);

#endif
