/*
 * Calls of a client, on connections that are kept for the next call to the same place.
 *
 * Two calls share a connection only if they go to the same address, by the same means and under the same name; one that waits is closed after a while, or when there are too many, the one that
 * waited longest first, or when the server closes it or speaks unasked.
 */
#ifndef RF_HTTP_HTTP_POOL_H
#define RF_HTTP_HTTP_POOL_H

#include "http/call.h"

struct rf_http_pool;

struct rf_http_pool_limits {
	size_t most_idle;        /* connections that wait */
	size_t most_idle_origin; /* of those, to one address */
	uint32_t idle_ms;        /* how long one waits */
};

/* Borrows all limits for as long as the pool lives. */
int rf_http_pool_new(struct rf_loop *loop, const struct rf_call_limits *limits,
		     const struct rf_http_pool_limits *pool_limits, struct rf_http_pool **ret_pool,
		     struct rf_err *err);

/* All calls have ended.  Closes what waits. */
void rf_http_pool_free(struct rf_http_pool *pool);

/* Begins a call (copies the request).  On failure there is none. */
int rf_http_pool_call(struct rf_http_pool *pool, const struct rf_call_origin *origin,
		      const struct rf_call_request *request, const struct rf_call_ops *ops,
		      void *own, struct rf_call **ret_call, struct rf_err *err);

size_t rf_http_pool_idle(const struct rf_http_pool *pool);

#endif
