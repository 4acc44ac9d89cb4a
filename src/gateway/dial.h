/*
 * A connection to one of several addresses that were judged: whichever answers first.
 *
 * The next address is tried when one has failed, or after a while beside it, so that one that swallows everything costs a quarter of a second (RFC
 * 8305).  Nothing is resolved here, and nobody is dialled that was not in the list.
 */
#ifndef RF_GATEWAY_DIAL_H
#define RF_GATEWAY_DIAL_H

#include "http/address.h"
#include "http/deadline.h"

#define RF_DIAL_MOST 8 /* addresses that are tried */

struct rf_dial;

/* `fd` is the connection, to be closed by who is told, or a negative errno of the last that failed.  Behind this the dial is gone. */
typedef void rf_dial_fn(void *data, int fd, const struct rf_address *addr);

/* Tries `count` addresses of `list` (copies) for `timeout_ms` at most; `fn` is called from the loop, once. */
int rf_dial_new(struct rf_loop *loop, struct rf_deadlines *deadlines, const struct rf_address *list,
		size_t count, uint16_t port, uint64_t timeout_ms, rf_dial_fn *fn, void *data,
		struct rf_dial **ret_dial, struct rf_err *err);
void rf_dial_cancel(struct rf_dial *dial);

#endif
