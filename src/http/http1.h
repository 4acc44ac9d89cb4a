/*
 * Reads HTTP/1.0 and HTTP/1.1, one message after the other, strictly.
 *
 * No input or output, no memory of its own, and no clock: bytes go in as they come, and events come out.  How the bytes
 * are cut makes no difference to the events (but for where a body's data is cut).  A message that is not exactly as RFC 9112 has it is refused; nothing
 * is repaired, since two parties that repair differently see two messages.  docs/internals/http.md lists the rules.
 *
 *	rf_http1_init(); rf_http1_begin_request();
 *	for (;;) switch (rf_http1_next(&http, bytes, &used)) {
 *	case RF_HTTP1_MORE: drop `used` bytes, keep the rest, read more; at the end of input rf_http1_finish()
 *	case RF_HTTP1_HEAD: look at http.head, drop `used` bytes
 *	case RF_HTTP1_DATA: look at http.data, drop `used` bytes
 *	case RF_HTTP1_END:  look at http.trailer, drop `used` bytes; begin again, unless it is not kept
 *	case RF_HTTP1_BAD:  answer with rf_fault_status(http.fault), and close
 *	}
 */
#ifndef RF_HTTP_HTTP1_H
#define RF_HTTP_HTTP1_H

#include "base/err.h"
#include "http/chunked.h"
#include "http/framing.h"
#include "http/head-block.h"

struct rf_http1_limits {
	struct rf_head_block_limits head;
	struct rf_head_block_limits trailer;
	struct rf_chunked_limits body; /* body_bytes holds for every kind of body */
};

/* Heads of 64 KiB with lines of 16, trailers of 8, and bodies without end. */
extern const struct rf_http1_limits rf_http1_usual;

enum rf_http1_event {
	RF_HTTP1_MORE,
	RF_HTTP1_HEAD,
	RF_HTTP1_DATA,
	RF_HTTP1_END,
	RF_HTTP1_BAD
};

/* A head.  Its spans are of the bytes that were given, and its fields hold until the next call. */
struct rf_http1_head {
	struct rf_start_line start;
	struct rf_fields fields;
	struct rf_framing framing;
	struct rf_authority authority; /* whom a request is for: see framing.h */
};

struct rf_http1 {
	/* What the last event was about: */
	struct rf_http1_head head;
	struct rf_span data;
	struct rf_fields trailer;
	enum rf_fault fault;
	unsigned fault_line; /* of the head or trailer, from 1; 0: in no line */
	/* The reader's own: */
	int state; /* enum rf_http1_state, in http1.c */
	bool is_response;
	struct rf_framing_asked asked;
	const struct rf_http1_limits *limits;
	struct rf_field *fields;
	size_t room;
	struct rf_head_block lines;
	struct rf_chunked chunked;
	uint64_t left;  /* of a body with a length */
	uint64_t total; /* of a body up to the end of the connection */
};

/* Borrows the limits, and `room` fields to keep a head's or a trailer's in: as many as it may have. */
void rf_http1_init(struct rf_http1 *http, const struct rf_http1_limits *limits,
		   struct rf_field *fields, size_t room);

/* Before each message.  An interim response (1xx) is a message: begin again with the same `asked`. */
void rf_http1_begin_request(struct rf_http1 *http);
void rf_http1_begin_response(struct rf_http1 *http, const struct rf_framing_asked *asked);

/*
 * Reads on in `bytes` (borrows), which begin behind those that were used so far.  Gives how many more are used: while a head or a
 * trailer is not whole, none of it.  Behind RF_HTTP1_END nothing is used until the next message has begun: where it is not kept,
 * or is a tunnel, there is none, and the rest is not HTTP.
 */
enum rf_http1_event rf_http1_next(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used);

/*
 * The input has ended, and `has_rest` says whether bytes are left that were not used.  RF_HTTP1_END: a body up to the end of the connection is
 * whole, or was before; RF_HTTP1_MORE: no message had begun; RF_HTTP1_BAD: it was cut.
 */
enum rf_http1_event rf_http1_finish(struct rf_http1 *http, bool has_rest);

/* Tells the fault: words, and the line.  Returns -EPROTO. */
int rf_http1_explain(const struct rf_http1 *http, struct rf_err *err);

#endif
