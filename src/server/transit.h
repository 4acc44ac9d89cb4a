/*
 * What passes between a client and a program that serves HTTP on a port of a sandbox: the heads of both, read strictly and written anew.
 *
 * To the sandbox nothing goes that belongs to this connection or to this server: no key, no field about the connection, none that says through whom a request came; and none whose name has an
 * underscore, which programs take for a hyphen.  From it nothing comes that would hold for this server as a whole: cookies hold for the port's own path, what leads to the port leads through
 * here, and a page is in a browser's sandbox, an origin of its own, so that its scripts are nobody's here.  Pure.
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
	bool is_websocket;
};

/*
 * Reads a request's head.  `prefix` is where its path begins, and the rest is what is asked for inside; `hides_authorization`: that field is the server's own.  Gives `*ret_transit`, for
 * rf_transit_free(); or -1, and the error.
 */
int rf_transit_request(const struct rf_http1_head *head, const char *prefix, uint16_t port,
		       bool hides_authorization, bool is_websocket, struct rf_transit **ret_transit,
		       struct rf_api_error *error);
void rf_transit_free(struct rf_transit *transit);

/*
 * What of an answer's head is passed on: its fields, into `fields` (RF_TRANSIT_FIELDS of them), which are the transit's memory or the head's.  Gives their number, or -ENOMEM, or -E2BIG for too
 * many.
 */
int rf_transit_answer(struct rf_transit *transit, const struct rf_http1_head *head,
		      struct rf_field *fields);

#endif
