/*
 * HTTP/2 toward a server, for a caller that speaks HTTP/1.1: the counterpart of http2.h.
 *
 * A caller gets a transport, speaks HTTP/1.1 on it as with any server (http/call.h), one request after the other, and each goes out as a stream of one connection of
 * HTTP/2 and comes back as an answer in chunks, with its trailer.  So all that is done with requests is done in one place, and what can only be
 * carried by HTTP/2, as gRPC is, passes through it, too.
 *
 * The transport owns the connection: it lives until the caller is done with it.  A server is bounded as a client is: heads of 64 KiB, no pushes, and frames for nothing are
 * counted.
 */
#ifndef RF_HTTP2_H2_CLIENT_H
#define RF_HTTP2_H2_CLIENT_H

#include "http/exchange.h"

/* On a transport that speaks TLS and has offered h2 alone, or will (takes it, also on failure). */
int rf_h2_client_new(struct rf_loop *loop, struct rf_deadlines *deadlines,
		     struct rf_transport transport, struct rf_transport *ret_line,
		     struct rf_err *err);

#endif
