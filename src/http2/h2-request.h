/*
 * One request of HTTP/2, handed on as HTTP/1.1.  Internal to src/http2.
 */
#ifndef RF_HTTP2_H2_REQUEST_H
#define RF_HTTP2_H2_REQUEST_H

#include <nghttp2/nghttp2.h>

#include "http2/http2.h"

#define RF_ASK_IDLE 8 /* connections inside that wait for the next request */

struct rf_h2_request;

struct rf_http2 {
	const struct rf_http2_host *host;
	void *data;
	struct rf_stream stream;
	nghttp2_session *session;
	struct rf_deadline soon, idle, linger;
	struct rf_h2_request *asks; /* under way, for the client */
	struct rf_call_host inside; /* of the calls */
	struct rf_call *idle_calls;
	size_t idle_count, call_count; /* calls that wait; all that there are */
	size_t unframed;               /* bytes since the last whole frame */
	size_t moved;                  /* bytes that have not earned a frame yet */
	unsigned spare;                /* frames that may still come for nothing */
	unsigned fills;                /* left in this turn */
	bool is_open, is_running, is_ending, is_gone;
};

/* A request begins, and is one of the connection's.  NULL when memory is gone. */
struct rf_h2_request *rf_h2_request_new(struct rf_http2 *h, int32_t stream);

/* A field of its head, pseudo-fields first, or of its trailer, as nghttp2 has checked it (copies). */
void rf_h2_request_field(struct rf_h2_request *ask, struct rf_span name, struct rf_span value);

/* The head is whole: it is handed on, or refused.  What follows is its body, unless `is_all`. */
void rf_h2_request_begin(struct rf_h2_request *ask, bool is_all);
void rf_h2_request_send(struct rf_h2_request *ask, struct rf_span bytes);
void rf_h2_request_finish(struct rf_h2_request *ask);

/* The answer's body is sent: submits what follows it.  True if there is something, which ends the stream then. */
bool rf_h2_request_end(struct rf_h2_request *ask);

/* Bytes of the answer's body, for the client. */
size_t rf_h2_request_take(struct rf_h2_request *ask, void *bytes, size_t size, bool *ret_is_last,
			  bool *ret_is_cut);

/*
 * It is answered, and the client still sends: what comes is dropped from now on if it is known to be little; false if it is not.  And for the connection: resets those that
 * have had time; true if others have not.
 */
bool rf_h2_request_linger(struct rf_h2_request *ask);
bool rf_h2_request_end_lingering(struct rf_http2 *h);

/* The client wants no more of it: it is no longer the connection's. */
void rf_h2_request_drop(struct rf_h2_request *ask);

/* For the connection: its part of a call's host; the calls that wait; its memory, once no call needs it. */
void rf_h2_request_prepare(struct rf_http2 *h);
void rf_h2_request_close_idle(struct rf_http2 *h);
void rf_h2_request_release(struct rf_http2 *h);

/* What the connection does for its requests. */
void rf_http2_wake(struct rf_http2 *h);
void rf_http2_consume(struct rf_http2 *h, int32_t stream, size_t len);
int rf_http2_answer(struct rf_http2 *h, int32_t stream, const nghttp2_nv *fields, size_t count,
		    struct rf_h2_request *body);
void rf_http2_resume(struct rf_http2 *h, int32_t stream);
void rf_http2_reset(struct rf_http2 *h, int32_t stream, uint32_t code);

#endif
