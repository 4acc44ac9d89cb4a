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

#endif
