/* Reads HTTP/1.0 and HTTP/1.1: see http1.h. */
#include "http/http1.h"

#include <errno.h>

#define KIB 1024

const struct rf_http1_limits rf_http1_usual = {
	.head = { .first_bytes = 16 * KIB, .line_bytes = 16 * KIB, .all_bytes = 64 * KIB },
	.trailer = { .first_bytes = 4 * KIB, .line_bytes = 4 * KIB, .all_bytes = 8 * KIB },
	.body = { .line_bytes = 256, .extension_bytes = 16 * KIB, .body_bytes = UINT64_MAX },
};

/* What the next bytes are. */
enum rf_http1_state {
	IN_HEAD,    /* lines: all of them, or none are used */
	IN_LENGTH,  /* data, until `left` is 0 */
	IN_CHUNKS,  /* data and sizes */
	IN_TRAILER, /* lines */
	IN_REST,    /* data, until the connection ends */
	AT_END,     /* nobody's yet: the message has ended */
	BAD,
	STATES
};

typedef enum rf_http1_event step_fn(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used);

void rf_http1_init(struct rf_http1 *http, const struct rf_http1_limits *limits,
		   struct rf_field *fields, size_t room)
{
	*http = (struct rf_http1){
		.state = AT_END,
		.limits = limits,
		.fields = fields,
		.room = room,
	};
}

static void begin(struct rf_http1 *http)
{
	if (http->state == BAD)
		return;
	http->state = IN_HEAD;
	http->lines = (struct rf_head_block){ 0 };
	http->trailer = (struct rf_fields){ 0 };
	http->data = (struct rf_span){ 0 };
}

void rf_http1_begin_request(struct rf_http1 *http)
{
	http->is_response = false;
	begin(http);
}

void rf_http1_begin_response(struct rf_http1 *http, const struct rf_framing_asked *asked)
{
	http->is_response = true;
	http->asked = *asked;
	begin(http);
}

static enum rf_http1_event fail(struct rf_http1 *http, enum rf_fault fault, unsigned line)
{
	http->state = BAD;
	http->fault = fault;
	http->fault_line = line;
	return RF_HTTP1_BAD;
}

/* --- heads and trailers --- */

/* Reads the lines of a block as fields.  `line` is the number of the first, from 1. */
static enum rf_http1_event take_fields(struct rf_http1 *http, struct rf_span block, unsigned line,
				       struct rf_fields *ret_fields)
{
	struct rf_span text;
	enum rf_fault fault;
	size_t count = 0;

	for (; rf_head_block_next(&block, &text); line++) {
		if (count == http->room)
			return fail(http, RF_FAULT_FIELD_COUNT, line);
		fault = rf_field_parse(text, &http->fields[count++]);
		if (fault)
			return fail(http, fault, line);
	}
	*ret_fields = (struct rf_fields){ http->fields, count };
	return RF_HTTP1_MORE;
}

/* Where the body is, and what is next. */
static enum rf_http1_event enter_body(struct rf_http1 *http)
{
	static const int next[] = {
		[RF_BODY_NONE] = AT_END,       [RF_BODY_LENGTH] = IN_LENGTH,
		[RF_BODY_CHUNKED] = IN_CHUNKS, [RF_BODY_CLOSE] = IN_REST,
		[RF_BODY_TUNNEL] = AT_END,
	};
	const struct rf_framing *framing = &http->head.framing;

	if (framing->body == RF_BODY_LENGTH && framing->length > http->limits->body.body_bytes)
		return fail(http, RF_FAULT_BODY_LONG, 0);
	http->left = framing->length;
	http->total = 0;
	http->chunked = (struct rf_chunked){ 0 };
	http->state = next[framing->body];
	return RF_HTTP1_HEAD;
}

static enum rf_http1_event parse_head(struct rf_http1 *http, struct rf_span block)
{
	struct rf_http1_head *head = &http->head;
	struct rf_span line;
	enum rf_fault fault;

	if (!rf_head_block_next(&block, &line))
		return fail(http, RF_FAULT_START_EMPTY, 1);
	fault = http->is_response ? rf_start_line_response(line, &head->start)
				  : rf_start_line_request(line, &head->start);
	if (fault)
		return fail(http, fault, 1);
	if (take_fields(http, block, 2, &head->fields) == RF_HTTP1_BAD)
		return RF_HTTP1_BAD;
	fault = http->is_response ? rf_framing_response(&head->start, head->fields, &http->asked,
							&head->framing)
				  : rf_framing_request(&head->start, head->fields, &head->framing,
						       &head->authority);
	return fault ? fail(http, fault, 0) : enter_body(http);
}

static enum rf_http1_event in_head(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used)
{
	switch (rf_head_block_look(&http->lines, &http->limits->head, bytes)) {
	case RF_HEAD_BLOCK_MORE:
		return RF_HTTP1_MORE;
	case RF_HEAD_BLOCK_BAD:
		return fail(http, http->lines.fault, http->lines.line + 1);
	case RF_HEAD_BLOCK_WHOLE:
		break;
	}
	*ret_used = http->lines.seen;
	return parse_head(http, rf_span_part(bytes, 0, http->lines.seen));
}

static enum rf_http1_event in_trailer(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used)
{
	switch (rf_head_block_look(&http->lines, &http->limits->trailer, bytes)) {
	case RF_HEAD_BLOCK_MORE:
		return RF_HTTP1_MORE;
	case RF_HEAD_BLOCK_BAD:
		return fail(http,
			    rf_fault_status(http->lines.fault) == 400 ? http->lines.fault
								      : RF_FAULT_TRAILER_LONG,
			    http->lines.line + 1);
	case RF_HEAD_BLOCK_WHOLE:
		break;
	}
	if (take_fields(http, rf_span_part(bytes, 0, http->lines.seen), 1, &http->trailer) ==
	    RF_HTTP1_BAD)
		return RF_HTTP1_BAD;
	for (size_t i = 0; i < http->trailer.count; i++)
		if (rf_framing_is_head_only(http->trailer.at[i].name))
			return fail(http, RF_FAULT_TRAILER_NAME, (unsigned)i + 1);
	*ret_used = http->lines.seen;
	http->state = AT_END;
	return RF_HTTP1_END;
}

/* --- bodies --- */

static enum rf_http1_event give_data(struct rf_http1 *http, struct rf_span bytes, uint64_t most,
				     size_t *ret_used)
{
	http->data = rf_span_part(bytes, 0, most < bytes.len ? (size_t)most : bytes.len);
	*ret_used = http->data.len;
	return http->data.len > 0 ? RF_HTTP1_DATA : RF_HTTP1_MORE;
}

static enum rf_http1_event in_length(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used)
{
	enum rf_http1_event event = give_data(http, bytes, http->left, ret_used);

	http->left -= http->data.len;
	if (http->left == 0)
		http->state = AT_END;
	return event;
}

static enum rf_http1_event in_chunks(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used)
{
	switch (rf_chunked_next(&http->chunked, &http->limits->body, bytes, ret_used,
				&http->data)) {
	case RF_CHUNKED_MORE:
		return RF_HTTP1_MORE;
	case RF_CHUNKED_DATA:
		return RF_HTTP1_DATA;
	case RF_CHUNKED_LAST:
		http->lines = (struct rf_head_block){ 0 };
		http->state = IN_TRAILER;
		return RF_HTTP1_MORE; /* of a kind: rf_http1_next() goes on */
	case RF_CHUNKED_BAD:
		break;
	}
	return fail(http, http->chunked.fault, 0);
}

static enum rf_http1_event in_rest(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used)
{
	uint64_t most = http->limits->body.body_bytes - http->total;

	if (most == 0 && bytes.len > 0)
		return fail(http, RF_FAULT_BODY_LONG, 0);
	http->total += most < bytes.len ? most : bytes.len;
	return give_data(http, bytes, most, ret_used);
}

static enum rf_http1_event at_end(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used)
{
	return RF_HTTP1_END;
}

static enum rf_http1_event in_bad(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used)
{
	return RF_HTTP1_BAD;
}

/* --- the machine --- */

static step_fn *const steps[STATES] = {
	[IN_HEAD] = in_head,     [IN_LENGTH] = in_length,
	[IN_CHUNKS] = in_chunks, [IN_TRAILER] = in_trailer,
	[IN_REST] = in_rest,     [AT_END] = at_end,
	[BAD] = in_bad,
};

enum rf_http1_event rf_http1_next(struct rf_http1 *http, struct rf_span bytes, size_t *ret_used)
{
	enum rf_http1_event event;
	size_t used = 0;
	int state;

	do {
		size_t step = 0;

		state = http->state;
		event = steps[state](http, rf_span_part(bytes, used, bytes.len), &step);
		used += step;
	} while (event == RF_HTTP1_MORE && http->state != state);
	*ret_used = used;
	return event;
}

enum rf_http1_event rf_http1_finish(struct rf_http1 *http, bool has_rest)
{
	switch ((enum rf_http1_state)http->state) {
	case IN_HEAD:
		return has_rest ? fail(http, RF_FAULT_CUT, 0) : RF_HTTP1_MORE;
	case IN_REST:
		http->state = AT_END;
		return RF_HTTP1_END;
	case AT_END:
		return RF_HTTP1_END;
	case BAD:
		return RF_HTTP1_BAD;
	case IN_LENGTH:
	case IN_CHUNKS:
	case IN_TRAILER:
	case STATES:
		break;
	}
	return fail(http, RF_FAULT_CUT, 0);
}

int rf_http1_explain(const struct rf_http1 *http, struct rf_err *err)
{
	rf_fail_say(err, -EPROTO, "%s", rf_fault_words(http->fault));
	err->line = (int)http->fault_line;
	return err->code;
}
