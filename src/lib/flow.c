/* A flow: see flow.h. */
#include "lib/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define ROOM   65536
#define SURE   4096 /* PIPE_BUF: a pipe that polls writable takes this much */
#define ROUNDS 16   /* before others have their turn */

enum {
	FROM,
	TO
};

/*
 * write(2) without SIGPIPE: the signal is blocked in this thread meanwhile, and one that is our doing is
 * taken away again.
 */
static ssize_t write_quietly(int fd, const void *data, size_t len)
{
	const struct timespec now = { 0 };
	sigset_t pipe_set, before, pending;
	ssize_t n;
	int code;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
	n = write(fd, data, len);
	code = errno;
	if (n < 0 && code == EPIPE && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return n;
}

static int fd_of(const struct rf_flow *flow, int end)
{
	return end == FROM ? flow->from : flow->to;
}

/* Waits for one end and not for the other. */
static void watch(struct rf_flow *flow, int end, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = flow };
	uint32_t before = flow->watched[end];

	if (fd_of(flow, end) < 0 || flow->is_unwatched[end] || before == events)
		return;
	if (epoll_ctl(flow->poll,
		      !before  ? EPOLL_CTL_ADD
		      : events ? EPOLL_CTL_MOD
			       : EPOLL_CTL_DEL,
		      fd_of(flow, end), &event) < 0 &&
	    errno == EPERM)
		flow->is_unwatched[end] = true;
	else
		flow->watched[end] = events;
}

void rf_flow_done(struct rf_flow *flow)
{
	/* Not by closing: a copy of the descriptor elsewhere would stay in the set. */
	watch(flow, FROM, 0);
	watch(flow, TO, 0);
	rf_fd_done(&flow->from);
	rf_fd_done(&flow->to);
	free(flow->buffer);
	flow->buffer = NULL;
	flow->at = flow->len = 0;
	flow->is_over = true;
}

static bool is_ready(int fd, short what)
{
	struct pollfd ask = { .fd = fd, .events = what };

	return poll(&ask, 1, 0) > 0;
}

/* Returns what write(2) does, and -1 with EAGAIN where it would wait. */
static ssize_t push(struct rf_flow *flow, const char *bytes, size_t len)
{
	if (flow->is_blocking[TO] && !is_ready(flow->to, POLLOUT)) {
		errno = EAGAIN;
		return -1;
	}
	return write_quietly(flow->to, bytes, flow->is_blocking[TO] && len > SURE ? SURE : len);
}

/* Writes what waits.  False: the rest has to wait, or there is nobody to write to. */
static bool write_rest(struct rf_flow *flow)
{
	while (flow->at < flow->len) {
		ssize_t n = push(flow, flow->buffer + flow->at, flow->len - flow->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			watch(flow, FROM, 0);
			watch(flow, TO, EPOLLOUT);
			return false;
		}
		if (n < 0) {
			flow->write_errno = errno;
			rf_flow_done(flow);
			return false;
		}
		flow->at += (size_t)n;
	}
	flow->at = flow->len = 0;
	return true;
}

/* The same, out of the caller's memory. */
static void write_bytes(struct rf_flow *flow)
{
	while (flow->left > 0) {
		ssize_t n = push(flow, flow->bytes, flow->left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			watch(flow, TO, EPOLLOUT);
			return;
		}
		if (n < 0)
			break; /* it does not want the rest */
		flow->bytes += n;
		flow->left -= (size_t)n;
	}
	rf_flow_done(flow);
}

/* Reads once.  False: there is nothing now, or never again. */
static bool read_some(struct rf_flow *flow, char *room)
{
	bool goes_on = true;
	ssize_t n = -1;
	size_t len;

	if (flow->is_blocking[FROM] && !is_ready(flow->from, POLLIN))
		errno = EAGAIN;
	else
		n = read(flow->from, room, ROOM);
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN && !flow->is_last) {
		watch(flow, TO, 0);
		watch(flow, FROM, EPOLLIN);
		return false;
	}
	if (n <= 0) {
		rf_flow_done(flow);
		return false;
	}
	flow->total += (size_t)n;
	len = (size_t)n;
	if (flow->on_bytes)
		goes_on = flow->on_bytes(flow->data, flow, room, &len);
	if (flow->to >= 0) {
		flow->at = 0;
		flow->len = len;
	}
	if (!goes_on) {
		watch(flow, FROM, 0);
		rf_fd_done(&flow->from); /* what waits is still written */
		if (flow->len == 0)
			rf_flow_done(flow);
	}
	return goes_on;
}

void rf_flow_step(struct rf_flow *flow)
{
	if (!flow->is_over && flow->bytes) {
		write_bytes(flow);
		return;
	}
	if (!flow->is_over && !flow->buffer) {
		flow->buffer = malloc(ROOM);
		if (!flow->buffer) {
			flow->write_errno = ENOMEM;
			rf_flow_done(flow);
		}
	}
	for (int i = 0; i < ROUNDS && !flow->is_over; i++) {
		if (!write_rest(flow))
			return;
		if (flow->from < 0) {
			rf_flow_done(flow);
			return;
		}
		if (!read_some(flow, flow->buffer))
			break;
	}
	if (!flow->is_over && flow->from < 0 && write_rest(flow))
		rf_flow_done(flow);
}

static void look_at(struct rf_flow *flow, int end)
{
	int fd = fd_of(flow, end);
	struct stat st;

	flow->is_blocking[end] = fd >= 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK) &&
				 !(fstat(fd, &st) == 0 && S_ISREG(st.st_mode));
}

int rf_flow_start(struct rf_flow *flow, int poll, struct rf_err *err)
{
	flow->poll = poll;
	look_at(flow, FROM);
	look_at(flow, TO);
	if (flow->bytes) {
		write_bytes(flow); /* most input fits into the pipe at once */
		return 0;
	}
	watch(flow, FROM, EPOLLIN);
	if (flow->is_unwatched[FROM])
		watch(flow, TO, EPOLLOUT);
	if (!flow->watched[FROM] && !flow->watched[TO])
		return rf_fail(err, -errno, "watch a stream");
	return 0;
}
