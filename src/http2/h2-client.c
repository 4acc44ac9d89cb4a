/*
 * HTTP/2 toward a server: see h2-client.h.
 *
 * Half of a socket pair is the caller's; on the other half an exchange reads requests, one at a time.  What fails is kept until the caller asks why: the
 * connection is freed when the caller's half is.
 */
#include "http2/h2-client.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define FILLS     8
#define OUT_MAX   (256 * 1024)
#define IN_MAX    (64 * 1024)
#define WINDOW    (1024 * 1024)
#define BODY_MAX  (512 * 1024) /* bytes of a request's body that wait */
#define BODY_FULL (128 * 1024)
#define TEXT_MAX  (64 * 1024) /* of an answer's head, and of its trailer */
#define SPARE     2000        /* frames that may come for nothing */
#define FIELDS    RF_EXCHANGE_FIELDS

struct place {
	size_t name, name_len, value, value_len;
};

struct client {
	struct rf_stream stream;
	nghttp2_session *session;
	struct rf_deadline soon;
	struct rf_exchange_host host;
	struct rf_exchange_limits limits;
	struct rf_err why; /* why it is over */
	unsigned fills, spare;
	bool is_running, is_dead;
	/* The request that is under way: */
	struct rf_exchange *exchange; /* or NULL */
	int32_t id;                   /* its stream's, or 0 */
	struct rf_buf body;           /* of it, to be sent */
	size_t body_at, owed;
	bool is_whole, is_paused, is_head, is_answered;
	struct rf_buf trailer; /* of it: names and values, each ended by a NUL */
	size_t trailer_count;
	/* What comes of its answer's head, or of its trailer: */
	struct rf_buf text;
	struct place fields[FIELDS];
	size_t count;
	unsigned status;
	bool is_too_long;
};

static void run(struct client *c);

static void wake(struct client *c)
{
	if (!c->is_running && !c->is_dead)
		rf_deadline_set(&c->soon, rf_loop_now());
}

/* It is over; the caller sees it, and why. */
static void die(struct client *c, int code, const char *what)
{
	const struct rf_transport *transport = &c->stream.transport;

	if (c->is_dead)
		return;
	c->is_dead = true;
	if (transport->ops->explain && transport->ops->explain(transport, &c->why))
		rf_fail_in(&c->why, "%s", what);
	else
		rf_fail(&c->why, code, "%s", what);
	rf_deadline_cancel(&c->soon);
	if (c->stream.event)
		rf_event_want(c->stream.event, 0);
	rf_exchange_close_all(&c->host);
}

/* --- the request --- */

static bool is_of_connection(struct rf_span name)
{
	static const struct rf_span own[] = {
		RF_SPAN_INIT("host"),       RF_SPAN_INIT("connection"),
		RF_SPAN_INIT("keep-alive"), RF_SPAN_INIT("proxy-connection"),
		RF_SPAN_INIT("te"),         RF_SPAN_INIT("transfer-encoding"),
		RF_SPAN_INIT("upgrade"),    RF_SPAN_INIT("trailer"),
	};

	for (size_t i = 0; i < RF_LEN(own); i++)
		if (rf_span_is_like(name, own[i]))
			return true;
	return false;
}

static nghttp2_nv pair(struct rf_span name, struct rf_span value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name.at, (uint8_t *)(uintptr_t)value.at,
			     name.len, value.len, NGHTTP2_NV_FLAG_NONE };
}

static void add_lower(struct rf_buf *out, struct rf_span name)
{
	for (size_t i = 0; i < name.len; i++) {
		char one = name.at[i];

		one = one >= 'A' && one <= 'Z' ? (char)(one | 0x20) : one;
		rf_buf_add(out, &one, 1);
	}
	rf_buf_add(out, "", 1);
}

static ssize_t on_wanted(nghttp2_session *session, int32_t stream, uint8_t *bytes, size_t size,
			 uint32_t *flags, nghttp2_data_source *source, void *data);

static int submit(struct client *c, const struct rf_http1_head *head)
{
	const nghttp2_data_provider provider = { .read_callback = on_wanted };
	const struct rf_field *host = rf_field_find(head->fields, RF_SPAN("host"));
	RF_AUTO_BUF struct rf_buf names;
	nghttp2_nv fields[FIELDS + 5];
	size_t count = 0, at = 0;

	rf_buf_init(&names, TEXT_MAX);
	for (size_t i = 0; i < head->fields.count; i++)
		add_lower(&names, head->fields.at[i].name);
	if (names.has_failed || !host)
		return -EPROTO;
	fields[count++] = pair(RF_SPAN(":method"), head->start.method);
	fields[count++] = pair(RF_SPAN(":scheme"), RF_SPAN("https"));
	fields[count++] = pair(RF_SPAN(":authority"), host->value);
	fields[count++] = pair(RF_SPAN(":path"), head->start.target);
	for (size_t i = 0; i < head->fields.count; i++) {
		const struct rf_field *field = &head->fields.at[i];

		if (!is_of_connection(field->name))
			fields[count++] = pair((struct rf_span){ names.data + at, field->name.len },
					       field->value);
		at += field->name.len + 1;
	}
	fields[count++] = pair(RF_SPAN("te"), RF_SPAN("trailers"));
	c->id = nghttp2_submit_request(c->session, NULL, fields, count,
				       c->is_whole ? NULL : &provider, NULL);
	return c->id > 0 ? 0 : -EPIPE;
}

static void on_request(void *data, struct rf_exchange *exchange, const struct rf_http1_head *head)
{
	struct client *c = data;

	rf_exchange_keep(exchange, c);
	c->exchange = exchange;
	rf_buf_clear(&c->body);
	rf_buf_clear(&c->trailer);
	rf_buf_clear(&c->text);
	c->body_at = c->owed = c->trailer_count = c->count = 0;
	c->status = 0;
	c->is_paused = c->is_answered = c->is_too_long = false;
	c->is_head = rf_span_is(head->start.method, RF_SPAN("HEAD"));
	c->is_whole = head->framing.body == RF_BODY_NONE;
	if (submit(c, head) < 0)
		rf_exchange_abort(exchange);
	else
		wake(c);
}

static void on_body(void *own, struct rf_exchange *exchange, struct rf_span bytes)
{
	struct client *c = own;

	rf_buf_add(&c->body, bytes.at, bytes.len);
	if (c->body.has_failed) {
		rf_exchange_abort(exchange);
		return;
	}
	if (c->body.len - c->body_at > BODY_FULL && !c->is_paused) {
		c->is_paused = true;
		rf_exchange_pause(exchange, true);
	}
	nghttp2_session_resume_data(c->session, c->id);
	wake(c);
}

static void on_body_end(void *own, struct rf_exchange *exchange, struct rf_fields trailer)
{
	struct client *c = own;

	for (size_t i = 0; i < trailer.count; i++) {
		add_lower(&c->trailer, trailer.at[i].name);
		rf_buf_add(&c->trailer, trailer.at[i].value.at, trailer.at[i].value.len);
		rf_buf_add(&c->trailer, "", 1);
		c->trailer_count++;
	}
	if (c->trailer.has_failed) {
		rf_exchange_abort(exchange);
		return;
	}
	if (!c->is_whole) {
		c->is_whole = true;
		nghttp2_session_resume_data(c->session, c->id);
	}
	wake(c);
}

static void on_room(void *own, struct rf_exchange *exchange)
{
	struct client *c = own;

	if (c->owed && c->id)
		nghttp2_session_consume(c->session, c->id, c->owed);
	c->owed = 0;
	wake(c);
}

static void on_end(void *own, struct rf_exchange *exchange, bool is_whole)
{
	struct client *c = own;

	c->exchange = NULL;
	if (c->is_dead)
		return;
	if (c->owed)
		nghttp2_session_consume_connection(c->session, c->owed);
	c->owed = 0;
	if (c->id)
		nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_CANCEL);
	c->id = 0;
	wake(c);
}

static bool submit_trailer(struct client *c)
{
	nghttp2_nv fields[FIELDS];
	const char *at = c->trailer.data;

	for (size_t i = 0; i < c->trailer_count && i < FIELDS; i++) {
		const char *value = at + strlen(at) + 1;

		fields[i] = pair(rf_span_of(at), rf_span_of(value));
		at = value + strlen(value) + 1;
	}
	return c->trailer_count > 0 &&
	       nghttp2_submit_trailer(c->session, c->id, fields, c->trailer_count) == 0;
}

static ssize_t on_wanted(nghttp2_session *session, int32_t stream, uint8_t *bytes, size_t size,
			 uint32_t *flags, nghttp2_data_source *source, void *data)
{
	struct client *c = data;
	size_t left = c->body.len - c->body_at, len = left < size ? left : size;

	if (stream != c->id || !c->exchange)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (len > 0)
		memcpy(bytes, c->body.data + c->body_at, len);
	c->body_at += len;
	if (c->body_at == c->body.len) {
		rf_buf_clear(&c->body);
		c->body_at = 0;
	}
	if (c->is_paused && left - len < BODY_FULL / 2) {
		c->is_paused = false;
		rf_exchange_pause(c->exchange, false);
	}
	if (c->is_whole && len == left) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (submit_trailer(c))
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	} else if (len == 0) {
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)len;
}

/* --- the answer --- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *data)
{
	struct client *c = data;
	struct place *place;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->hd.stream_id != c->id || !c->exchange)
		return 0;
	if (name_len == 7 && memcmp(name, ":status", 7) == 0) {
		c->status = value_len == 3 ? (unsigned)((value[0] - '0') * 100 +
							(value[1] - '0') * 10 + value[2] - '0')
					   : 0;
		return 0;
	}
	if (c->count == FIELDS || c->text.len + name_len + value_len > TEXT_MAX) {
		c->is_too_long = true;
		return 0;
	}
	place = &c->fields[c->count++];
	*place = (struct place){ c->text.len, name_len, c->text.len + name_len, value_len };
	rf_buf_add(&c->text, name, name_len);
	rf_buf_add(&c->text, value, value_len);
	return 0;
}

/* What was collected, without what a message of HTTP/1.1 says in its own way. */
static struct rf_fields take_fields(struct client *c, struct rf_field *fields)
{
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct place *place = &c->fields[i];
		struct rf_span name = { c->text.data + place->name, place->name_len };

		if (is_of_connection(name) || rf_span_is(name, RF_SPAN("content-length")))
			continue;
		fields[count].name = name;
		fields[count++].value =
			(struct rf_span){ c->text.data + place->value, place->value_len };
	}
	c->count = 0;
	return (struct rf_fields){ fields, count };
}

static void take_head(struct client *c, bool is_last)
{
	struct rf_field fields[FIELDS];
	struct rf_fields taken = take_fields(c, fields);
	bool has_none = is_last || c->is_head || c->status == 204 || c->status == 304;

	if (c->is_too_long || c->text.has_failed || c->status < 100 || c->status > 599) {
		rf_exchange_abort(c->exchange);
		return;
	}
	if (c->is_answered) { /* a trailer: nghttp2 sees to it that it is the last */
		rf_exchange_finish(c->exchange, taken);
		return;
	}
	if (c->status >= 200) {
		c->is_answered = true;
		if (rf_exchange_answer(c->exchange, c->status, taken,
				       has_none ? RF_BODY_NONE : RF_BODY_CHUNKED, 0))
			rf_exchange_abort(c->exchange);
		else if (is_last || has_none)
			rf_exchange_finish(c->exchange, (struct rf_fields){ 0 });
	}
	rf_buf_clear(&c->text);
}

/* What makes work and carries nothing. */
static bool is_for_nothing(const nghttp2_frame *frame)
{
	switch (frame->hd.type) {
	case NGHTTP2_DATA:
		return frame->hd.length == 0 && !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
	case NGHTTP2_HEADERS:
		return !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
		       frame->headers.cat != NGHTTP2_HCAT_RESPONSE;
	default:
		return true;
	}
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct client *c = data;
	bool is_last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	if (is_for_nothing(frame) && c->spare-- == 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (frame->hd.stream_id != c->id || !c->exchange)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS)
		take_head(c, is_last);
	else if (frame->hd.type == NGHTTP2_DATA && is_last && c->is_answered && !c->is_head)
		rf_exchange_finish(c->exchange, (struct rf_fields){ 0 });
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
		   size_t len, void *data)
{
	struct client *c = data;
	int code = 0;

	if (stream == c->id && c->exchange && c->is_answered && !c->is_head)
		code = rf_exchange_send(c->exchange, (struct rf_span){ (const char *)bytes, len });
	c->spare = len >= 1024 && c->spare < SPARE ? c->spare + 1 : c->spare;
	if (code == 1)
		c->owed += len;
	else
		nghttp2_session_consume(c->session, stream, len);
	return 0;
}

static int on_stream_end(nghttp2_session *session, int32_t stream, uint32_t code, void *data)
{
	struct client *c = data;

	if (stream != c->id)
		return 0;
	c->id = 0;
	/* One that ended well has told its end by then; an answer before the request was whole ends that. */
	if (c->exchange && (code != NGHTTP2_NO_ERROR || !c->is_answered))
		rf_exchange_abort(c->exchange);
	return 0;
}

/* --- the turn --- */

static bool flush(struct client *c)
{
	int code;

	for (;;) {
		const uint8_t *bytes;
		ssize_t n = 0;

		if (rf_stream_pending(&c->stream) < OUT_MAX / 2)
			n = nghttp2_session_mem_send(c->session, &bytes);
		if (n < 0)
			return false;
		if (n == 0)
			break;
		if (rf_stream_write(&c->stream,
				    (struct rf_span){ (const char *)bytes, (size_t)n }) < 0)
			return false;
	}
	code = rf_stream_flush(&c->stream);
	return code == 0 || (code == -EAGAIN && c->stream.event);
}

/* True if there may be more. */
static bool fill(struct client *c)
{
	struct rf_span in;
	ssize_t n;

	if (c->fills == 0) {
		rf_deadline_set(&c->soon, rf_loop_now());
		return false;
	}
	c->fills--;
	n = rf_stream_fill(&c->stream);
	if (n == -EAGAIN && c->stream.event)
		return false;
	if (n <= 0) {
		die(c, n < 0 ? (int)n : -ECONNRESET, "speak HTTP/2 with the server");
		return false;
	}
	in = rf_stream_input(&c->stream);
	n = nghttp2_session_mem_recv(c->session, (const uint8_t *)in.at, in.len);
	rf_stream_drop(&c->stream, in.len);
	if (n < 0)
		die(c, -EPROTO, "the server speaks no HTTP/2");
	return n >= 0;
}

static void run(struct client *c)
{
	bool can_send;

	if (c->is_dead)
		return;
	c->is_running = true;
	c->fills = FILLS;
	do
		can_send = flush(c);
	while (can_send && !c->is_dead && fill(c));
	can_send = can_send && !c->is_dead && flush(c);
	c->is_running = false;
	if (c->is_dead)
		return;
	if (!can_send) {
		die(c, -ECONNRESET, "speak HTTP/2 with the server");
		return;
	}
	/* A server that takes no more requests: the caller finds the line closed, and dials anew. */
	if (!c->exchange && nghttp2_session_check_request_allowed(c->session) == 0) {
		die(c, -ECONNRESET, "the server ends the connection");
		return;
	}
	rf_stream_wait(&c->stream, true);
}

static void on_stream(void *data, int what)
{
	run(data);
}

static void on_soon(void *data)
{
	run(data);
}

/* --- the caller's half --- */

static ssize_t line_read(struct rf_transport *line, void *data, size_t size)
{
	const struct client *c = line->data;
	ssize_t n = recv(line->fd, data, size, 0);

	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return n > 0 ? n : -EAGAIN;
	if (c->why.code)
		return c->why.code;
	return n < 0 ? -errno : 0;
}

static ssize_t line_write(struct rf_transport *line, const void *data, size_t len)
{
	ssize_t n = send(line->fd, data, len, MSG_NOSIGNAL);

	return n < 0 ? -errno : n;
}

static void line_shut(struct rf_transport *line)
{
	shutdown(line->fd, SHUT_WR);
}

static void free_client(struct client *c)
{
	c->is_dead = true;
	rf_exchange_close_all(&c->host);
	rf_deadline_done(&c->soon);
	nghttp2_session_del(c->session);
	rf_stream_done(&c->stream);
	rf_buf_done(&c->body);
	rf_buf_done(&c->trailer);
	rf_buf_done(&c->text);
	free(c);
}

static void line_done(struct rf_transport *line)
{
	struct client *c = line->data;

	rf_fd_done(&line->fd);
	if (!c->is_dead)
		c->stream.transport.ops->shut(&c->stream.transport);
	free_client(c);
}

static bool line_explain(const struct rf_transport *line, struct rf_err *err)
{
	const struct client *c = line->data;

	if (!c->why.code)
		return false;
	*err = c->why;
	return true;
}

static const struct rf_transport_ops line_ops = {
	.read = line_read,
	.write = line_write,
	.shut = line_shut,
	.done = line_done,
	.explain = line_explain,
};

/* --- life --- */

static int make_session(struct client *c)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0 },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, TEXT_MAX },
	};
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;
	int code = nghttp2_session_callbacks_new(&callbacks);

	if (code == 0)
		code = nghttp2_option_new(&option);
	if (code == 0) {
		nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
		nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
		nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
		nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_end);
		nghttp2_option_set_no_auto_window_update(option, 1);
		nghttp2_option_set_max_outbound_ack(option, 100);
		nghttp2_option_set_max_settings(option, 32);
		nghttp2_option_set_max_send_header_block_length(option, 128 * 1024);
		code = nghttp2_session_client_new2(&c->session, callbacks, c, option);
	}
	if (code == 0)
		code = nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings,
					       RF_LEN(settings));
	if (code == 0)
		code = nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
							     WINDOW);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return code ? -ENOMEM : 0;
}

static const struct rf_exchange_ops ops = {
	.on_request = on_request,
	.on_body = on_body,
	.on_body_end = on_body_end,
	.on_room = on_room,
	.on_end = on_end,
};

static void prepare(struct client *c, struct rf_loop *loop, struct rf_deadlines *deadlines)
{
	c->spare = SPARE;
	c->limits = rf_exchange_usual; /* the caller keeps the times */
	c->limits.head_ms = c->limits.idle_ms = c->limits.stall_ms = c->limits.total_ms = 0;
	c->host = (struct rf_exchange_host){
		.loop = loop, .deadlines = deadlines, .limits = &c->limits, .ops = &ops, .data = c
	};
	rf_buf_init(&c->body, BODY_MAX);
	rf_buf_init(&c->trailer, TEXT_MAX);
	rf_buf_init(&c->text, TEXT_MAX + 1024);
}

int rf_h2_client_new(struct rf_loop *loop, struct rf_deadlines *deadlines,
		     struct rf_transport transport, struct rf_transport *ret_line,
		     struct rf_err *err)
{
	struct client *c = calloc(1, sizeof(*c));
	int fds[2] = { -1, -1 };

	if (!c) {
		transport.ops->done(&transport);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	prepare(c, loop, deadlines);
	if (rf_stream_init(&c->stream, loop, transport, IN_MAX, 2 * OUT_MAX, on_stream, c, err) <
	    0) {
		free(c);
		return err->code;
	}
	if (rf_deadline_init(&c->soon, deadlines, on_soon, c) < 0 || make_session(c) < 0)
		rf_fail(err, -ENOMEM, "a connection");
	else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		rf_fail(err, -errno, "a pair of sockets");
	else if (rf_exchange_new(&c->host, rf_transport_plain(&fds[1]), err) == 0) {
		*ret_line = (struct rf_transport){ .ops = &line_ops, .fd = fds[0], .data = c };
		wake(c);
		return 0;
	}
	rf_fd_done(&fds[0]);
	rf_fd_done(&fds[1]);
	free_client(c);
	return err->code;
}
