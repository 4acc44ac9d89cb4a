/*
 * Where a message ends, and what becomes of the connection behind it.
 *
 * This is what request smuggling is about: two parties that see the end of a message at different places.  So
 * there is one rule for each case, and a message that two rules could be applied to is refused (RFC 9112, 6.3, without its
 * allowances).
 */
#ifndef RF_HTTP_FRAMING_H
#define RF_HTTP_FRAMING_H

#include "http/field.h"
#include "http/start-line.h"

enum rf_body {
	RF_BODY_NONE,
	RF_BODY_LENGTH,  /* as many bytes as Content-Length says */
	RF_BODY_CHUNKED, /* up to the last chunk and its trailer */
	RF_BODY_CLOSE,   /* up to the end of the connection; a response's only */
	RF_BODY_TUNNEL,  /* none, and what follows is another protocol's; a response's only */
};

struct rf_framing {
	enum rf_body body;
	uint64_t length; /* of RF_BODY_LENGTH; of an answer to HEAD, what a body would have, or 0 */
	bool is_kept;    /* the connection can carry another message when this one has ended */
	bool is_upgrade; /* asks for another protocol, or changes to it: see the Upgrade field */
	bool wants_continue; /* the sender waits for "100 Continue" before it sends the body */
};

/* What must be known of a request to read its answer. */
struct rf_framing_asked {
	bool is_head, is_connect, is_upgrade;
};

/*
 * Both look at all fields of a head.  The first also finds whom the request is for, by the target or the Host field, which must
 * agree: `*ret_authority`, with a host of length 0 where HTTP/1.0 named none, and with port 0 where none was named.
 */
enum rf_fault rf_framing_request(const struct rf_start_line *start, struct rf_fields fields,
				 struct rf_framing *ret_framing,
				 struct rf_authority *ret_authority);
enum rf_fault rf_framing_response(const struct rf_start_line *start, struct rf_fields fields,
				  const struct rf_framing_asked *asked,
				  struct rf_framing *ret_framing);

/* True for a field that a trailer must not have: it decides about framing, routing or who asks. */
bool rf_framing_is_head_only(struct rf_span name);

#endif
