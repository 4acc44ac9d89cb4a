/*
 * HTTP/2 for a server that speaks HTTP/1.1: one connection, and the requests on it.
 *
 * Frames and header compression are nghttp2's; what they carry is handed on as HTTP/1.1, each request on a connection of its own to whoever serves
 * that (`open` gives one, most often half of a socket pair).  So there is one place that reads, judges and answers requests, whatever they
 * came in, and what HTTP/2 adds is only a way to carry several at once.  A connection inside is used again when its answer is whole.
 *
 * Both ways slow down when one side does: windows are opened as bytes are passed on, and an answer that the client does not take
 * pauses its server.  A client that makes work without asking for anything (resets, pings, settings, priorities, empty frames) has a
 * budget of such frames, which grows with the requests that it lets finish and the bytes that it moves, and is closed when it is spent.
 *
 * Not carried: CONNECT, pushes.
 */
#ifndef RF_HTTP2_HTTP2_H
#define RF_HTTP2_HTTP2_H

#include "http/call.h"

struct rf_http2;

struct rf_http2_limits {
	uint32_t most_streams; /* requests at a time */
	uint32_t head_bytes;   /* of a request's head, as HPACK counts */
	uint32_t idle_ms;      /* without a request */
	uint32_t spare_frames; /* that a client may send for nothing, at once */
};

extern const struct rf_http2_limits rf_http2_usual;

/* What the connections of one server have in common (borrows all). */
struct rf_http2_host {
	struct rf_loop *loop;
	struct rf_deadlines *deadlines;
	const struct rf_http2_limits *limits;
	/* A connection of HTTP/1.1 for requests of a client (its data); gives a transport. */
	int (*open)(void *data, struct rf_transport *ret_transport, struct rf_err *err);
	const struct rf_call_limits *inside; /* of those connections; NULL: the usual */
	/* The connection is gone, and with it what `data` was for. */
	void (*on_closed)(void *data);
};

/* A connection on which HTTP/2 was agreed upon.  Takes the transport, also on failure; `data` is what `open` is given.  It lives until it is closed. */
int rf_http2_new(const struct rf_http2_host *host, struct rf_transport transport, void *data,
		 struct rf_http2 **ret_http2, struct rf_err *err);

/* Closes it; on_closed() is called. */
void rf_http2_close(struct rf_http2 *h);

#endif
