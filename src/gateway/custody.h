/*
 * Writes of a box that wait for approval (`network.writes: hold`): the line to who decides about them.
 *
 * Who opened the box gave the other end away, or kept it, before the box's connection was sealed; nothing that is said on that connection reaches it.  A write is
 * told there as a whole, and its program answered once it was taken (202, with the name that it has from then on) or was not (503).  What is
 * approved comes back as a connection on which one request is spoken as if by the box: judged and completed as any, and not held again.
 */
#ifndef RF_GATEWAY_CUSTODY_H
#define RF_GATEWAY_CUSTODY_H

#include <stdbool.h>

#include "base/err.h"
#include "wire/gate.h"

struct rf_custody;
struct rf_forward;
struct rf_outlet;

/* Takes `*fd`, also on failure.  -EPERM: the box is sealed, or has one. */
int rf_custody_new(struct rf_outlet *outlet, int *fd, struct rf_err *err);
void rf_custody_free(struct rf_outlet *outlet);

/* What others call the box; the first counts. */
void rf_custody_name(struct rf_outlet *outlet, const char *name);

/* Asks about a request (borrows), which is answered later.  False: nobody is there to be asked, or too many wait for that. */
bool rf_custody_ask(struct rf_forward *f, const struct rf_gate_held *held);

#endif
