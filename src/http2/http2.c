/*
 * HTTP/2 for a server that speaks HTTP/1.1: see http2.h.
 *
 * As in exchange.c, everything happens in run(): callbacks of requests only note what there is.  nghttp2 is given bytes and asked for bytes, and
 * knows no descriptor.
 */
#include "http2/http2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http2/h2-request.h"

#define MS        1000000ull
#define FILLS     8            /* reads in a row, before others have their turn */
#define OUT_MAX   (256 * 1024) /* bytes that wait for the client before nghttp2 is asked for more */
#define IN_MAX    (64 * 1024)
#define WINDOW    (1024 * 1024) /* of the connection; a stream's is the usual 64 KiB less one */
#define PER_KIB   16            /* KiB that earn a frame */
#define PER_ASK   8             /* frames that a finished request earns */
#define RESET     8             /* frames that a reset counts for */
#define LINGER_NS 500000000ull  /* that a client has to end a request which is answered */
#define HEAD_WIRE (128 * 1024)  /* bytes on the wire without a whole frame */

const struct rf_http2_limits rf_http2_usual = {
	.most_streams = 100,
	.head_bytes = 64 * 1024,
	.idle_ms = 60 * 1000,
	.spare_frames = 1000,
};

/* --- frames --- */

static struct rf_h2_request *ask_of(nghttp2_session *session, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(session, stream);
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct rf_http2 *h = data;
	struct rf_h2_request *ask;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	ask = rf_h2_request_new(h, frame->hd.stream_id);
	if (!ask)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, ask);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *data)
{
	struct rf_h2_request *ask = ask_of(session, frame->hd.stream_id);

	if (frame->hd.type == NGHTTP2_HEADERS && ask)
		rf_h2_request_field(ask, (struct rf_span){ (const char *)name, name_len },
				    (struct rf_span){ (const char *)value, value_len });
	return 0;
}

/* What makes work and asks for nothing. */
static unsigned cost_of(const nghttp2_frame *frame)
{
	switch (frame->hd.type) {
	case NGHTTP2_RST_STREAM:
		return RESET;
	case NGHTTP2_DATA:
		return frame->hd.length == 0 && !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
	case NGHTTP2_HEADERS:
		return 0;
	default:
		return 1;
	}
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct rf_http2 *h = data;
	struct rf_h2_request *ask =
		frame->hd.stream_id ? ask_of(session, frame->hd.stream_id) : NULL;
	unsigned cost = cost_of(frame);

	h->unframed = 0;
	if (cost > h->spare) {
		nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
		return 0;
	}
	h->spare -= cost;
	if (!ask)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		rf_h2_request_begin(ask, frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
	else if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
		 frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		rf_h2_request_finish(ask);
	return 0;
}

/*
 * An answer that is whole before its request is (RFC 9113, 8.1): the rest of that is wanted by nobody.  Clients exist that take a reset for a failure even
 * then, and lose the answer (curl 7.88), so a rest that is known to be short is read and dropped, for a while; any other is reset at once: a client that waits for room to send it in
 * would wait for good.
 */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct rf_http2 *h = data;
	struct rf_h2_request *ask;

	if ((frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) ||
	    !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) != 0)
		return 0;
	ask = ask_of(session, frame->hd.stream_id);
	if (!ask || !rf_h2_request_linger(ask)) {
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
					  NGHTTP2_NO_ERROR);
		return 0;
	}
	if (h->linger.place == 0)
		rf_deadline_set(&h->linger, rf_loop_now() + LINGER_NS);
	return 0;
}

static void on_linger(void *data)
{
	struct rf_http2 *h = data;

	if (rf_h2_request_end_lingering(h))
		rf_deadline_set(&h->linger, rf_loop_now() + LINGER_NS);
	rf_http2_wake(h);
}

static void earn(struct rf_http2 *h, size_t bytes)
{
	h->moved += bytes;
	h->spare += (unsigned)(h->moved / (PER_KIB * 1024));
	h->moved %= (size_t)PER_KIB * 1024;
	if (h->spare > h->host->limits->spare_frames)
		h->spare = h->host->limits->spare_frames;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
		   size_t len, void *data)
{
	struct rf_http2 *h = data;
	struct rf_h2_request *ask = ask_of(session, stream);

	earn(h, len);
	if (ask)
		rf_h2_request_send(ask, (struct rf_span){ (const char *)bytes, len });
	else
		rf_http2_consume(h, stream, len);
	return 0;
}

static int on_stream_end(nghttp2_session *session, int32_t stream, uint32_t code, void *data)
{
	struct rf_http2 *h = data;
	struct rf_h2_request *ask = ask_of(session, stream);

	if (!ask)
		return 0;
	if (code == NGHTTP2_NO_ERROR)
		earn(h, (size_t)PER_ASK * PER_KIB * 1024);
	nghttp2_session_set_stream_user_data(session, stream, NULL);
	rf_h2_request_drop(ask);
	return 0;
}

static ssize_t on_wanted(nghttp2_session *session, int32_t stream, uint8_t *bytes, size_t size,
			 uint32_t *ret_flags, nghttp2_data_source *source, void *data)
{
	bool is_last, is_cut;
	size_t len = rf_h2_request_take(source->ptr, bytes, size, &is_last, &is_cut);

	if (is_cut)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (is_last) {
		*ret_flags |= NGHTTP2_DATA_FLAG_EOF;
		if (rf_h2_request_end(source->ptr))
			*ret_flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	} else if (len == 0) {
		return NGHTTP2_ERR_DEFERRED;
	}
	earn(data, len);
	return (ssize_t)len;
}

/* --- for requests --- */

void rf_http2_consume(struct rf_http2 *h, int32_t stream, size_t len)
{
	nghttp2_session_consume(h->session, stream, len);
	rf_http2_wake(h);
}

void rf_http2_wake(struct rf_http2 *h)
{
	if (!h->is_running)
		rf_deadline_set(&h->soon, rf_loop_now());
}

int rf_http2_answer(struct rf_http2 *h, int32_t stream, const nghttp2_nv *fields, size_t count,
		    struct rf_h2_request *body)
{
	const nghttp2_data_provider provider = { .source.ptr = body, .read_callback = on_wanted };
	int code =
		nghttp2_submit_response(h->session, stream, fields, count, body ? &provider : NULL);

	rf_http2_wake(h);
	return code ? -EPROTO : 0;
}

void rf_http2_resume(struct rf_http2 *h, int32_t stream)
{
	nghttp2_session_resume_data(h->session, stream);
	rf_http2_wake(h);
}

void rf_http2_reset(struct rf_http2 *h, int32_t stream, uint32_t code)
{
	nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, stream, code);
	rf_http2_wake(h);
}

/* --- the turn --- */

static void leave(struct rf_http2 *h)
{
	rf_deadline_done(&h->soon);
	rf_deadline_done(&h->idle);
	rf_deadline_done(&h->linger);
	while (h->asks)
		rf_h2_request_drop(h->asks);
	rf_h2_request_close_idle(h);
	nghttp2_session_del(h->session);
	if (h->is_open && !h->is_ending)
		h->stream.transport.ops->shut(&h->stream.transport);
	rf_stream_done(&h->stream);
	if (h->is_open && h->host->on_closed)
		h->host->on_closed(h->data);
	/* Calls that were given up end later, and tell their host. */
	h->is_gone = true;
	rf_h2_request_release(h);
}

static bool fill(struct rf_http2 *h)
{
	struct rf_span in;
	ssize_t n;

	if (h->fills == 0) { /* others have their turn */
		rf_deadline_set(&h->soon, rf_loop_now());
		return false;
	}
	h->fills--;
	n = rf_stream_fill(&h->stream);
	if (n == -EAGAIN && h->stream.event)
		return false;
	if (n <= 0) {
		h->is_ending = true;
		return false;
	}
	in = rf_stream_input(&h->stream);
	h->unframed += in.len;
	n = nghttp2_session_mem_recv(h->session, (const uint8_t *)in.at, in.len);
	rf_stream_drop(&h->stream, in.len);
	if (n < 0 || h->unframed > HEAD_WIRE)
		nghttp2_session_terminate_session(h->session, NGHTTP2_PROTOCOL_ERROR);
	return n >= 0 && h->unframed <= HEAD_WIRE;
}

/* Sends what there is, as long as the client takes it.  False: there is no one to send to. */
static bool flush(struct rf_http2 *h)
{
	int code;

	for (;;) {
		const uint8_t *bytes;
		ssize_t n = 0;

		if (rf_stream_pending(&h->stream) < OUT_MAX / 2)
			n = nghttp2_session_mem_send(h->session, &bytes);
		if (n < 0)
			return false;
		if (n == 0)
			break;
		if (rf_stream_write(&h->stream,
				    (struct rf_span){ (const char *)bytes, (size_t)n }) < 0)
			return false;
	}
	code = rf_stream_flush(&h->stream);
	return code == 0 || (code == -EAGAIN && h->stream.event);
}

static void run(struct rf_http2 *h)
{
	bool can_send;

	h->is_running = true;
	h->fills = FILLS;
	do
		can_send = flush(h);
	while (can_send && !h->is_ending && nghttp2_session_want_read(h->session) && fill(h));
	can_send = can_send && flush(h);
	h->is_running = false;
	if (h->is_ending || !can_send ||
	    (!nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session) &&
	     rf_stream_pending(&h->stream) == 0)) {
		leave(h);
		return;
	}
	rf_stream_wait(&h->stream, nghttp2_session_want_read(h->session));
	if (h->asks || h->host->limits->idle_ms == 0)
		rf_deadline_cancel(&h->idle);
	else if (h->idle.place == 0)
		rf_deadline_set(&h->idle, rf_loop_now() + h->host->limits->idle_ms * MS);
}

static void on_stream(void *data, int what)
{
	run(data);
}

static void on_soon(void *data)
{
	run(data);
}

/* Says so, and closes when that is sent. */
static void on_idle(void *data)
{
	struct rf_http2 *h = data;

	nghttp2_session_terminate_session(h->session, NGHTTP2_NO_ERROR);
	run(h);
}

/* --- life --- */

static int make_session(struct rf_http2 *h)
{
	const struct rf_http2_limits *limits = h->host->limits;
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits->most_streams },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits->head_bytes },
		{ NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 0 },
	};
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;
	int code = nghttp2_session_callbacks_new(&callbacks);

	if (code == 0)
		code = nghttp2_option_new(&option);
	if (code == 0) {
		nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
		nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
		nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
		nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
		nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_end);
		nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
		nghttp2_option_set_no_auto_window_update(option, 1);
		nghttp2_option_set_max_send_header_block_length(option, 128 * 1024);
		nghttp2_option_set_max_outbound_ack(option, 100);
		nghttp2_option_set_max_settings(option, 32);
		nghttp2_option_set_no_closed_streams(option, 1);
		code = nghttp2_session_server_new2(&h->session, callbacks, h, option);
	}
	if (code == 0)
		code = nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
					       sizeof(settings) / sizeof(*settings));
	if (code == 0)
		code = nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0,
							     WINDOW);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return code ? -ENOMEM : 0;
}

int rf_http2_new(const struct rf_http2_host *host, struct rf_transport transport, void *data,
		 struct rf_http2 **ret_http2, struct rf_err *err)
{
	struct rf_http2 *h = calloc(1, sizeof(*h));

	if (!h) {
		transport.ops->done(&transport);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	h->host = host;
	h->data = data;
	h->spare = host->limits->spare_frames;
	rf_h2_request_prepare(h);
	if (rf_stream_init(&h->stream, host->loop, transport, IN_MAX, 2 * OUT_MAX, on_stream, h,
			   err) < 0) {
		free(h);
		return err->code;
	}
	if (rf_deadline_init(&h->soon, host->deadlines, on_soon, h) < 0 ||
	    rf_deadline_init(&h->idle, host->deadlines, on_idle, h) < 0 ||
	    rf_deadline_init(&h->linger, host->deadlines, on_linger, h) < 0 ||
	    make_session(h) < 0) {
		leave(h);
		return rf_fail(err, -ENOMEM, "a connection");
	}
	h->is_open = true;
	rf_http2_wake(h);
	*ret_http2 = h;
	return 0;
}

void rf_http2_close(struct rf_http2 *h)
{
	if (h)
		leave(h);
}
