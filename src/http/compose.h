/*
 * Writes heads and chunks of HTTP/1.1 that every reader reads alike.
 *
 * The counterpart of http1.h: what it writes, http1.h reads back as it was.  Whatever could make a second message of one (CR, LF, NUL and
 * all other control characters, a space in a target) is refused, and so are fields that say where the message ends or whom it is
 * for: those are written from values, once.  After a refusal further calls do nothing, and the end takes back what was written, so a caller
 * checks once.
 *
 *	struct rf_compose head;
 *
 *	rf_compose_response(&head, &out, 200, RF_SPAN("OK"));
 *	rf_compose_field(&head, RF_SPAN("Content-Type"), type);
 *	rf_compose_length(&head, body.len);
 *	if (rf_compose_end(&head)) ...
 */
#ifndef RF_HTTP_COMPOSE_H
#define RF_HTTP_COMPOSE_H

#include "base/buf.h"
#include "http/field.h"
#include "http/url.h"

struct rf_compose {
	struct rf_buf *out;
	size_t from; /* where the head begins in `out` */
	bool has_body;
	enum rf_fault fault;
};

/* Begins a head at the end of `out` (borrows).  A request is written with its Host field; port 0 is none. */
void rf_compose_request(struct rf_compose *head, struct rf_buf *out, struct rf_span method,
			struct rf_span target, const struct rf_authority *authority);
void rf_compose_response(struct rf_compose *head, struct rf_buf *out, unsigned status,
			 struct rf_span reason);

/* The value must be as it is read back: without white space at its ends. */
void rf_compose_field(struct rf_compose *head, struct rf_span name, struct rf_span value);

/* Where the body ends: one of these, at most once.  Neither: there is none, or it ends with the connection. */
void rf_compose_length(struct rf_compose *head, uint64_t length);
void rf_compose_chunked(struct rf_compose *head);

/* Ends the head.  On a fault, all of it is taken back from `out`; RF_FAULT_HEAD_LONG: `out` is full. */
enum rf_fault rf_compose_end(struct rf_compose *head);

/*
 * What stands around the data of a chunk of `len` bytes, at least 1; and what follows the last one.  The trailer must have none of the
 * fields that belong into a head; on a fault nothing is written.
 */
void rf_compose_chunk_begin(struct rf_buf *out, uint64_t len);
void rf_compose_chunk_end(struct rf_buf *out);
enum rf_fault rf_compose_last_chunk(struct rf_buf *out, struct rf_fields trailer);

/* The usual words for a status ("Not Found"); of an unknown one, of its class. */
struct rf_span rf_compose_reason(unsigned status);

#endif
