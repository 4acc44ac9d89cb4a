/* The network wall: see netns.c. */
#ifndef RF_JAIL_NETNS_H
#define RF_JAIL_NETNS_H

#include "base/err.h"
#include "jail/box.h"

int rf_netns_raise(struct rf_box *box, struct rf_err *err);

#endif
