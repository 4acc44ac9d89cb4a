/*
 * Requests that are not sent: of a trial run, kept by who has the box until its changes are applied; of a box whose writes wait for
 * approval (`network.writes: hold`), kept by who decides about them (custody.h).
 *
 * What only reads, and has no body, passes as always.  A request that would change something is read to its end, told as a whole (GATE_HELD,
 * GATE_ASKED), and answered 202 in the server's place, with what it is called.  Whatever could change something unseen
 * is refused: an upgrade, a body that is too long to be kept, anything that is no HTTP; and all of it where nobody is there to decide.
 */
#ifndef RF_GATEWAY_HOLD_H
#define RF_GATEWAY_HOLD_H

#include "gateway/forward-inside.h"

/* Looks at a request that was judged: false if it is refused.  Else f->is_held says whether it is to be held once it is whole. */
bool rf_hold_look(struct rf_forward *f);

/* It is whole: holds it, and answers, now or once it was taken. */
void rf_hold_take(struct rf_forward *f);

/* Who decides has it, or has not: answers. */
struct rf_gate_taken;
void rf_hold_answer_asked(struct rf_forward *f, const struct rf_gate_taken *taken);

#endif
