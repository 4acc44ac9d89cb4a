/*
 * A question to the warden about kept boxes, on the loop: asked on a connection of its own, answered once or not in time.
 */
#ifndef RF_SERVER_QUERY_H
#define RF_SERVER_QUERY_H

#include "base/err.h"
#include "base/loop.h"
#include "wire/wire.h"

struct ringfort;
struct rf_query;

/* The answer (its body holds until this returns), or NULL and why there is none.  The question is over then. */
typedef void rf_query_fn(void *data, const struct rf_wire_message *answer,
			 const struct rf_err *why);

/* Asks: `type` is LIST, FREEZE, THAW, RENEW, CLOSE or HAND, of the box `id` ("": all).  Gives `*ret_query`. */
int rf_query_ask(struct rf_loop *loop, struct ringfort *fort, enum rf_wire_type type,
		 const char *id, uint64_t time_ms, rf_query_fn *fn, void *data,
		 struct rf_query **ret_query, struct rf_err *err);

/*
 * The same of a gateway, on a hand on a box's network (takes `*fd`): `type` is GATE_SHOW, GATE_CHANGE, GATE_CHANGE_WHOLE or GATE_LOG, with its body (borrows).
 */
int rf_query_ask_gateway(struct rf_loop *loop, int *fd, enum rf_wire_type type, const void *body,
			 size_t len, rf_query_fn *fn, void *data, struct rf_query **ret_query,
			 struct rf_err *err);

/* Asks for a connection to a port inside: the answer is REACHED, whose socket is to be copied. */
int rf_query_reach(struct rf_loop *loop, struct ringfort *fort, const char *id, uint16_t port,
		   rf_query_fn *fn, void *data, struct rf_query **ret_query, struct rf_err *err);

/*
 * Has a box stand still for as long as a connection lasts, which is given to `*ret_fd` before `fn` hears of it; or, with `ret_fd` NULL, go on if it is for such a one
 * that it stands still.
 */
int rf_query_still(struct rf_loop *loop, struct ringfort *fort, const char *id, int *ret_fd,
		   rf_query_fn *fn, void *data, struct rf_query **ret_query, struct rf_err *err);

/* Nobody wants to know any more.  Accepts NULL. */
void rf_query_drop(struct rf_query *query);

#endif
