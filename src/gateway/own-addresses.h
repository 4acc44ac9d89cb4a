/*
 * The addresses of this machine's interfaces.
 *
 * A public address may be this machine's own: its services are then reached past every firewall in
 * front of it, so the gateway dials it only where `network.hosts` leads there.
 */
#ifndef RF_GATEWAY_OWN_ADDRESSES_H
#define RF_GATEWAY_OWN_ADDRESSES_H

#include "http/address.h"

/* The list; read anew when it is older than some seconds. */
struct rf_own_addresses;

/* NULL when memory is gone. */
struct rf_own_addresses *rf_own_addresses_new(void);
void rf_own_addresses_free(struct rf_own_addresses *own);

/* True if it is one of this machine's, or if that can't be found out. */
bool rf_own_addresses_has(struct rf_own_addresses *own, const struct rf_address *addr,
			  uint64_t now_ns);

#endif
