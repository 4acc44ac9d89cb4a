/*
 * A handshake by itself, on the loop: for who must know what was agreed upon before anybody reads or writes.
 */
#ifndef RF_TLS_HANDSHAKE_H
#define RF_TLS_HANDSHAKE_H

#include "base/loop.h"
#include "http/deadline.h"
#include "http/transport.h"

struct rf_handshake;

/*
 * Told once: with 0, and gives the transport; or with why it failed (`err` has the story), and the transport is gone.  Comes from the loop, and the
 * handshake is no more.
 */
typedef void rf_handshake_fn(void *data, int code, struct rf_transport *transport,
			     const struct rf_err *err);

/* Takes a transport of tls.h's, also on failure. */
int rf_handshake_new(struct rf_loop *loop, struct rf_deadlines *deadlines,
		     struct rf_transport transport, uint32_t timeout_ms, rf_handshake_fn *fn,
		     void *data, struct rf_handshake **ret_handshake, struct rf_err *err);

/* Gives up: nothing is told. */
void rf_handshake_free(struct rf_handshake *handshake);

#endif
