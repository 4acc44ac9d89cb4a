/*
 * A hand on a box's policy, lent to somebody else by who has the box: the watcher, for whoever may ask it, or a server, for whose box it is.
 *
 * The other end is answered and nothing else: it hears no events, and the box goes on when it is gone.
 */
#ifndef RF_GATEWAY_HAND_H
#define RF_GATEWAY_HAND_H

#include <stdbool.h>

#include "base/err.h"

struct rf_outlet;
struct rf_hand;

/* Takes `*fd`, also on failure.  It is the box's from now on; of more than four the oldest goes. */
int rf_hand_new(struct rf_outlet *outlet, bool is_bounded, int *fd, struct rf_err *err);
void rf_hand_free_all(struct rf_outlet *outlet);

#endif
