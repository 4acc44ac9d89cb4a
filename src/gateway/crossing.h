/*
 * One connection that a box has made, from its first byte to what becomes of it.
 *
 * Where it goes is known from the address that the program dialled, or from what it told the proxy.  Its first bytes are looked at where they
 * lie: HTTP is read and forwarded; TLS whose host must be looked into is ended; TLS for another name than the one that was dialled is refused; all else
 * is relayed untouched, if the policy allows its host.
 */
#ifndef RF_GATEWAY_CROSSING_H
#define RF_GATEWAY_CROSSING_H

#include "gateway/outlet.h"

/* A connection that was accepted, on its way to `place` (takes `*fd`, also on failure). */
int rf_crossing_new(struct rf_outlet *outlet, int *fd, const struct rf_forward_place *place,
		    struct rf_err *err);

/* One to the box's proxy: SOCKS5 or HTTP, which its first byte tells. */
int rf_crossing_new_proxy(struct rf_outlet *outlet, int *fd, struct rf_err *err);

/* One that HTTP's CONNECT has opened, and that was allowed. */
int rf_crossing_adopt(struct rf_outlet *outlet, struct rf_exchange *exchange,
		      const struct rf_forward_place *place, struct rf_err *err);

/* The policy has changed: cuts those that it does not allow. */
void rf_crossing_review(struct rf_outlet *outlet);
void rf_crossing_close(struct rf_outlet *outlet);

#endif
