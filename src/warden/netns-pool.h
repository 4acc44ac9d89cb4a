/*
 * Network namespaces that are made ahead, for boxes under `loopback: off` that root's warden builds while somebody waits.
 *
 * The kernel needs most of a millisecond to make one.  Each is given to one box and to no other: whoever shares a network
 * namespace sees the other's abstract names and counters in /proc/net, whatever sockets the filter refuses.  A box
 * that stands ready has one already (yard.h), and an ordinary user's box makes its own, because that must belong to
 * the box's first user namespace.
 */
#ifndef RF_WARDEN_NETNS_POOL_H
#define RF_WARDEN_NETNS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RF_NETNS_POOL_MOST 4

struct rf_netns_pool {
	int namespaces[RF_NETNS_POOL_MOST];
	size_t count,
		wanted; /* `wanted` is 0 until a box could have used one, and again a while after the last */
	uint64_t asked_ns;
};

/* Gives a fresh one (the caller's to close), or -1: then the box makes its own.  Keeps some ready from now on. */
int rf_netns_pool_take(struct rf_netns_pool *pool);

/* True if rf_netns_pool_tend() has one to make. */
bool rf_netns_pool_is_short(const struct rf_netns_pool *pool);

/* Makes one that is missing; closes all of them when nobody has asked for `keep_ns`. */
void rf_netns_pool_tend(struct rf_netns_pool *pool, uint64_t keep_ns);

void rf_netns_pool_done(struct rf_netns_pool *pool);

#endif
