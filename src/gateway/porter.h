/*
 * The porter of a standing gateway: looks at who comes to the socket, and sends who may come in to the gateway proper.
 *
 * Two processes, because two rights exclude each other.  Who looks at a client must be able to look at processes outside
 * (/proc, and ptrace's rule of who may); what handles bytes of boxes and of the world gives up just that (lockdown.h).  So the porter reads
 * the first words of a connection and no further: a proof, or a question who is there.  Anything else is for the gateway,
 * and the connection goes there with it unread: the porter never sees a policy or a credential.
 *
 * A gateway that ends takes its boxes' networks with it; the porter starts another for those that come, after a pause that grows.
 */
#ifndef RF_GATEWAY_PORTER_H
#define RF_GATEWAY_PORTER_H

#include "base/err.h"

/*
 * Serves `listener` (borrows) until SIGTERM, SIGINT or SIGHUP; `program` is ringfort-gateway itself.
 */
int rf_porter_serve(int listener, const char *program, struct rf_err *err);

#endif
