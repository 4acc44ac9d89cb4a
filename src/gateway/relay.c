/*
 * Bytes between two connections: see relay.h.
 *
 * Everything happens in run(), which lets each way go on as far as it can, within bounds, and then says what to wait for.
 */
#include "gateway/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define MS         1000000ull
#define PIPE_BYTES (1024 * 1024)
#define LARGE                                                                                      \
	16 /* pipes of that size: the kernel gives a user who has too much in pipes only small ones, everywhere */
#define PIPES_IDLE 32
#define ASK_MS     5
#define TURN_BYTES (1024 * 1024) /* each way, before others have their turn */

struct pipe {
	int read, write;
	bool is_large;
};

struct rf_relay_pipes {
	struct pipe idle[PIPES_IDLE];
	size_t count, large;
};

struct way {
	struct pipe pipe; /* or -1: nothing is in it */
	size_t in_pipe;
	uint64_t bytes;
	struct rf_pace_bytes *pace;
	bool has_ended; /* the sender sends no more */
	bool is_shut;   /* and the taker was told so */
	bool wants_read, wants_write;
	uint64_t wait_ns; /* for the pace */
};

struct side {
	int fd;
	struct rf_event *event; /* NULL: hung up */
};

struct rf_relay {
	struct rf_relay_options options;
	struct side inner, outer;
	struct way up, down;
	struct rf_buf early;
	size_t early_at;
	struct rf_deadline soon, limit;
	uint64_t active_ns, total_ns;
	bool is_held;    /* the inner one, until may_pass() */
	bool is_unheard; /* the outer one, until may_answer() */
};

/* ------------------------------------------------------------- pipes */

struct rf_relay_pipes *rf_relay_pipes_new(void)
{
	return calloc(1, sizeof(struct rf_relay_pipes));
}

void rf_relay_pipes_free(struct rf_relay_pipes *pipes)
{
	if (!pipes)
		return;
	for (size_t i = 0; i < pipes->count; i++) {
		rf_fd_done(&pipes->idle[i].read);
		rf_fd_done(&pipes->idle[i].write);
	}
	free(pipes);
}

static int take_pipe(struct rf_relay_pipes *pipes, struct pipe *ret_pipe)
{
	int fds[2];

	if (pipes->count > 0) {
		*ret_pipe = pipes->idle[--pipes->count];
		return 0;
	}
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	*ret_pipe = (struct pipe){ .read = fds[0], .write = fds[1] };
	ret_pipe->is_large = pipes->large < LARGE && fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES) > 0;
	pipes->large += ret_pipe->is_large;
	return 0;
}

/* Only an empty one is used again. */
static void give_pipe(struct rf_relay_pipes *pipes, struct pipe *pipe, bool is_empty)
{
	if (pipe->read >= 0 && is_empty && pipes->count < PIPES_IDLE) {
		pipes->idle[pipes->count++] = *pipe;
	} else {
		pipes->large -= pipe->is_large;
		rf_fd_done(&pipe->read);
		rf_fd_done(&pipe->write);
	}
	*pipe = (struct pipe){ .read = -1, .write = -1 };
}

/* ------------------------------------------------------------- life */

static void run(struct rf_relay *relay);

static void free_relay(struct rf_relay *relay)
{
	rf_event_cancel(relay->inner.event);
	rf_event_cancel(relay->outer.event);
	give_pipe(relay->options.pipes, &relay->up.pipe, relay->up.in_pipe == 0);
	give_pipe(relay->options.pipes, &relay->down.pipe, relay->down.in_pipe == 0);
	rf_fd_done(&relay->inner.fd);
	rf_fd_done(&relay->outer.fd);
	rf_deadline_done(&relay->soon);
	rf_deadline_done(&relay->limit);
	rf_buf_done(&relay->early);
	free(relay);
}

static void make_reset(int fd)
{
	static const struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

struct rf_relay_counts rf_relay_count(const struct rf_relay *relay)
{
	return (struct rf_relay_counts){ relay->up.bytes, relay->down.bytes };
}

static void finish(struct rf_relay *relay, enum rf_relay_end end)
{
	struct rf_relay_counts counts = rf_relay_count(relay);
	rf_relay_fn *fn = relay->options.fn;
	void *data = relay->options.data;

	if (end != RF_RELAY_WHOLE) {
		make_reset(relay->inner.fd);
		make_reset(relay->outer.fd);
	}
	free_relay(relay);
	fn(data, end, &counts);
}

struct rf_relay_counts rf_relay_cut(struct rf_relay *relay)
{
	struct rf_relay_counts counts = rf_relay_count(relay);

	make_reset(relay->inner.fd);
	make_reset(relay->outer.fd);
	free_relay(relay);
	return counts;
}

/* An end that has hung up is told for ever: it is watched no more, and read as far as the other takes it. */
static void on_side(struct rf_relay *relay, struct side *side, int what)
{
	if (what & RF_LOOP_HANGUP) {
		rf_event_cancel(side->event);
		side->event = NULL;
	}
	run(relay);
}

static void on_inner(void *data, int what)
{
	struct rf_relay *relay = data;

	on_side(relay, &relay->inner, what);
}

static void on_outer(void *data, int what)
{
	struct rf_relay *relay = data;

	on_side(relay, &relay->outer, what);
}

static void on_soon(void *data)
{
	run(data);
}

static uint64_t limit_of(const struct rf_relay *relay)
{
	uint64_t idle = relay->options.idle_ms ? relay->active_ns + relay->options.idle_ms * MS
					       : UINT64_MAX;

	return idle < relay->total_ns ? idle : relay->total_ns;
}

static void on_limit(void *data)
{
	struct rf_relay *relay = data;
	uint64_t now = rf_loop_now(), at = limit_of(relay);

	if (now < at)
		rf_deadline_set(&relay->limit, at);
	else
		finish(relay, now >= relay->total_ns ? RF_RELAY_TOTAL : RF_RELAY_IDLE);
}

int rf_relay_new(const struct rf_relay_options *options, int *inner, int *outer,
		 struct rf_span early, struct rf_relay **ret_relay, struct rf_err *err)
{
	struct rf_relay *relay = calloc(1, sizeof(*relay));

	if (!relay) {
		rf_fd_done(inner);
		rf_fd_done(outer);
		return rf_fail(err, -ENOMEM, "relay");
	}
	relay->options = *options;
	relay->inner.fd = rf_fd_take(inner);
	relay->outer.fd = rf_fd_take(outer);
	relay->up = (struct way){ .pipe = { -1, -1 }, .pace = options->up };
	relay->down = (struct way){ .pipe = { -1, -1 }, .pace = options->down };
	relay->is_held = options->may_pass != NULL;
	relay->is_unheard = options->may_answer != NULL;
	relay->active_ns = rf_loop_now();
	relay->total_ns =
		options->total_ms ? relay->active_ns + options->total_ms * MS : UINT64_MAX;
	rf_buf_init(&relay->early, early.len + 1);
	rf_buf_add(&relay->early, early.at, early.len);
	if (relay->early.has_failed ||
	    rf_deadline_init(&relay->soon, options->deadlines, on_soon, relay) < 0 ||
	    rf_deadline_init(&relay->limit, options->deadlines, on_limit, relay) < 0) {
		free_relay(relay);
		return rf_fail(err, -ENOMEM, "relay");
	}
	if (rf_loop_watch(options->loop, relay->inner.fd, 0, on_inner, relay, &relay->inner.event,
			  err) < 0 ||
	    rf_loop_watch(options->loop, relay->outer.fd, 0, on_outer, relay, &relay->outer.event,
			  err) < 0) {
		free_relay(relay);
		return err->code;
	}
	rf_deadline_set(&relay->soon, rf_loop_now());
	if (limit_of(relay) != UINT64_MAX)
		rf_deadline_set(&relay->limit, limit_of(relay));
	*ret_relay = relay;
	return 0;
}

/* ------------------------------------------------------------- bytes */

/* Sends what is in the pipe.  1: all of it; 0: some is left; or why nothing can be sent. */
static int empty_pipe(struct rf_relay *relay, struct way *way, int to)
{
	while (way->in_pipe > 0) {
		ssize_t n = splice(way->pipe.read, NULL, to, NULL, way->in_pipe,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			way->wants_write = true;
			return 0;
		}
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		way->in_pipe -= (size_t)n;
		way->bytes += (size_t)n;
	}
	give_pipe(relay->options.pipes, &way->pipe, true);
	return 1;
}

/* Urgent data has come: splice() goes no further, and the kernel says again and again that there is something to read. */
static bool is_urgent(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_OOB | MSG_PEEK | MSG_DONTWAIT) >= 0 || errno == EAGAIN;
}

/* Takes some more into the pipe.  Bytes, 0: none now, or why not. */
static ssize_t fill_pipe(struct rf_relay *relay, struct way *way, int from)
{
	size_t want =
		way->pace ? rf_pace_bytes_room(way->pace, PIPE_BYTES, rf_loop_now(), &way->wait_ns)
			  : PIPE_BYTES;
	ssize_t n;
	int code;

	if (want == 0)
		return 0;
	if (way->pipe.read < 0) {
		code = take_pipe(relay->options.pipes, &way->pipe);
		if (code < 0)
			return code;
	}
	do
		n = splice(from, NULL, way->pipe.write, NULL, want,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	code = errno;
	if (n <= 0)
		give_pipe(relay->options.pipes, &way->pipe, true);
	if (n < 0 && code == EAGAIN) {
		way->wants_read = true;
		return is_urgent(from) ? -EPROTO : 0;
	}
	if (n < 0)
		return -code;
	if (n == 0)
		way->has_ended = true;
	if (way->pace)
		rf_pace_bytes_spend(way->pace, (size_t)n);
	way->in_pipe = (size_t)n;
	return n;
}

/* Lets one way go on.  0, 1: it could go on at once, or why it can't any more. */
static int go_on(struct rf_relay *relay, struct way *way, int from, int to)
{
	size_t passed = 0;

	way->wants_read = way->wants_write = false;
	way->wait_ns = 0;
	for (;;) {
		int code = empty_pipe(relay, way, to);
		ssize_t n;

		if (code <= 0)
			return code;
		if (way->has_ended) {
			if (!way->is_shut)
				shutdown(to, SHUT_WR);
			way->is_shut = true;
			return 0;
		}
		if (passed >= TURN_BYTES)
			return 1;
		n = fill_pipe(relay, way, from);
		if (n < 0)
			return (int)n;
		if (n == 0 && !way->has_ended)
			return 0;
		passed += (size_t)n;
	}
}

/* What was read before the relay was there goes first.  1: it is sent, up to `end`. */
static int send_early(struct rf_relay *relay, size_t end)
{
	while (relay->early_at < end) {
		ssize_t n = send(relay->outer.fd, relay->early.data + relay->early_at,
				 end - relay->early_at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			relay->up.wants_write = true;
			return 0;
		}
		if (n < 0)
			return -errno;
		relay->early_at += (size_t)n;
		relay->up.bytes += (size_t)n;
	}
	return 1;
}

/* Whether what the inner one has said may pass. */
static int ask(struct rf_relay *relay)
{
	bool has_early = relay->early_at < relay->early.len;
	char first;
	ssize_t n = has_early ? 1 : recv(relay->inner.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
	int code;

	if (n < 0 && errno == EAGAIN) {
		relay->up.wants_read = true;
		return 0;
	}
	if (n < 0)
		return -errno;
	code = n == 0 ? 1 : relay->options.may_pass(relay->options.data, relay->inner.fd);
	relay->is_held = code <= 0;
	if (code == 0) /* what is there would be told again and again */
		relay->up.wait_ns = ASK_MS * MS;
	return code == -EAGAIN ? 0 : code;
}

/* Whether what the outer one says first may pass. */
static int ask_answer(struct rf_relay *relay)
{
	char first;
	ssize_t n = recv(relay->outer.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
	int code;

	if (n < 0 && errno == EAGAIN) {
		relay->down.wants_read = true;
		return 0;
	}
	if (n < 0)
		return -errno;
	code = n == 0 ? 1 : relay->options.may_answer(relay->options.data, relay->outer.fd);
	relay->is_unheard = code <= 0;
	if (code == 0)
		relay->down.wait_ns = ASK_MS * MS;
	return code;
}

static int go_up(struct rf_relay *relay)
{
	int code = 1;

	relay->up.wants_read = relay->up.wants_write = false;
	relay->up.wait_ns = 0;
	if (relay->is_held)
		code = send_early(relay, relay->options.greeting);
	if (relay->is_held && code > 0)
		code = ask(relay);
	if (code > 0)
		code = send_early(relay, relay->early.len);
	return code <= 0 ? code : go_on(relay, &relay->up, relay->inner.fd, relay->outer.fd);
}

static int go_down(struct rf_relay *relay)
{
	bool was_unheard = relay->is_unheard;
	int code = 1;

	relay->down.wants_read = relay->down.wants_write = false;
	relay->down.wait_ns = 0;
	if (relay->is_unheard)
		code = ask_answer(relay);
	if (code > 0)
		code = go_on(relay, &relay->down, relay->outer.fd, relay->inner.fd);
	/* What waited for an answer is asked about again. */
	return code == 0 && was_unheard && !relay->is_unheard ? 1 : code;
}

static void want(struct side *side, const struct way *from, const struct way *to)
{
	if (side->event)
		rf_event_want(side->event, (from->wants_read ? RF_LOOP_READ : 0) |
						   (to->wants_write ? RF_LOOP_WRITE : 0));
}

/* One that waits for an end that has hung up, and can't tell any more, would wait for ever. */
static bool is_stuck(const struct side *side, const struct way *from, const struct way *to)
{
	return !side->event && (from->wants_read || to->wants_write);
}

static enum rf_relay_end end_of(int code)
{
	return code == -EMFILE || code == -ENFILE || code == -ENOMEM ? RF_RELAY_FAILED
								     : RF_RELAY_RESET;
}

static void run(struct rf_relay *relay)
{
	uint64_t before = relay->up.bytes + relay->down.bytes, wait = 0;
	int up = go_up(relay), down;

	if (up < 0) {
		finish(relay, end_of(up));
		return;
	}
	down = go_down(relay);
	if (down < 0) {
		finish(relay, end_of(down));
		return;
	}
	if (relay->up.is_shut && relay->down.is_shut) {
		finish(relay, RF_RELAY_WHOLE);
		return;
	}
	if (is_stuck(&relay->inner, &relay->up, &relay->down) ||
	    is_stuck(&relay->outer, &relay->down, &relay->up)) {
		finish(relay, RF_RELAY_RESET);
		return;
	}
	if (relay->up.bytes + relay->down.bytes > before)
		relay->active_ns = rf_loop_now();
	want(&relay->inner, &relay->up, &relay->down);
	want(&relay->outer, &relay->down, &relay->up);
	if (up > 0 || down > 0) {
		rf_deadline_set(&relay->soon, rf_loop_now());
		return;
	}
	wait = relay->up.wait_ns;
	if (relay->down.wait_ns && (!wait || relay->down.wait_ns < wait))
		wait = relay->down.wait_ns;
	if (wait)
		rf_deadline_set(&relay->soon, rf_loop_now() + wait);
}
