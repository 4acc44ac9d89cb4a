/*
 * Accepts connections, and answers what comes on them (exchange.h).
 *
 * Any number of sockets that listen: TCP, unix, or handed over by somebody else.  As many connections as it is told at a time; more wait in the
 * kernel's queue, and so do all when descriptors are used up.
 */
#ifndef RF_HTTP_HTTP_SERVER_H
#define RF_HTTP_HTTP_SERVER_H

#include "http/exchange.h"

struct rf_http_server;

/* Borrows all of it for as long as the server lives.  `most` connections at a time. */
int rf_http_server_new(struct rf_loop *loop, const struct rf_exchange_limits *limits, size_t most,
		       const struct rf_exchange_ops *ops, void *data,
		       struct rf_http_server **ret_server, struct rf_err *err);

/* Accepts on a socket that listens and does not block (takes `*fd`). */
int rf_http_server_listen(struct rf_http_server *server, int *fd, struct rf_err *err);

/* A connection that somebody else has accepted, and that does not block (takes `*fd`, also on failure). */
int rf_http_server_adopt(struct rf_http_server *server, int *fd, struct rf_err *err);

/* The same on a transport that somebody else has made of one (takes it, also on failure). */
int rf_http_server_serve(struct rf_http_server *server, struct rf_transport transport,
			 struct rf_err *err);

/*
 * Connections that are accepted from now on are given to `fn` (takes `*fd`, also on failure), who says hello in a way of its own before it has them
 * served.  Each that it has is to be counted, up and down, so that there are not too many.
 */
typedef int rf_http_server_fn(void *data, int *fd, struct rf_err *err);
void rf_http_server_divert(struct rf_http_server *server, rf_http_server_fn *fn, void *data);
void rf_http_server_count(struct rf_http_server *server, int change);

/* No more is accepted; what is there goes on. */
void rf_http_server_rest(struct rf_http_server *server);

/* How refusals of what is no request look: see struct rf_exchange_host. */
void rf_http_server_form(struct rf_http_server *server,
			 void (*put_refusal)(unsigned status, const char *words,
					     struct rf_buf *out));

size_t rf_http_server_connections(const struct rf_http_server *server);

/* Closes all sockets and connections. */
void rf_http_server_free(struct rf_http_server *server);

#endif
