/*
 * One request of HTTP/2, handed on as HTTP/1.1: see h2-request.h.
 *
 * An ask has two owners: the client's stream, until that is closed, and the call inside, until that has ended; it is freed when both have let go.
 */
#include "http2/h2-request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/url.h"

#define ANSWER_MAX   (512 * 1024) /* bytes of an answer's body that are kept */
#define ANSWER_FULL  (128 * 1024) /* above, its server is asked to wait */
#define TRAILER_MAX  (16 * 1024)
#define DROPPED_MOST (64 * 1024) /* bytes of a request behind its answer */
#define FIELDS       RF_CALL_FIELDS

/* Where a field's name and value are in the text. */
struct place {
	size_t name, name_len, value, value_len;
};

struct rf_h2_request {
	struct rf_http2 *h; /* NULL: the client has let go */
	struct rf_h2_request *next, **link;
	int32_t stream;
	struct rf_call *call; /* NULL: not begun, or ended */
	struct rf_buf text;   /* of the head */
	struct place fields[FIELDS];
	size_t count, head_bytes;
	size_t trailer_at; /* the first field that is the trailer's; the count while there is none */
	bool is_begun;
	struct rf_buf trailer; /* of the answer: names and values, each ended by a NUL */
	size_t trailer_count;
	struct place method, scheme, authority, path; /* name_len 1: it was there */
	unsigned refusal;                             /* a status, or 0 */
	enum rf_body body;
	size_t owed;       /* bytes of the request's body for which no window was given back */
	struct rf_buf out; /* of the answer's body */
	size_t out_at;
	bool is_answered, is_whole, is_cut, is_paused;
	unsigned lingers;          /* 0: not; 1: since the last look; 2: for longer */
	uint64_t length, received; /* of the body, where the length was told */
};

/* --- life --- */

struct rf_h2_request *rf_h2_request_new(struct rf_http2 *h, int32_t stream)
{
	struct rf_h2_request *ask = calloc(1, sizeof(*ask));

	if (!ask)
		return NULL;
	ask->h = h;
	ask->stream = stream;
	rf_buf_init(&ask->text, h->host->limits->head_bytes + 1024);
	rf_buf_init(&ask->out, ANSWER_MAX);
	rf_buf_init(&ask->trailer, TRAILER_MAX);
	ask->next = h->asks;
	ask->link = &h->asks;
	if (ask->next)
		ask->next->link = &ask->next;
	h->asks = ask;
	return ask;
}

static void free_ask(struct rf_h2_request *ask)
{
	if (ask->h || ask->call)
		return;
	rf_buf_done(&ask->text);
	rf_buf_done(&ask->out);
	rf_buf_done(&ask->trailer);
	free(ask);
}

void rf_h2_request_drop(struct rf_h2_request *ask)
{
	*ask->link = ask->next;
	if (ask->next)
		ask->next->link = ask->link;
	if (ask->owed && !ask->h->is_gone)
		nghttp2_session_consume_connection(ask->h->session, ask->owed);
	ask->owed = 0;
	ask->h = NULL;
	if (ask->call)
		rf_call_abort(ask->call);
	free_ask(ask);
}

/* --- the request's head --- */

static struct rf_span value_of(const struct rf_h2_request *ask, const struct place *place)
{
	return (struct rf_span){ ask->text.data + place->value, place->value_len };
}

static struct rf_span name_of(const struct rf_h2_request *ask, const struct place *place)
{
	return (struct rf_span){ ask->text.data + place->name, place->name_len };
}

static void keep(struct rf_h2_request *ask, struct place *place, struct rf_span name,
		 struct rf_span value)
{
	place->name = ask->text.len;
	place->name_len = name.len;
	rf_buf_add(&ask->text, name.at, name.len);
	place->value = ask->text.len;
	place->value_len = value.len;
	rf_buf_add(&ask->text, value.at, value.len);
}

/* Cookies may come in pieces (RFC 9113, 8.2.3), which HTTP/1.1 has as one. */
static bool join_cookie(struct rf_h2_request *ask, struct rf_span value)
{
	for (size_t i = 0; i < ask->count; i++) {
		struct place *place = &ask->fields[i];
		size_t at = ask->text.len;

		if (!rf_span_is(name_of(ask, place), RF_SPAN("cookie")))
			continue;
		if (!rf_buf_reserve(&ask->text, place->value_len + 2 + value.len))
			return true;
		rf_buf_add(&ask->text, ask->text.data + place->value, place->value_len);
		rf_buf_puts(&ask->text, "; ");
		rf_buf_add(&ask->text, value.at, value.len);
		place->value = at;
		place->value_len = ask->text.len - at;
		return true;
	}
	return false;
}

void rf_h2_request_field(struct rf_h2_request *ask, struct rf_span name, struct rf_span value)
{
	/* clang-format off */
	const struct { struct rf_span name; struct place *place; } own[] = {
		{ RF_SPAN(":method"),    &ask->method },
		{ RF_SPAN(":scheme"),    &ask->scheme },
		{ RF_SPAN(":authority"), &ask->authority },
		{ RF_SPAN(":path"),      &ask->path },
	};
	/* clang-format on */

	ask->head_bytes += name.len + value.len + 32;
	if (ask->head_bytes > ask->h->host->limits->head_bytes || ask->text.has_failed)
		ask->refusal = 431;
	if (ask->refusal)
		return;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (rf_span_is(name, own[i].name)) {
			keep(ask, own[i].place, name, value);
			return;
		}
	if (!ask->is_begun && rf_span_is(name, RF_SPAN("cookie")) && join_cookie(ask, value))
		return;
	if (ask->count == FIELDS)
		ask->refusal = 431;
	else
		keep(ask, &ask->fields[ask->count++], name, rf_span_trim(value));
}

/* Takes out what is not handed on: how the body ends, and whom the request is for. */
static bool sort_fields(struct rf_h2_request *ask, bool is_all, struct rf_field *fields,
			size_t *ret_count, uint64_t *ret_length, bool *ret_wants_trailers)
{
	ask->body = is_all ? RF_BODY_NONE : RF_BODY_CHUNKED;
	*ret_count = 0;
	for (size_t i = 0; i < ask->count; i++) {
		struct rf_span name = name_of(ask, &ask->fields[i]);
		struct rf_span value = value_of(ask, &ask->fields[i]);
		unsigned long long length;

		*ret_wants_trailers |=
			rf_span_is(name, RF_SPAN("te")); /* nothing else may stand there */
		if (rf_span_is(name, RF_SPAN("te")) || rf_span_is(name, RF_SPAN("expect")))
			continue;
		if (rf_span_is(name, RF_SPAN("host"))) {
			if (ask->authority.name_len &&
			    !rf_span_is_like(value, value_of(ask, &ask->authority)))
				return false;
			ask->authority = ask->fields[i];
			continue;
		}
		if (rf_span_is(name, RF_SPAN("content-length"))) {
			if (rf_span_number(value, UINT64_MAX, &length) < 0)
				return false;
			/* A zero, and nothing to follow, is told as it was. */
			ask->body = RF_BODY_LENGTH;
			*ret_length = length;
			if (is_all && length > 0)
				return false;
			continue;
		}
		fields[(*ret_count)++] = (struct rf_field){ .name = name, .value = value };
	}
	return true;
}

static void refuse(struct rf_h2_request *ask, unsigned status)
{
	char text[12];
	const nghttp2_nv fields[] = {
		{ (uint8_t *)(uintptr_t) ":status", (uint8_t *)text, 7, 3, NGHTTP2_NV_FLAG_NONE },
		{ (uint8_t *)(uintptr_t) "content-length", (uint8_t *)(uintptr_t) "0", 14, 1,
		  NGHTTP2_NV_FLAG_NONE },
	};

	snprintf(text, sizeof(text), "%03u", status % 1000);
	ask->is_answered = ask->is_whole = true;
	rf_http2_answer(ask->h, ask->stream, fields, 2, NULL);
}

/* --- the call inside --- */

static void on_answer(void *own, struct rf_call *call, const struct rf_http1_head *head);
static void on_body(void *own, struct rf_call *call, struct rf_span bytes);
static void on_body_end(void *own, struct rf_call *call, struct rf_fields trailer);
static void on_room(void *own, struct rf_call *call);
static void on_end(void *own, struct rf_call *call, const struct rf_err *err);

static const struct rf_call_ops ops = {
	.on_answer = on_answer,
	.on_body = on_body,
	.on_body_end = on_body_end,
	.on_room = on_room,
	.on_end = on_end,
};

static int find_call(struct rf_http2 *h, struct rf_call **ret_call, struct rf_err *err)
{
	static const struct rf_call_origin inside; /* no address */
	struct rf_transport transport;

	if (h->idle_calls) {
		*ret_call = h->idle_calls;
		h->idle_calls = *rf_call_next(*ret_call);
		h->idle_count--;
		return 0;
	}
	if (h->host->open(h->data, &transport, err) < 0)
		return err->code;
	if (rf_call_new_on(&h->inside, &inside, transport, ret_call, err) < 0)
		return err->code;
	h->call_count++;
	return 0;
}

void rf_h2_request_begin(struct rf_h2_request *ask, bool is_all)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_field fields[FIELDS];
	struct rf_authority authority;
	struct rf_call_request request = { .authority = &authority };
	uint64_t length = 0;

	ask->is_begun = true;
	ask->trailer_at = ask->count;
	request.fields.at = fields;
	if (ask->refusal || ask->text.has_failed) {
		refuse(ask, ask->refusal ? ask->refusal : 431);
		return;
	}
	if (!sort_fields(ask, is_all, fields, &request.fields.count, &length,
			 &request.wants_trailers) ||
	    !rf_span_is(value_of(ask, &ask->scheme), RF_SPAN("https")) || ask->path.name_len == 0 ||
	    rf_span_is(value_of(ask, &ask->method), RF_SPAN("CONNECT")) ||
	    rf_url_parse_authority(value_of(ask, &ask->authority), &authority) != RF_FAULT_NONE) {
		refuse(ask, 400);
		return;
	}
	request.method = value_of(ask, &ask->method);
	request.target = value_of(ask, &ask->path);
	request.body = ask->body;
	request.length = ask->length = length;
	if (find_call(ask->h, &ask->call, &err) < 0) {
		refuse(ask, 503);
		return;
	}
	if (rf_call_begin(ask->call, &request, &ops, ask, &err) < 0) {
		struct rf_call *call = ask->call;

		ask->call = NULL;
		ask->h->call_count--;
		rf_call_close(call);
		refuse(ask, 400);
		return;
	}
	/* A call without a body is finished by itself. */
	if (is_all && ask->body != RF_BODY_NONE)
		rf_call_finish(ask->call, (struct rf_fields){ 0 });
}

bool rf_h2_request_linger(struct rf_h2_request *ask)
{
	if (ask->body != RF_BODY_LENGTH || ask->length - ask->received > DROPPED_MOST)
		return false;
	ask->lingers = 1;
	return true;
}

bool rf_h2_request_end_lingering(struct rf_http2 *h)
{
	bool has_more = false;

	for (struct rf_h2_request *ask = h->asks; ask; ask = ask->next) {
		if (ask->lingers == 1)
			has_more = true;
		if (ask->lingers == 2)
			nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, ask->stream,
						  NGHTTP2_NO_ERROR);
		if (ask->lingers > 0)
			ask->lingers++;
	}
	return has_more;
}

void rf_h2_request_send(struct rf_h2_request *ask, struct rf_span bytes)
{
	int code;

	ask->received += bytes.len; /* nghttp2 sees to it that it is no more than was announced */
	if (ask->lingers > 0) {
		rf_http2_consume(ask->h, ask->stream, bytes.len);
		return;
	}
	code = ask->call ? rf_call_send(ask->call, bytes) : -EPIPE;

	/* What the server takes no more of is read, and dropped: the answer is on its way, or is there. */
	if (code == 1)
		ask->owed += bytes.len;
	else
		rf_http2_consume(ask->h, ask->stream, bytes.len);
}

/* A body whose length was told has no place for a trailer in HTTP/1.1: whoever sends both is refused, and not taken for half. */
void rf_h2_request_finish(struct rf_h2_request *ask)
{
	struct rf_field fields[FIELDS];
	size_t count = 0;

	for (size_t i = ask->trailer_at; i < ask->count; i++)
		fields[count++] = (struct rf_field){ .name = name_of(ask, &ask->fields[i]),
						     .value = value_of(ask, &ask->fields[i]) };
	if (!ask->call)
		return;
	if (ask->refusal || (count > 0 && ask->body != RF_BODY_CHUNKED))
		rf_call_abort(ask->call);
	else
		rf_call_finish(ask->call, (struct rf_fields){ fields, count });
}

static void on_room(void *own, struct rf_call *call)
{
	struct rf_h2_request *ask = own;

	if (ask->h && ask->owed)
		rf_http2_consume(ask->h, ask->stream, ask->owed);
	ask->owed = 0;
}

/* --- the answer --- */

/* Fields that are about a connection of HTTP/1.1. */
static bool is_own(struct rf_span name)
{
	static const struct rf_span own[] = {
		RF_SPAN_INIT("connection"),       RF_SPAN_INIT("keep-alive"),
		RF_SPAN_INIT("proxy-connection"), RF_SPAN_INIT("transfer-encoding"),
		RF_SPAN_INIT("upgrade"),
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (rf_span_is_like(name, own[i]))
			return true;
	return false;
}

/* A field as HTTP/2 has it: its name in lower case.  False when memory is gone. */
static bool put_field(struct rf_buf *names, const struct rf_field *field, nghttp2_nv *ret_nv)
{
	size_t at = names->len;

	for (size_t i = 0; i < field->name.len; i++) {
		char c = field->name.at[i];

		c = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
		rf_buf_add(names, &c, 1);
	}
	/* The buffer may move: where the name is, is set when all are there. */
	*ret_nv = (nghttp2_nv){
		.name = (uint8_t *)at,
		.namelen = field->name.len,
		.value = (uint8_t *)(uintptr_t)field->value.at,
		.valuelen = field->value.len,
	};
	return !names->has_failed;
}

static int submit(struct rf_h2_request *ask, const struct rf_http1_head *head, bool has_body)
{
	nghttp2_nv fields[FIELDS + 1];
	RF_AUTO_BUF struct rf_buf names;
	char status[12];
	size_t count = 1;

	rf_buf_init(&names, 128 * 1024);
	snprintf(status, sizeof(status), "%03u", head->start.status % 1000);
	for (size_t i = 0; i < head->fields.count; i++)
		if (!is_own(head->fields.at[i].name) &&
		    !put_field(&names, &head->fields.at[i], &fields[count++]))
			return -ENOMEM;
	for (size_t i = 1; i < count; i++)
		fields[i].name = (uint8_t *)names.data + (size_t)fields[i].name;
	fields[0] = (nghttp2_nv){ (uint8_t *)(uintptr_t) ":status", (uint8_t *)status, 7, 3,
				  NGHTTP2_NV_FLAG_NONE };
	return rf_http2_answer(ask->h, ask->stream, fields, count, has_body ? ask : NULL);
}

static void on_answer(void *own, struct rf_call *call, const struct rf_http1_head *head)
{
	struct rf_h2_request *ask = own;
	bool has_body = head->framing.body != RF_BODY_NONE &&
			!(head->framing.body == RF_BODY_LENGTH && head->framing.length == 0);

	if (!ask->h)
		return;
	ask->is_answered = true;
	ask->is_whole = !has_body;
	if (head->framing.body == RF_BODY_TUNNEL || submit(ask, head, has_body) < 0)
		rf_http2_reset(ask->h, ask->stream, NGHTTP2_INTERNAL_ERROR);
}

static void on_body(void *own, struct rf_call *call, struct rf_span bytes)
{
	struct rf_h2_request *ask = own;

	if (!ask->h)
		return;
	rf_buf_add(&ask->out, bytes.at, bytes.len);
	if (ask->out.has_failed)
		ask->is_cut = true;
	if (ask->out.len - ask->out_at > ANSWER_FULL && !ask->is_paused) {
		ask->is_paused = true;
		rf_call_pause(call, true);
	}
	rf_http2_resume(ask->h, ask->stream);
}

/* Kept until the body is sent, with names in lower case. */
static void on_body_end(void *own, struct rf_call *call, struct rf_fields trailer)
{
	struct rf_h2_request *ask = own;

	for (size_t i = 0; ask->h && i < trailer.count; i++) {
		for (size_t j = 0; j < trailer.at[i].name.len; j++) {
			char c = trailer.at[i].name.at[j];

			c = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
			rf_buf_add(&ask->trailer, &c, 1);
		}
		rf_buf_add(&ask->trailer, "", 1);
		rf_buf_add(&ask->trailer, trailer.at[i].value.at, trailer.at[i].value.len);
		rf_buf_add(&ask->trailer, "", 1);
		ask->trailer_count++;
	}
	ask->is_cut = ask->is_cut || ask->trailer.has_failed;
}

bool rf_h2_request_end(struct rf_h2_request *ask)
{
	nghttp2_nv fields[FIELDS];
	char *at = ask->trailer.data;

	if (ask->trailer_count == 0 || ask->trailer.has_failed)
		return false;
	for (size_t i = 0; i < ask->trailer_count; i++) {
		fields[i] = (nghttp2_nv){ .name = (uint8_t *)at, .namelen = strlen(at) };
		at += fields[i].namelen + 1;
		fields[i].value = (uint8_t *)at;
		fields[i].valuelen = strlen(at);
		at += fields[i].valuelen + 1;
	}
	return nghttp2_submit_trailer(ask->h->session, ask->stream, fields, ask->trailer_count) ==
	       0;
}

size_t rf_h2_request_take(struct rf_h2_request *ask, void *bytes, size_t size, bool *ret_is_last,
			  bool *ret_is_cut)
{
	size_t left = ask->out.len - ask->out_at, len = left < size ? left : size;

	if (len > 0)
		memcpy(bytes, ask->out.data + ask->out_at, len);
	ask->out_at += len;
	left -= len;
	if (left == 0) {
		ask->out_at = 0;
		if (ask->out.len > 0)
			rf_buf_clear(&ask->out);
	} else if (ask->out_at > ANSWER_FULL) {
		memmove(ask->out.data, ask->out.data + ask->out_at, left);
		ask->out.len = left;
		ask->out_at = 0;
	}
	if (ask->is_paused && left < ANSWER_FULL / 2 && ask->call) {
		ask->is_paused = false;
		rf_call_pause(ask->call, false);
	}
	*ret_is_last = ask->is_whole && left == 0;
	*ret_is_cut = ask->is_cut && left == 0;
	return len;
}

/* An answer that broke off is reset, so that nobody takes it for whole. */
static void on_end(void *own, struct rf_call *call, const struct rf_err *err)
{
	struct rf_h2_request *ask = own;

	ask->call = NULL;
	if (ask->h && ask->owed) {
		rf_http2_consume(ask->h, ask->stream, ask->owed);
		ask->owed = 0;
	}
	if (ask->h && !ask->is_answered) {
		refuse(ask, 502);
	} else if (ask->h && !ask->is_whole) {
		ask->is_whole = !err;
		ask->is_cut = ask->is_cut || err;
		rf_http2_resume(ask->h, ask->stream);
	}
	free_ask(ask);
}

/* --- the calls' host --- */

static bool keep_call(struct rf_call_host *inside, struct rf_call *call)
{
	struct rf_http2 *h = inside->pool;

	if (h->is_gone || h->idle_count >= RF_ASK_IDLE)
		return false;
	*rf_call_next(call) = h->idle_calls;
	h->idle_calls = call;
	h->idle_count++;
	return true;
}

static void on_gone(struct rf_call_host *inside, struct rf_call *call)
{
	struct rf_http2 *h = inside->pool;

	for (struct rf_call **at = &h->idle_calls; *at; at = rf_call_next(*at))
		if (*at == call) {
			*at = *rf_call_next(call);
			h->idle_count--;
			break;
		}
	h->call_count--;
	rf_h2_request_release(h);
}

void rf_h2_request_prepare(struct rf_http2 *h)
{
	h->inside = (struct rf_call_host){
		.loop = h->host->loop,
		.deadlines = h->host->deadlines,
		.limits = h->host->inside ? h->host->inside : &rf_call_usual,
		.on_idle = keep_call,
		.on_gone = on_gone,
		.pool = h,
	};
}

void rf_h2_request_close_idle(struct rf_http2 *h)
{
	while (h->idle_calls) {
		struct rf_call *call = h->idle_calls;

		h->idle_calls = *rf_call_next(call);
		h->idle_count--;
		h->call_count--;
		rf_call_close(call);
	}
}

void rf_h2_request_release(struct rf_http2 *h)
{
	if (h->is_gone && h->call_count == 0)
		free(h);
}
