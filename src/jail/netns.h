/* The network wall: see netns.c. */
#ifndef RF_JAIL_NETNS_H
#define RF_JAIL_NETNS_H

#include "base/err.h"
#include "jail/box.h"

/* True if a fresh network namespace is all that the plan wants: one made beforehand (box->network) fits as it is. */
bool rf_netns_is_bare(const struct rf_plan *plan);

int rf_netns_raise(struct rf_box *box, struct rf_err *err);

/* What the plan wants of a network that leads to a gateway. */
void rf_netns_wish(const struct rf_plan *plan, struct rf_capture_wish *wish);

/* In the launcher, once the walls are up: takes the box's sockets, if it has any, into box->capture. */
int rf_netns_take(struct rf_box *box, struct rf_err *err);

#endif
