/*
 * The API: one table of what can be asked, by whom, and who answers it.
 *
 * openapi.json tells the same to others; a test holds the two against each other.
 */
#ifndef RF_SERVER_ROUTE_H
#define RF_SERVER_ROUTE_H

#include <stddef.h>

#include "http/span.h"
#include "server/api-error.h"

struct rf_api_call;
struct rf_http1_head;

#define RF_ROUTE_PARTS 3
#define RF_ROUTE_PART  64 /* bytes of one, with a NUL */

/* The parts of a path that stand for something: {id}, {number}. */
struct rf_route_parts {
	char part[RF_ROUTE_PARTS][RF_ROUTE_PART];
	size_t count;
};

struct rf_route {
	const char *method;
	const char *path; /* "/v1/sandboxes/{id}" */
	unsigned scope;   /* enum rf_scope that it takes, any of them; 0: no key */
	size_t body;      /* bytes that it may bring; 0: none */
	const char
		*query; /* the parameters there are, each between commas: ",path,limit,"; or NULL */
	void (*serve)(struct rf_api_call *call);
	unsigned how; /* enum rf_route_how bits */
	/* Looks at the request's head while it is there; most need not. */
	void (*heed)(struct rf_api_call *call, const struct rf_http1_head *head);
};

enum rf_route_how {
	RF_ROUTE_ANY_TYPE = 1, /* its body need not be JSON */
	/* It is served before its body comes, which its handler is then told of as it comes (api-call.h); `body` is no limit then. */
	RF_ROUTE_STREAMED = 2,
	/* It is passed on to somebody else, with its head (transit.h): its path goes on behind the last part, and its query is not ours. */
	RF_ROUTE_RELAYED = 4,
	RF_ROUTE_NAMES = 8 /* its parts are names of agents, which may have . : @ + inside */
};

extern const struct rf_route rf_route_table[];
extern const size_t rf_route_count;

/* Finds who answers, and takes the path apart.  NULL, and the error: nobody does. */
const struct rf_route *rf_route_find(struct rf_span method, struct rf_span path,
				     struct rf_route_parts *ret_parts, struct rf_api_error *error);

#endif
