/*
 * The way in where ports speak TLS: between a connection that was accepted and a request on it.
 *
 * Who connects says something first: a client of TLS gets a handshake, and then HTTP/1.1 or HTTP/2, as was agreed upon; one that speaks plain HTTP is told that
 * it is wrong here.  Until then it costs a descriptor and a deadline, and nothing else.  A request of HTTP/2 is handed on as one of HTTP/1.1 (http2.h), so there is one
 * place that reads, judges and answers requests.
 */
#ifndef RF_SERVER_AIRLOCK_H
#define RF_SERVER_AIRLOCK_H

#include "http/http-server.h"

struct rf_airlock;

/* For connections that `server` (borrows) accepts, from rf_airlock_secure() on. */
int rf_airlock_new(struct rf_loop *loop, struct rf_http_server *server,
		   struct rf_airlock **ret_airlock, struct rf_err *err);

/* Closes what is under way.  Accepts NULL. */
void rf_airlock_free(struct rf_airlock *airlock);

/* Who the ports are from now on, as PEM (borrows for the call alone; `clients` may be NULL).  Connections that are there go on.  On failure nothing has changed. */
int rf_airlock_secure(struct rf_airlock *airlock, const char *certificate, const char *key,
		      const char *clients, struct rf_err *err);

#endif
