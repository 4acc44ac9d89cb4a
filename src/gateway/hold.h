/*
 * Requests of a trial run that are not sent: kept by who has the box, until its changes are applied.
 *
 * What only reads passes as always.  A request that would change something is read to its end, told to the client as a
 * whole (GATE_HELD), and answered 202 in the server's place, with its number.  Whatever could change something unseen
 * is refused: an upgrade, a body that is too long to be kept, anything that is no HTTP.
 */
#ifndef RF_GATEWAY_HOLD_H
#define RF_GATEWAY_HOLD_H

#include "gateway/forward-inside.h"

/* Looks at a request that was judged: false if it is refused.  Else f->is_held says whether it is to be held once it is whole. */
bool rf_hold_look(struct rf_forward *f);

/* It is whole: holds it, and answers. */
void rf_hold_take(struct rf_forward *f);

#endif
