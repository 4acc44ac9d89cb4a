/*
 * Addresses that a program behind a port names to its clients: Location and its kin.
 *
 * The program is not trusted, and its clients show an API key to this server.  A client that follows a redirect takes
 * the key along, so an address is passed on as one only where it surely leads to the same port of the same sandbox.  Such an
 * address is written anew as an absolute path beneath the port's prefix, in the one form of http/url-path.h: without
 * dot segments, which a client would resolve past the prefix ("../../run", "%2e%2e"), and without octets that browsers
 * read as something else (a backslash, a tab).  Pure.
 */
#ifndef RF_SERVER_PROXY_LOCATION_H
#define RF_SERVER_PROXY_LOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "http/url.h"
#include "policy/arena.h"

/* What an address is relative to. */
struct rf_proxy_location_base {
	const char *prefix;            /* "/v1/sandboxes/ID/ports/8080" */
	uint16_t port;                 /* of the program */
	struct rf_span target;         /* what was asked of the program: a path and a query */
	struct rf_authority authority; /* of this server, as the client names it; or no host */
};

/*
 * True where `place` leads to the port: then `*ret_path` is the absolute path that leads there through this server, in `memory`.
 * False for any other place, and where memory is gone (memory->has_failed).
 */
bool rf_proxy_location_read(const struct rf_proxy_location_base *base, struct rf_span place,
			    struct rf_arena *memory, struct rf_span *ret_path);

/* True if a Refresh field names no address: only seconds. */
bool rf_proxy_location_is_bare_refresh(struct rf_span refresh);

#endif
