/*
 * One connection of a server, and the request on it that is being answered: one at a time, in order.
 *
 * A handler hears of a request's head, its body in pieces, and its end, and answers when it likes, at once or later, whole or in
 * pieces.  Both ways slow down when one side does: a handler that pauses is sent no more, and one that sends too much is asked to
 * wait.  Nothing is read of a next request while this one is answered.
 *
 * A message that breaks a rule is answered with the status that fits and the rule in words, and the connection closed, without the handler.  So
 * are a head and a body that do not come in time.  "100 Continue" is sent when the handler waits for the body.
 *
 * Each on_request() is followed by exactly one on_end(), and behind that the exchange is not the handler's any more.  Callbacks come from the
 * loop, never from within a call of the handler's.
 */
#ifndef RF_HTTP_EXCHANGE_H
#define RF_HTTP_EXCHANGE_H

#include "http/deadline.h"
#include "http/http1.h"
#include "http/stream.h"

#define RF_EXCHANGE_FIELDS 100 /* in a head */

struct rf_exchange;

/* What a handler is.  `own` is what rf_exchange_keep() was given, before that the host's data.  All but on_request may be NULL. */
struct rf_exchange_ops {
	/* The head holds until this returns. */
	void (*on_request)(void *data, struct rf_exchange *exchange,
			   const struct rf_http1_head *head);
	void (*on_body)(void *own, struct rf_exchange *exchange, struct rf_span bytes);
	void (*on_body_end)(void *own, struct rf_exchange *exchange, struct rf_fields trailer);
	/* rf_exchange_send() may be called again. */
	void (*on_room)(void *own, struct rf_exchange *exchange);
	/* It is over: answered as a whole, or not. */
	void (*on_end)(void *own, struct rf_exchange *exchange, bool is_whole);
};

/* Milliseconds; 0 is no limit. */
struct rf_exchange_limits {
	struct rf_http1_limits http;
	uint32_t
		head_ms; /* from a head's first byte to its last, and from the connection to the first head's */
	uint32_t idle_ms;  /* without a request */
	uint32_t stall_ms; /* in which the client neither sends nor takes what it should */
	uint32_t total_ms; /* from a head to the end of its answer */
	uint32_t
		out_bytes; /* of an answer that wait for the client; above, the handler is asked to wait */
	uint64_t drain_bytes; /* of a body that are read though it is answered already */
	bool heeds_client; /* who closes its side before it is answered does not want the answer */
};

extern const struct rf_exchange_limits rf_exchange_usual;

/* What the connections of one server have in common (borrows all). */
struct rf_exchange_host {
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	const struct rf_exchange_limits *limits;
	const struct rf_exchange_ops *ops;
	void *data;
	void (*on_closed)(struct rf_exchange_host *host); /* a connection is gone; may be NULL */
	/* Something was answered that no handler heard of: it is no request, or did not come in time.  May be NULL. */
	void (*on_refused)(struct rf_exchange_host *host, unsigned status, const char *words);
	/* Writes what is answered to what no handler heard of, as JSON; NULL: its words as plain text. */
	void (*put_refusal)(unsigned status, const char *words, struct rf_buf *out);
	void *server; /* whose host this is */
	struct rf_exchange *first;
	size_t count;
};

/* A connection that was accepted.  Takes the transport, also on failure.  It lives until it is closed. */
int rf_exchange_new(struct rf_exchange_host *host, struct rf_transport transport,
		    struct rf_err *err);

/* Closes all connections of a host; on_end() is called for what was not over. */
void rf_exchange_close_all(struct rf_exchange_host *host);

/* What the callbacks of this exchange, `x`, are given from now on. */
void rf_exchange_keep(struct rf_exchange *x, void *own);

/*
 * Begins the answer.  `body` is RF_BODY_NONE, RF_BODY_LENGTH with its length, or RF_BODY_CHUNKED for one whose length is not known.  An answer to HEAD
 * is the same, and its body is swallowed.  `fields` must have none about the connection or the body's end: a fault is returned, and nothing has
 * begun.
 */
enum rf_fault rf_exchange_answer(struct rf_exchange *x, unsigned status, struct rf_fields fields,
				 enum rf_body body, uint64_t length);

/*
 * Sends a piece of the body (copies).  0, or 1: wait for on_room() before the next.  -EMSGSIZE for more than was announced, -EPROTO
 * without an answer begun, -ENOBUFS for what was sent without waiting; the exchange is then cut.
 */
int rf_exchange_send(struct rf_exchange *x, struct rf_span bytes);

/*
 * Sends what lies in a pipe that does not block (borrows), `most` bytes at most, and without copying them where the connection is plain and they are
 * many.  How many it were; 0 at the pipe's end; -EAGAIN if it is empty; -EBUSY if on_room() has to be waited for, as it has to behind a call with
 * `*ret_is_full`: until then the pipe is ours, and what was told as sent may still lie there.  Else as rf_exchange_send().
 */
ssize_t rf_exchange_send_pipe(struct rf_exchange *x, int pipe, size_t most, bool *ret_is_full);

/* Ends the answer.  The trailer goes with RF_BODY_CHUNKED only.  An answer that is too short is cut: -EMSGSIZE. */
int rf_exchange_finish(struct rf_exchange *x, struct rf_fields trailer);

/* A whole answer of a few bytes. */
enum rf_fault rf_exchange_reply(struct rf_exchange *x, unsigned status, struct rf_span type,
				struct rf_span body);

/* Whether on_body() is to wait. */
void rf_exchange_pause(struct rf_exchange *x, bool is_paused);

/* Cuts the connection so that the client sees it. */
void rf_exchange_abort(struct rf_exchange *x);

/*
 * Answers a CONNECT with 200, or a request that asked for an upgrade with 101 to `protocol`, and gives the connection to the caller: its bytes so far
 * are the stream's input, and the answer waits in its output.  `fn` is then told of it.  The exchange ends.  -EPROTO if none was asked for, or a
 * field is wrong.
 */
int rf_exchange_take(struct rf_exchange *x, struct rf_span protocol, struct rf_fields fields,
		     struct rf_stream *ret_stream, rf_event_fn *fn, void *data, struct rf_err *err);

#endif
