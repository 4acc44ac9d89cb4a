/*
 * A connection to a server, from the wish for one to its close.
 *
 * On its way it passes the host's breaker, waits for its turn if the box has as many as it may, is resolved, and each address judged; only what was
 * judged is dialled.  It counts as one of the box's connections until it is closed.
 */
#ifndef RF_GATEWAY_WAY_H
#define RF_GATEWAY_WAY_H

#include "gateway/outlet.h"

struct rf_way;

/* It stands (`refusal` is NULL), or can't: the way is to be closed then as well. */
typedef void rf_way_fn(void *data, struct rf_way *way, const struct rf_refusal *refusal);

/* Begins (copies the place); `fn` is called from the loop, once, unless it is closed before. */
int rf_way_new(struct rf_outlet *outlet, const struct rf_forward_place *place, rf_way_fn *fn,
	       void *data, struct rf_way **ret_way, struct rf_err *err);
void rf_way_close(struct rf_way *way);

/* The connection, which the caller closes; the way is closed besides. */
int rf_way_take(struct rf_way *way);

/* A transport on it that closes the way with itself (takes the way): TLS if the place wants it.  Takes the way, also on failure. */
int rf_way_transport(struct rf_way *way, struct rf_transport *ret_transport, struct rf_err *err);

/* The address that was dialled, as text. */
const char *rf_way_address(const struct rf_way *way);

/* How it went, for the host's breaker; told once at most. */
void rf_way_record(struct rf_way *way, enum rf_breaker_outcome outcome);

/* Why `code` happened, as a refusal: 502 or 504. */
void rf_way_explain(const struct rf_forward_place *place, int code, const char *what,
		    struct rf_refusal *ret_refusal);

#endif
