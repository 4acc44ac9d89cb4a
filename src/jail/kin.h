/*
 * The boxes of a launcher that stays, by their namespaces: what the records in $RUN are among launchers
 * (record.h), without a file to read for each.
 */
#ifndef RF_JAIL_KIN_H
#define RF_JAIL_KIN_H

#include <stdint.h>

#include "base/err.h"
#include "jail/box.h"

/* Adds a box that lives in these namespaces.  Fails if another one lives in one of them; 0 is none. */
int rf_kin_join(const struct rf_box *box, const uint64_t ns[RF_NS_COUNT], struct rf_err *err);

/* Takes it out again, if it is there. */
void rf_kin_leave(const struct rf_box *box);

#endif
