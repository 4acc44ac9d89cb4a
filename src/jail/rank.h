/* What a box's processes count for among the machine's: see rank.c. */
#ifndef RF_JAIL_RANK_H
#define RF_JAIL_RANK_H

#include "base/err.h"
#include "jail/box.h"

/* Takes the lowest rank for this process, which is about to become a box's pid 1, and so for all that comes from it. */
int rf_rank_lower(const struct rf_box *box, struct rf_err *err);

#endif
