/*
 * Names to addresses, outside the box: what /etc/hosts and the machine's name servers say.
 *
 * On the loop, by c-ares.  What was answered is kept for as long as it said, within bounds, and for all boxes alike; a name that is asked for by many
 * at a time is asked for once.  What an address may be used for is not decided here.
 */
#ifndef RF_GATEWAY_RESOLVE_H
#define RF_GATEWAY_RESOLVE_H

#include "http/address.h"
#include "http/deadline.h"

#define RF_RESOLVE_MOST 16 /* addresses of one name that are looked at */

struct rf_resolve;
struct rf_resolve_query;

struct rf_resolve_answer {
	int code;        /* 0, -ENOENT: there is no such name, or why it is not known */
	const char *why; /* in words, if it is not 0 */
	size_t count;
	struct rf_address list[RF_RESOLVE_MOST];
};

/* The answer is borrowed.  Behind this the query is gone. */
typedef void rf_resolve_fn(void *data, const struct rf_resolve_answer *answer);

int rf_resolve_new(struct rf_loop *loop, struct rf_deadlines *deadlines,
		   struct rf_resolve **ret_resolve, struct rf_err *err);

/* All queries are cancelled before. */
void rf_resolve_free(struct rf_resolve *resolve);

/* Asks for a name; `fn` is called from the loop, once. */
int rf_resolve_ask(struct rf_resolve *resolve, const char *name, rf_resolve_fn *fn, void *data,
		   struct rf_resolve_query **ret_query, struct rf_err *err);
void rf_resolve_cancel(struct rf_resolve_query *query);

#endif
