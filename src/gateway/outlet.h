/*
 * One box's way out: its policy, names, limits and filters, its listeners, and every connection that it has.
 *
 * The gateway serves many boxes; nothing of one is ever looked up with what another said.  An outlet is made when a client opens it
 * (GATE_OPEN), gets its sockets (GATE_LINES), and is gone, with all connections, when the client says so or is gone itself.
 */
#ifndef RF_GATEWAY_OUTLET_H
#define RF_GATEWAY_OUTLET_H

#include "gateway/forward.h"

struct rf_gateway;
struct rf_outlet;

/*
 * Ends TLS for a connection of the box's whose first bytes are a ClientHello, still unread (takes `*fd`, also on failure): makes the
 * server's side of it with a certificate for `place->host`, and gives what is inside to rf_forward_serve().
 */
typedef int rf_outlet_accept(void *data, struct rf_outlet *outlet, int *fd,
			     const struct rf_forward_place *place, struct rf_err *err);

/* What ends and begins TLS for an outlet. */
struct rf_outlet_tls {
	rf_outlet_accept *accept;
	rf_forward_secure *secure;
	void *data;
};

#endif
