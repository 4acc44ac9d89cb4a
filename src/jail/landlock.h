/* The Landlock wall: see landlock.c. */
#ifndef RF_JAIL_LANDLOCK_H
#define RF_JAIL_LANDLOCK_H

#include "base/err.h"
#include "jail/box.h"

/* In the launcher: expects no proof of what this kernel lacks. */
int rf_landlock_prepare(struct rf_box *box, struct rf_err *err);

int rf_landlock_raise(struct rf_box *box, struct rf_err *err);

/* The same for a lesser box: rulesets for pid 1 and for the program, made while every path can be named. */
int rf_landlock_open_lesser(struct rf_box *box, struct rf_err *err);
int rf_landlock_raise_lesser(struct rf_box *box, struct rf_err *err);

/* The ABI from which on refusals can be logged (Linux 6.15). */
#define RF_LANDLOCK_ABI_LOG 7

/* The newest ABI that this kernel offers, or 0. */
int rf_landlock_abi(void);

#endif
