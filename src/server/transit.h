/*
 * What passes between a client and a program that serves HTTP on a port of a sandbox: the heads of both, read strictly and written anew.
 *
 * To the sandbox nothing goes that belongs to this connection or to this server: no key, no field about the connection, none that says through whom a request came; and none whose name has an
 * underscore, which programs take for a hyphen.  From it nothing comes that would hold for this server as a whole: cookies hold for the port's own path, what leads to the port leads through
 * here, what leads elsewhere is no redirect for a client with a key, which would take it along (proxy-location.h), and a page is in a browser's sandbox, an origin of its own, so that its scripts are nobody's here.  Pure.
 */
#ifndef RF_SERVER_TRANSIT_H
#define RF_SERVER_TRANSIT_H

#include <stdbool.h>

#include "http/http1.h"
#include "policy/arena.h"
#include "server/api-error.h"

#define RF_TRANSIT_FIELDS 110

/* What the other end is to make of a page's scripts: nothing that is this server's. */
#define RF_TRANSIT_SANDBOX                                                                         \
	"sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads"

/* A request, kept until it can be sent; all of it lies in its arena. */
struct rf_transit {
	struct rf_arena *memory;
	char *prefix; /* "/v1/sandboxes/ID/ports/8080" */
	uint16_t port;
	struct rf_span method, target;
	struct rf_field fields[RF_TRANSIT_FIELDS];
	size_t count;
	enum rf_body body;
	uint64_t length;
	struct rf_authority authority; /* of this server, as the client names it */
	bool is_websocket;
	bool has_key; /* the client shows one: what it follows must not lead away from the port */
};

/* Where an address goes that a client with a key must not follow. */
#define RF_TRANSIT_LOCATION "X-Ringfort-Location"

/* What of a request's head is the server's own. */
struct rf_transit_key {
	bool is_shown;         /* the request carries a key, in whatever field */
	bool is_authorization; /* in Authorization, which is not passed on then */
};

/*
 * Reads a request's head.  `prefix` is where its path begins, and the rest is what is asked for inside; `key`: how the client shows who it is.  Gives `*ret_transit`, for
 * rf_transit_free(); or -1, and the error.
 */
int rf_transit_request(const struct rf_http1_head *head, const char *prefix, uint16_t port,
		       struct rf_transit_key key, bool is_websocket,
		       struct rf_transit **ret_transit, struct rf_api_error *error);
void rf_transit_free(struct rf_transit *transit);

/*
 * What of an answer's head is passed on: its fields, into `fields` (RF_TRANSIT_FIELDS of them), which are the transit's memory or the head's.  Gives their number, or -ENOMEM, or -E2BIG for too
 * many.
 */
int rf_transit_answer(struct rf_transit *transit, const struct rf_http1_head *head,
		      struct rf_field *fields);

#endif
