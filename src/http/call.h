/*
 * One connection of a client, and the request on it that is under way: one at a time.
 *
 * The counterpart of exchange.h.  The caller hears of the answer's head, its body in pieces, and its end; the request's body goes whole or in
 * pieces; both ways slow down when one side does.  An answer that breaks a rule is a failure, and what came of it before is all there
 * is.  Interim answers (1xx) are passed over.  An answer that comes before the request is sent is taken, and the rest not sent.
 *
 * Each rf_call_begin() that worked is followed by exactly one on_end(), and behind that the call is not the caller's any more.  Callbacks come from the
 * loop, never from within a call of the caller's.  Calls are made by a pool (http-pool.h).
 */
#ifndef RF_HTTP_CALL_H
#define RF_HTTP_CALL_H

#include <sys/socket.h>

#include "http/deadline.h"
#include "http/host.h"
#include "http/http1.h"
#include "http/stream.h"

#define RF_CALL_FIELDS 100 /* in a head */

struct rf_call;

/* All may be NULL but on_end. */
struct rf_call_ops {
	/* The head holds until this returns.  A tunnel's (framing.body) is to be taken here, with rf_call_take(). */
	void (*on_answer)(void *own, struct rf_call *call, const struct rf_http1_head *head);
	void (*on_body)(void *own, struct rf_call *call, struct rf_span bytes);
	/* The body is whole, and its trailer, which holds until this returns. */
	void (*on_body_end)(void *own, struct rf_call *call, struct rf_fields trailer);
	/* rf_call_send() may be called again. */
	void (*on_room)(void *own, struct rf_call *call);
	/* `err` is NULL if the answer is whole. */
	void (*on_end)(void *own, struct rf_call *call, const struct rf_err *err);
};

/* Milliseconds; 0 is no limit. */
struct rf_call_limits {
	struct rf_http1_limits http;
	uint32_t connect_ms;
	uint32_t answer_ms; /* from the request's last byte to the end of the answer's head */
	uint32_t stall_ms;  /* in which the server neither sends nor takes what it should */
	uint32_t total_ms;  /* from the beginning to the end of the answer */
	uint32_t
		out_bytes; /* of a request that wait for the server; above, the caller is asked to wait */
};

extern const struct rf_call_limits rf_call_usual;

/* Where to connect to: an address that somebody resolved, and judged; and how. */
struct rf_call_origin {
	struct sockaddr_storage address;
	socklen_t len;
	const struct rf_transport_maker
		*maker; /* NULL: as it is; else it lives as long as the pool (borrows) */
	char name[RF_HOST_TEXT + 1]; /* whom the other end must prove to be, for the maker */
	void *tag;                   /* a pool's own, or NULL */
};

struct rf_call_request {
	struct rf_span method, target;
	const struct rf_authority *authority; /* the Host field */
	struct rf_fields fields;              /* none about the connection or the body's end */
	enum rf_body body;                    /* RF_BODY_NONE, _LENGTH or _CHUNKED */
	uint64_t length;
	struct rf_span upgrade; /* the protocol that is asked for, or nothing */
	bool wants_trailers;    /* says so: some servers send none else */
};

/* What the calls of one pool have in common (borrows all). */
struct rf_call_host {
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	const struct rf_call_limits *limits;
	/* The connection can carry another request.  True: the host keeps it; false: it is closed. */
	bool (*on_idle)(struct rf_call_host *host, struct rf_call *call);
	/* A connection that was idle or under way is gone. */
	void (*on_gone)(struct rf_call_host *host, struct rf_call *call);
	void *pool;
};

/* Begins to connect.  The call is idle, and closed with rf_call_close() unless it is begun. */
int rf_call_new(struct rf_call_host *host, const struct rf_call_origin *origin,
		struct rf_call **ret_call, struct rf_err *err);
void rf_call_close(struct rf_call *c);

/* The same on a connection that somebody else has made (takes the transport, also on failure).  `origin` is kept for the pool. */
int rf_call_new_on(struct rf_call_host *host, const struct rf_call_origin *origin,
		   struct rf_transport transport, struct rf_call **ret_call, struct rf_err *err);

/* Sends a request on a call that is idle.  On failure it is idle still. */
int rf_call_begin(struct rf_call *c, const struct rf_call_request *request,
		  const struct rf_call_ops *ops, void *own, struct rf_err *err);

/* As rf_exchange_send() and rf_exchange_finish() do.  A request without a body is finished already. */
int rf_call_send(struct rf_call *c, struct rf_span bytes);
int rf_call_finish(struct rf_call *c, struct rf_fields trailer);

/* Whether on_body() is to wait. */
void rf_call_pause(struct rf_call *c, bool is_paused);

/* Gives up: on_end() comes with -ECANCELED. */
void rf_call_abort(struct rf_call *c);

/*
 * True if the connection had been kept from an earlier call and ended before anything was answered: most often the server had closed it already, and
 * a request that does no harm when it is done twice can be sent again.
 */
bool rf_call_is_stale(const struct rf_call *c);

/* Gives a tunnel's connection to the caller, with the bytes that came behind the head.  The call ends well. */
int rf_call_take(struct rf_call *c, struct rf_stream *ret_stream, rf_event_fn *fn, void *data,
		 struct rf_err *err);

/* For a pool: where it is connected to, and a list to be in while it is idle. */
const struct rf_call_origin *rf_call_origin(const struct rf_call *c);
struct rf_call **rf_call_next(struct rf_call *c);

/* For a pool: an idle call is closed at this time, or before if the server does. */
void rf_call_idle_until(struct rf_call *c, uint64_t at_ns);

#endif
