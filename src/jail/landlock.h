/* The Landlock wall: see landlock.c. */
#ifndef RF_JAIL_LANDLOCK_H
#define RF_JAIL_LANDLOCK_H

#include "base/err.h"
#include "jail/box.h"

/* In the launcher: expects no proof of what this kernel lacks. */
int rf_landlock_prepare(struct rf_box *box, struct rf_err *err);

int rf_landlock_raise(struct rf_box *box, struct rf_err *err);

/* The newest ABI that this kernel offers, or 0. */
int rf_landlock_abi(void);

#endif
