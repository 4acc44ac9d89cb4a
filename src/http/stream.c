/* The bytes of one connection: see stream.h. */
#include "http/stream.h"

#include <errno.h>

#define FIRST   4000        /* bytes that are read at a time, at first: most heads have fewer */
#define PIECE   (16 * 1024) /* and while more than that comes */
#define THROUGH (16 * 1024) /* so many bytes are sent at once, before they are copied */
#define SPARE   4096        /* a buffer that is larger is given back at rest */

/*
 * Hang-ups are always told, and of an end that has hung up all there ever will be is there: so nothing is waited for any more, and
 * the owner finds the rest, and the end, by reading.  Watched on, it would be told for ever while nobody reads.
 */
static void on_event(void *data, int what)
{
	struct rf_stream *stream = data;

	if (what & RF_LOOP_HANGUP) {
		rf_event_cancel(stream->event);
		stream->event = NULL;
	}
	if (what & (RF_LOOP_HANGUP | RF_LOOP_READ | stream->transport.read_needs))
		stream->is_dry = false;
	stream->fn(stream->data, what);
}

int rf_stream_init(struct rf_stream *stream, struct rf_loop *loop, struct rf_transport transport,
		   size_t in_max, size_t out_max, rf_event_fn *fn, void *data, struct rf_err *err)
{
	*stream = (struct rf_stream){ .transport = transport, .fn = fn, .data = data };
	rf_buf_init(&stream->in, in_max);
	rf_buf_init(&stream->out, out_max);
	if (rf_loop_watch(loop, transport.fd, 0, on_event, stream, &stream->event, err) < 0) {
		rf_stream_done(stream);
		return err->code;
	}
	return 0;
}

void rf_stream_done(struct rf_stream *stream)
{
	if (!stream)
		return;
	rf_event_cancel(stream->event);
	stream->event = NULL;
	if (stream->transport.ops)
		stream->transport.ops->done(&stream->transport);
	rf_buf_done(&stream->in);
	rf_buf_done(&stream->out);
}

/* Forgets bytes that are done with. */
static void tidy(struct rf_buf *buf, size_t *at)
{
	if (*at == 0)
		return;
	if (*at < buf->len)
		memmove(buf->data, buf->data + *at, buf->len - *at);
	buf->len -= *at;
	*at = 0;
}

ssize_t rf_stream_fill(struct rf_stream *stream)
{
	size_t size = stream->is_bulk ? PIECE : FIRST, room;
	char *place;
	ssize_t n;

	tidy(&stream->in, &stream->in_at);
	room = stream->in.max - stream->in.len;
	if (room == 0)
		return -ENOBUFS;
	if (stream->is_dry && stream->event)
		return -EAGAIN;
	if (size > room)
		size = room;
	place = rf_buf_reserve(&stream->in, size);
	if (!place)
		return -ENOMEM;
	n = stream->transport.ops->read(&stream->transport, place, size);
	if (n > 0) {
		rf_buf_grew(&stream->in, (size_t)n);
		stream->received += (size_t)n;
		stream->is_bulk = (size_t)n == size;
		stream->is_dry = !stream->is_bulk && !stream->transport.is_deep;
	} else if (n == -EAGAIN) {
		stream->is_dry = true;
	}
	return n;
}

struct rf_span rf_stream_input(const struct rf_stream *stream)
{
	if (stream->in.len == stream->in_at)
		return RF_SPAN("");
	return (struct rf_span){ stream->in.data + stream->in_at, stream->in.len - stream->in_at };
}

void rf_stream_drop(struct rf_stream *stream, size_t len)
{
	stream->in_at += len;
}

struct rf_buf *rf_stream_output(struct rf_stream *stream)
{
	tidy(&stream->out, &stream->out_at);
	return &stream->out;
}

/* Sends what can be sent of many bytes without keeping them.  What goes wrong is seen when the rest is sent. */
static struct rf_span write_through(struct rf_stream *stream, struct rf_span bytes)
{
	ssize_t n = 0;

	if (rf_stream_flush(stream) == 0)
		n = stream->transport.ops->write(&stream->transport, bytes.at, bytes.len);
	if (n <= 0)
		return bytes;
	stream->sent += (size_t)n;
	return rf_span_part(bytes, (size_t)n, bytes.len);
}

int rf_stream_write(struct rf_stream *stream, struct rf_span bytes)
{
	struct rf_buf *out = rf_stream_output(stream);

	if (bytes.len > out->max - out->len)
		return -ENOBUFS;
	if (bytes.len >= THROUGH) {
		bytes = write_through(stream, bytes);
		out = rf_stream_output(stream);
	}
	rf_buf_add(out, bytes.at, bytes.len);
	return out->has_failed ? -ENOMEM : 0;
}

int rf_stream_flush(struct rf_stream *stream)
{
	while (rf_stream_pending(stream) > 0) {
		ssize_t n = stream->transport.ops->write(&stream->transport,
							 stream->out.data + stream->out_at,
							 rf_stream_pending(stream));

		if (n < 0)
			return (int)n;
		stream->out_at += (size_t)n;
		stream->sent += (size_t)n;
	}
	tidy(&stream->out, &stream->out_at);
	return 0;
}

size_t rf_stream_pending(const struct rf_stream *stream)
{
	return stream->out.len - stream->out_at;
}

ssize_t rf_stream_splice(struct rf_stream *stream, int pipe, size_t len)
{
	ssize_t n = -ENOTSUP;

	if (stream->transport.ops->splice)
		n = stream->transport.ops->splice(&stream->transport, pipe, len);
	if (n > 0)
		stream->sent += (size_t)n;
	return n;
}

int rf_stream_move(struct rf_stream *from, struct rf_loop *loop, struct rf_stream *ret_stream,
		   rf_event_fn *fn, void *data, struct rf_err *err)
{
	struct rf_event *event;

	/* A descriptor is watched once; one that has hung up is watched again, to tell its new owner. */
	rf_event_cancel(from->event);
	from->event = NULL;
	if (rf_loop_watch(loop, from->transport.fd, 0, on_event, ret_stream, &event, err) < 0)
		return err->code;
	*ret_stream = *from;
	ret_stream->event = event;
	ret_stream->is_dry = false;
	ret_stream->fn = fn;
	ret_stream->data = data;
	*from = (struct rf_stream){ .transport.fd = -1 };
	return 0;
}

static void give_back(struct rf_buf *buf, size_t *at)
{
	if (*at == buf->len && buf->room > SPARE) {
		rf_buf_done(buf);
		*at = 0;
	}
}

void rf_stream_rest(struct rf_stream *stream)
{
	give_back(&stream->in, &stream->in_at);
	give_back(&stream->out, &stream->out_at);
	stream->is_bulk = false;
}

/*
 * Of bytes that a transport keeps, the kernel knows nothing; but of a socket that can be written to it tells at once.  One that can't be is told of later:
 * what is kept is less than a record, so the other end is not held up by it, and takes what is pending sooner or later.
 */
void rf_stream_wait(struct rf_stream *stream, bool wants_input)
{
	const struct rf_transport *transport = &stream->transport;
	int want = 0;

	if (wants_input)
		want |= transport->read_needs ? transport->read_needs : RF_LOOP_READ;
	if (wants_input && transport->is_deep && !stream->is_dry)
		want |= RF_LOOP_WRITE;
	if (rf_stream_pending(stream) > 0 || stream->wants_room)
		want |= transport->write_needs ? transport->write_needs : RF_LOOP_WRITE;
	rf_event_want(stream->event, want);
}
