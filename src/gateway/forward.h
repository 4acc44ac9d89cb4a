/*
 * HTTP from a box to a server: each request read, judged, and sent on in our own words; each answer likewise.
 *
 * It does not know how bytes are carried.  Who ended TLS gives a transport on which plain HTTP is read (rf_forward_serve()), and who begins it
 * makes one of a connection to the server (struct rf_transport_maker).
 *
 * Between reading and sending stand filters, which see every message: first to last on the way to the server, last to first on the way back.
 * A filter may change fields, the query and the body, or refuse.  Order and number are fixed when the box is opened.
 */
#ifndef RF_GATEWAY_FORWARD_H
#define RF_GATEWAY_FORWARD_H

#include "gateway/refusal.h"
#include "http/exchange.h"
#include "http/http-pool.h"
#include "policy/arena.h"

#define RF_FORWARD_FILTERS 4
#define RF_FORWARD_FIELDS                                                                          \
	120 /* of a message that is sent on: what may come, and what filters add */
#define RF_FORWARD_GATHER                                                                          \
	(16u * 1024 *                                                                              \
	 1024) /* bytes of a body that a filter may want to see before the head is sent */

struct rf_forward;
struct rf_outlet;
struct rf_gateway;

/* Where a request goes, as it was judged. */
struct rf_forward_place {
	struct rf_host host; /* the name that the box asked for, or an address */
	uint16_t port;
	bool is_tls;   /* towards the server, which has proved to be `host` */
	bool is_http2; /* what is asked can be carried by HTTP/2 alone */
};

/* A message's head, as it will be sent.  Spans are of memory that lives as long as the request does: `arena`'s, for what a filter writes. */
struct rf_forward_message {
	const struct rf_forward_place *place;
	struct rf_arena *arena;
	struct rf_span method; /* of the request, also while the answer is looked at */
	struct rf_span path;   /* the form that was judged (http/url-path.h) */
	struct rf_span query;  /* without its question mark */
	bool has_query;
	unsigned status; /* of an answer; 0: this is a request */
	/* None about the connection or the body's end, and no Host. */
	struct rf_field *fields;
	size_t count, room;
	enum rf_body body; /* RF_BODY_NONE, _LENGTH or _CHUNKED */
	uint64_t length;
	bool is_head_answer;     /* an answer to HEAD: its body is none, whatever its length says */
	struct rf_span gathered; /* the whole body, if a filter wanted it */
};

enum rf_forward_wish {
	RF_FORWARD_LEAVE,  /* the body passes by this filter */
	RF_FORWARD_SAME,   /* it goes through, and comes out as long as it was: the length holds */
	RF_FORWARD_CHANGE, /* it goes through, and its length is not known */
	RF_FORWARD_REFUSE, /* `ret_refusal` says why; an answer is replaced by it */
};

/* What a filter is.  `own` is one request's, NULL at first, for the filter to set; `data` the box's.  All may be NULL. */
struct rf_forward_filter {
	const char *name;
	/*
	 * A look at a request before anything is decided about it: at its head before the policy judges it, and once more when its body was gathered.
	 * RF_FORWARD_LEAVE or RF_FORWARD_REFUSE.
	 */
	enum rf_forward_wish (*on_sight)(void *data, struct rf_forward_message *request,
					 struct rf_refusal *ret_refusal);
	/* How much of the request's body is wanted before on_request(), at most; 0: none.  A longer body is refused (413). */
	size_t (*gathers)(void *data, void **own, const struct rf_forward_message *request);
	enum rf_forward_wish (*on_request)(void *data, void **own,
					   struct rf_forward_message *request,
					   struct rf_refusal *ret_refusal);
	enum rf_forward_wish (*on_answer)(void *data, void **own, struct rf_forward_message *answer,
					  struct rf_refusal *ret_refusal);
	/*
	 * A piece of a body, and whether it is the last (which may be empty).  One that is empty and not the last is told of an answer when
	 * nothing has come for a while: what need not be kept back is let go.  Appends to `out` what is to be sent, now or later.  A negative
	 * errno cuts the message.
	 */
	int (*on_request_body)(void *data, void **own, struct rf_span bytes, bool is_last,
			       struct rf_buf *out, struct rf_err *err);
	int (*on_answer_body)(void *data, void **own, struct rf_span bytes, bool is_last,
			      struct rf_buf *out, struct rf_err *err);
	/*
	 * Of a WebSocket: a piece of what the box sends, to be looked at (a negative errno ends the connection); and of what the server sends, of
	 * which as many bytes are appended to `out`, now or later, and all of them at a message's end.  Both may find `own` NULL: a control frame, which
	 * is no part of the message around it.
	 */
	int (*on_sent)(void *data, void **own, struct rf_forward_message *request,
		       struct rf_span bytes, struct rf_err *err);
	int (*on_heard)(void *data, void **own, struct rf_span bytes, bool is_end,
			struct rf_buf *out, struct rf_err *err);
	/* What follows a body: fields, which may be changed, or none of it passes and the message is cut.  `trailer->status` is 0: of a request. */
	enum rf_forward_wish (*on_trailer)(void *data, void **own,
					   struct rf_forward_message *trailer,
					   struct rf_refusal *ret_refusal);
	/* It is over: frees what is `own`.  Told for each request for which anything else was told. */
	void (*on_end)(void *data, void **own);
};

/* Adds a field, or gives its value anew; false when there is no room.  Borrows both, for as long as the message lives. */
bool rf_forward_put(struct rf_forward_message *message, struct rf_span name, struct rf_span value);
void rf_forward_remove(struct rf_forward_message *message, struct rf_span name);
struct rf_field *rf_forward_find(const struct rf_forward_message *message, struct rf_span name);

/*
 * Serves HTTP/1.1 on a connection of the box's (takes the transport, also on failure).  `place` is what the connection was made for: every
 * request on it must be for that host and port.  A place without a host (len 0) is an explicit proxy's: each request names its own.
 */
int rf_forward_serve(struct rf_outlet *outlet, struct rf_transport transport,
		     const struct rf_forward_place *place, struct rf_err *err);

/* The same for one request that was held before, and is to be sent now (custody.h); whatever comes behind it on this connection ends it. */
int rf_forward_serve_approved(struct rf_outlet *outlet, struct rf_transport transport,
			      const struct rf_forward_place *place, struct rf_err *err);

/* Closes all that is under way; it has told its end when outlet->forwards is empty, after some turns of the loop. */
void rf_forward_close(struct rf_outlet *outlet);

/* Nothing is under way any more in the whole process: frees memory that was kept for the next request. */
void rf_forward_free_spares(struct rf_gateway *gateway);

/* The policy has changed: cuts requests and tunnels that are under way and that it does not allow. */
void rf_forward_review(struct rf_outlet *outlet);

#endif
