/*
 * The bytes of one connection, in and out, on the loop.
 *
 * Buffers on both sides, each with its maximum: what comes is read when its owner wants it and has room, so a slow owner slows the sender down; what
 * goes is kept until the other end takes it, and the owner can ask how much that is.  The stream decides nothing: its owner is told that
 * something can be done, and fills, drops, writes and flushes.
 */
#ifndef RF_HTTP_STREAM_H
#define RF_HTTP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "http/span.h"
#include "http/transport.h"

struct rf_stream {
	struct rf_transport transport;
	struct rf_event *event; /* NULL: hung up, and nothing needs to be waited for */
	struct rf_buf in, out;
	size_t in_at, out_at;    /* bytes of each that are done with */
	uint64_t received, sent; /* bytes so far */
	bool is_bulk;            /* the last read got all it asked for */
	bool is_dry;             /* it got less, so there is no more until the loop says so */
	bool wants_room; /* to be told when the other end takes more, though nothing is pending */
	rf_event_fn *fn;
	void *data;
};

/*
 * Takes the transport, also on failure; `in_max` and `out_max` bytes are kept at most.  `fn` is told what can be done, once
 * rf_stream_wait() has said what is wanted.
 */
int rf_stream_init(struct rf_stream *stream, struct rf_loop *loop, struct rf_transport transport,
		   size_t in_max, size_t out_max, rf_event_fn *fn, void *data, struct rf_err *err);
void rf_stream_done(struct rf_stream *stream);

/* Reads once.  The number of bytes, 0 at the end, or a negative errno: -EAGAIN for none, -ENOBUFS for no room. */
ssize_t rf_stream_fill(struct rf_stream *stream);

/* What was read and not dropped; it stays where it is until the next fill. */
struct rf_span rf_stream_input(const struct rf_stream *stream);
void rf_stream_drop(struct rf_stream *stream, size_t len);

/* The buffer of what is to be sent, to append to: all of it is pending. */
struct rf_buf *rf_stream_output(struct rf_stream *stream);

/* Sends bytes, or keeps them to be sent (copies).  -ENOBUFS if they are too many; none is sent then. */
int rf_stream_write(struct rf_stream *stream, struct rf_span bytes);

/* Sends what can be sent.  0 if that is all, -EAGAIN if some is left, or why nothing can be sent any more. */
int rf_stream_flush(struct rf_stream *stream);
size_t rf_stream_pending(const struct rf_stream *stream);

/*
 * Sends up to `len` bytes that lie in a pipe (borrows), past the buffer: nothing may be pending.  How many it were; or a negative errno: -EAGAIN if
 * the other end takes none now, -ENOTSUP if the transport has to see the bytes.
 */
ssize_t rf_stream_splice(struct rf_stream *stream, int pipe, size_t len);

/* Nothing is under way: gives back memory that a waiting connection does not need. */
void rf_stream_rest(struct rf_stream *stream);

/*
 * Moves a stream to a new owner, with the bytes that it holds; the old one is done.  `*ret_stream` must stay where it is.  On failure nothing has
 * moved.
 */
int rf_stream_move(struct rf_stream *from, struct rf_loop *loop, struct rf_stream *ret_stream,
		   rf_event_fn *fn, void *data, struct rf_err *err);

/*
 * Says what to wait for: input if it is wanted, and the other end while anything is pending.  If the transport may have input that the loop can't know
 * of, `fn` is told at once.
 */
void rf_stream_wait(struct rf_stream *stream, bool wants_input);

#endif
