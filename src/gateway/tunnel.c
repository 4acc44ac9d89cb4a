/* Bytes between two streams: see tunnel.h. */
#include "gateway/tunnel.h"

#include <errno.h>
#include <stdlib.h>

#define MS      1000000ull
#define PENDING (128 * 1024) /* bytes that wait for one end, above which the other is not read */
#define FILLS   8            /* reads in a row */
#define PIECE   (4 * 1024) /* bytes that are filtered in one turn: each frame among them makes work */
#define FILTERED                                                                                   \
	(256 * 1024) /* and what they may come to, with what was kept back of those before */

struct half {
	uint64_t bytes;
	bool has_ended, is_shut, is_slow;
};

struct rf_tunnel {
	struct rf_relay_options options;
	struct rf_stream inner, outer;
	struct half up, down;
	struct rf_deadline soon, limit;
	uint64_t active_ns, total_ns, wait_ns;
	bool has_begun;
	rf_tunnel_filter_fn *filter; /* or NULL */
	void *filter_data;
	struct rf_buf filtered;
};

static void run(struct rf_tunnel *tunnel);

static void free_tunnel(struct rf_tunnel *tunnel)
{
	rf_deadline_done(&tunnel->soon);
	rf_deadline_done(&tunnel->limit);
	rf_stream_done(&tunnel->inner);
	rf_stream_done(&tunnel->outer);
	rf_buf_done(&tunnel->filtered);
	free(tunnel);
}

static void finish(struct rf_tunnel *tunnel, enum rf_relay_end end)
{
	struct rf_relay_counts counts = { tunnel->up.bytes, tunnel->down.bytes };
	rf_relay_fn *fn = tunnel->options.fn;
	void *data = tunnel->options.data;

	free_tunnel(tunnel);
	fn(data, end, &counts);
}

struct rf_relay_counts rf_tunnel_cut(struct rf_tunnel *tunnel)
{
	struct rf_relay_counts counts = { tunnel->up.bytes, tunnel->down.bytes };

	free_tunnel(tunnel);
	return counts;
}

void rf_tunnel_on_event(void *tunnel, int what)
{
	struct rf_tunnel *t = tunnel;

	if (t->has_begun)
		run(t);
}

static void on_soon(void *data)
{
	run(data);
}

static void on_limit(void *data)
{
	struct rf_tunnel *tunnel = data;
	uint64_t idle = tunnel->options.idle_ms ? tunnel->active_ns + tunnel->options.idle_ms * MS
						: UINT64_MAX;
	uint64_t at = idle < tunnel->total_ns ? idle : tunnel->total_ns, now = rf_loop_now();

	if (now < at)
		rf_deadline_set(&tunnel->limit, at);
	else
		finish(tunnel, now >= tunnel->total_ns ? RF_RELAY_TOTAL : RF_RELAY_IDLE);
}

struct rf_tunnel *rf_tunnel_new(const struct rf_relay_options *options, struct rf_err *err)
{
	struct rf_tunnel *tunnel = calloc(1, sizeof(*tunnel));

	if (tunnel) {
		tunnel->options = *options;
		tunnel->inner.transport.fd = tunnel->outer.transport.fd = -1;
		if (rf_deadline_init(&tunnel->soon, options->deadlines, on_soon, tunnel) == 0 &&
		    rf_deadline_init(&tunnel->limit, options->deadlines, on_limit, tunnel) == 0)
			return tunnel;
		free_tunnel(tunnel);
	}
	rf_fail(err, -ENOMEM, "tunnel");
	return NULL;
}

struct rf_stream *rf_tunnel_inner(struct rf_tunnel *tunnel)
{
	return &tunnel->inner;
}

struct rf_stream *rf_tunnel_outer(struct rf_tunnel *tunnel)
{
	return &tunnel->outer;
}

void rf_tunnel_filter(struct rf_tunnel *tunnel, rf_tunnel_filter_fn *fn, void *data)
{
	tunnel->filter = fn;
	tunnel->filter_data = data;
	rf_buf_init(&tunnel->filtered, FILTERED);
}

void rf_tunnel_begin(struct rf_tunnel *tunnel)
{
	tunnel->has_begun = true;
	tunnel->active_ns = rf_loop_now();
	tunnel->total_ns = tunnel->options.total_ms
				   ? tunnel->active_ns + tunnel->options.total_ms * MS
				   : UINT64_MAX;
	rf_deadline_set(&tunnel->soon, tunnel->active_ns);
	rf_deadline_set(&tunnel->limit, tunnel->active_ns + 1);
}

/* Passes on what was read; false if it can't be. */
static bool pass(struct rf_tunnel *tunnel, struct rf_stream *from, struct rf_stream *to,
		 struct half *half)
{
	struct rf_pace_bytes *pace =
		half == &tunnel->up ? tunnel->options.up : tunnel->options.down;
	struct rf_span bytes = rf_stream_input(from);
	uint64_t wait;
	size_t room = pace ? rf_pace_bytes_room(pace, bytes.len, rf_loop_now(), &wait) : bytes.len;

	if (bytes.len == 0)
		return true;
	half->is_slow = room < bytes.len;
	if (half->is_slow && (!tunnel->wait_ns || wait < tunnel->wait_ns))
		tunnel->wait_ns = wait ? wait : MS;
	if (room == 0)
		return true;
	if (tunnel->filter && room > PIECE)
		room = PIECE;
	bytes.len = room;
	if (tunnel->filter) {
		rf_buf_clear(&tunnel->filtered);
		if (tunnel->filter(tunnel->filter_data, half == &tunnel->up, bytes,
				   &tunnel->filtered) < 0)
			return false;
		bytes = (struct rf_span){ tunnel->filtered.data, tunnel->filtered.len };
	}
	if (bytes.len > 0 && rf_stream_write(to, bytes) < 0)
		return false;
	rf_stream_drop(from, room);
	if (pace)
		rf_pace_bytes_spend(pace, room);
	half->bytes += room;
	tunnel->active_ns = rf_loop_now();
	return true;
}

/* One way, as far as it goes.  False: it broke. */
static bool go_on(struct rf_tunnel *tunnel, struct rf_stream *from, struct rf_stream *to,
		  struct half *half)
{
	int code;

	half->is_slow = false;
	for (int i = 0; i < (tunnel->filter ? 1 : FILLS) && !half->is_slow; i++) {
		ssize_t n;

		if (!pass(tunnel, from, to, half))
			return false;
		if (half->has_ended || half->is_slow || rf_stream_pending(to) > PENDING ||
		    rf_stream_input(from).len > 0)
			break;
		n = rf_stream_fill(from);
		if (n == 0)
			half->has_ended = true;
		else if (n == -EAGAIN)
			break;
		else if (n < 0)
			return false;
	}
	code = rf_stream_flush(to);
	if (code < 0 && code != -EAGAIN)
		return false;
	if (half->has_ended && !half->is_shut && rf_stream_input(from).len == 0 &&
	    rf_stream_pending(to) == 0) {
		to->transport.ops->shut(&to->transport);
		half->is_shut = true;
	}
	return true;
}

/* Bytes are here that can go on at once: where they are filtered, not all of them did. */
static bool has_more(const struct rf_stream *from, const struct rf_stream *to,
		     const struct half *half)
{
	return rf_stream_input(from).len > 0 && !half->is_slow && rf_stream_pending(to) <= PENDING;
}

static void run(struct rf_tunnel *tunnel)
{
	bool wants_up, wants_down;

	tunnel->wait_ns = 0;
	if (!go_on(tunnel, &tunnel->inner, &tunnel->outer, &tunnel->up) ||
	    !go_on(tunnel, &tunnel->outer, &tunnel->inner, &tunnel->down)) {
		finish(tunnel, RF_RELAY_RESET);
		return;
	}
	if (tunnel->up.is_shut && tunnel->down.is_shut) {
		finish(tunnel, RF_RELAY_WHOLE);
		return;
	}
	wants_up = !tunnel->up.has_ended && !tunnel->up.is_slow &&
		   rf_stream_pending(&tunnel->outer) <= PENDING;
	wants_down = !tunnel->down.has_ended && !tunnel->down.is_slow &&
		     rf_stream_pending(&tunnel->inner) <= PENDING;
	rf_stream_wait(&tunnel->inner, wants_up);
	rf_stream_wait(&tunnel->outer, wants_down);
	/* What is here already, nobody tells us of; nor of one that has hung up. */
	if (has_more(&tunnel->inner, &tunnel->outer, &tunnel->up) ||
	    has_more(&tunnel->outer, &tunnel->inner, &tunnel->down) ||
	    (!tunnel->inner.event && wants_up) || (!tunnel->outer.event && wants_down))
		rf_deadline_set(&tunnel->soon, rf_loop_now());
	else if (tunnel->wait_ns)
		rf_deadline_set(&tunnel->soon, rf_loop_now() + tunnel->wait_ns);
}
