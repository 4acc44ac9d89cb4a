/*
 * The gateway's process: one loop, and what all boxes have in common.
 *
 * Descriptors are counted for the whole process, so that no box can use up another's: each has its share at most, and one is kept in reserve to
 * answer when there is none left.
 */
#ifndef RF_GATEWAY_GATEWAY_H
#define RF_GATEWAY_GATEWAY_H

#include "gateway/own-addresses.h"
#include "gateway/relay.h"
#include "gateway/resolve.h"

struct rf_outlet;
struct rf_forward;

struct rf_gateway {
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	struct rf_resolve *resolve;
	struct rf_own_addresses *own;
	struct rf_relay_pipes *pipes;
	size_t files;              /* descriptors that this process may have */
	size_t boxes;              /* that share them */
	struct rf_forward *spares; /* memory of requests that are over, for the next ones */
	size_t spare_count;
};

int rf_gateway_init(struct rf_gateway *gateway, struct rf_err *err);
void rf_gateway_done(struct rf_gateway *gateway);

/* A random key. */
int rf_gateway_key(uint64_t ret_key[2], struct rf_err *err);

#endif
