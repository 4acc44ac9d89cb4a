/*
 * One connection under TLS, for those who set it up: tls-client.c and tls-server.c.
 */
#ifndef RF_TLS_TLS_INSIDE_H
#define RF_TLS_TLS_INSIDE_H

#include "http/span.h"
#include "http/transport.h"

struct ssl_ctx_st;
struct ssl_st;

/* A transport on `*fd` (takes it, also on failure), not yet told which side it is. */
int rf_tls_begin(struct ssl_ctx_st *context, int *fd, const char *name,
		 struct rf_transport *ret_transport, struct rf_err *err);

struct ssl_st *rf_tls_ssl(const struct rf_transport *transport);

/* The name that it was made for. */
const char *rf_tls_name(const struct ssl_st *ssl);

/* Bytes that come before those of the socket (copies). */
int rf_tls_first(struct rf_transport *transport, struct rf_span first);

/* It is a client's; which speaks HTTP/2 as well, or nothing else. */
void rf_tls_connects(struct rf_transport *transport, bool speaks_http2, bool is_http2_only);

#endif
