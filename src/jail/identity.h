/* The identity wall: ids, groups, capabilities, keyrings: see identity.c. */
#ifndef RF_JAIL_IDENTITY_H
#define RF_JAIL_IDENTITY_H

#include "base/err.h"
#include "jail/box.h"

int rf_identity_drop(struct rf_box *box, struct rf_err *err);

#endif
