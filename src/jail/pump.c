/* A pump: see pump.h. */
#include "jail/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define SURE_PIPE 4096 /* PIPE_BUF: a pipe that polls writable takes this much */

static void on_read(void *data, int what);
static void on_write(void *data, int what);

/*
 * O_NONBLOCK on the caller's standard streams would be seen by everyone who shares them, the shell
 * included; a description of our own is opened through /proc instead.  Returns -1 where that can't
 * be: a file never blocks, a socket has its own way, and the rest is polled first.
 */
static int open_anew(int fd, int flags, bool *ret_is_socket)
{
	char link[32];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	*ret_is_socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return open(link, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static bool is_blocking(int fd)
{
	return !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static int source(const struct rf_pump *pump)
{
	return pump->own_from >= 0 ? pump->own_from : pump->from;
}

int rf_pump_start(struct rf_pump *pump, struct rf_loop *loop, struct rf_err *err)
{
	pump->loop = loop;
	pump->own_to = pump->own_from = -1;
	if (is_blocking(pump->from))
		pump->own_from = open_anew(pump->from, O_RDONLY, &pump->is_from_socket);
	if (!pump->into && is_blocking(pump->to)) {
		pump->own_to = open_anew(pump->to, O_WRONLY, &pump->is_socket);
		pump->is_small = pump->own_to < 0;
	}
	return rf_loop_watch(loop, source(pump), RF_LOOP_READ, on_read, pump, &pump->read_event,
			     err);
}

static int target(const struct rf_pump *pump)
{
	return pump->own_to >= 0 ? pump->own_to : pump->to;
}

static void finish(struct rf_pump *pump)
{
	if (pump->is_done)
		return;
	pump->is_done = true;
	rf_pump_done(pump);
	if (pump->on_done)
		pump->on_done(pump->data, pump);
}

static bool is_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) != 0; /* who can't ask tries */
}

static ssize_t write_some(struct rf_pump *pump)
{
	const char *data = pump->buffer + pump->at;
	size_t len = pump->len - pump->at;

	/* What it began is a sequence, maybe: two halves of different ones could make a third. */
	if (pump->other && pump->other->at > 0 && pump->other->at < pump->other->len &&
	    !pump->other->is_done) {
		errno = EAGAIN;
		return -1;
	}
	if (pump->is_socket)
		return send(pump->to, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (pump->is_small) {
		if (!is_writable(pump->to)) {
			errno = EAGAIN;
			return -1;
		}
		len = len < SURE_PIPE ? len : SURE_PIPE;
	}
	return write(target(pump), data, len);
}

/* Writes what there is; waits for room where there is none. */
static void flush(struct rf_pump *pump)
{
	struct rf_err err;

	while (pump->at < pump->len) {
		ssize_t n = write_some(pump);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* Not only paused: the end of the source would be told again and again. */
			rf_event_cancel(pump->read_event);
			pump->read_event = NULL;
			if (!pump->write_event &&
			    rf_loop_watch(pump->loop, target(pump), RF_LOOP_WRITE, on_write, pump,
					  &pump->write_event, &err) < 0)
				finish(pump);
			return;
		}
		if (n < 0) {
			pump->write_errno = errno;
			finish(pump); /* nobody reads any more */
			return;
		}
		pump->at += (size_t)n;
	}
	pump->at = pump->len = 0;
	rf_event_cancel(pump->write_event);
	pump->write_event = NULL;
	if (pump->has_source_ended ||
	    (!pump->read_event && rf_loop_watch(pump->loop, source(pump), RF_LOOP_READ, on_read,
						pump, &pump->read_event, &err) < 0))
		finish(pump);
}

static void on_write(void *data, int what)
{
	struct rf_pump *pump = data;

	(void)what;
	flush(pump);
	if (pump->is_last_call) /* whoever else holds the source, nothing more is waited for */
		rf_pump_last_call(pump);
}

/* Where bytes are read to: with a guard, what passes is written before them. */
static size_t room_before(const struct rf_pump *pump)
{
	return pump->guard ? RF_GUARD_SLACK : 0;
}

static ssize_t read_some(struct rf_pump *pump)
{
	char *to = pump->buffer + room_before(pump);
	size_t room = sizeof(pump->buffer) - room_before(pump) - (pump->guard ? RF_GUARD_END : 0);

	if (pump->is_from_socket)
		return recv(pump->from, to, room, MSG_DONTWAIT);
	return read(source(pump), to, room);
}

/* Takes `len` bytes past the guard, and at the end what puts a terminal back. */
static size_t guard(struct rf_pump *pump, size_t len)
{
	if (!pump->guard)
		return len;
	len = rf_guard_pass(pump->guard, pump->buffer + room_before(pump), len, pump->buffer);
	if (pump->has_source_ended)
		len += rf_guard_end(pump->guard, pump->buffer + len);
	return len;
}

static void on_read(void *data, int what)
{
	struct rf_pump *pump = data;
	ssize_t n;
	size_t len;

	if (!(what & (RF_LOOP_READ | RF_LOOP_HANGUP)) || pump->len > 0)
		return;
	n = read_some(pump);
	if (n < 0 && (errno == EINTR || (errno == EAGAIN && !pump->is_last_call)))
		return;
	if (n < 0 && errno != EAGAIN && errno != EIO) /* which is how a pty says that it is over */
		pump->write_errno = errno;
	len = n > 0 ? (size_t)n : 0;
	pump->total += len;
	if (len == 0 || (pump->on_bytes && !pump->on_bytes(pump->data, pump, &len)))
		rf_pump_end_source(pump);
	len = guard(pump, len);
	if (pump->into) {
		rf_buf_add(pump->into, pump->buffer, len);
		if (pump->into->has_failed) {
			pump->write_errno = ENOMEM;
			rf_pump_end_source(pump);
		}
	} else {
		pump->len = len;
	}
	flush(pump);
}

void rf_pump_last_call(struct rf_pump *pump)
{
	pump->is_last_call = true;
	while (!pump->is_done && !pump->has_source_ended && pump->len == 0)
		on_read(pump, RF_LOOP_READ);
}

void rf_pump_end_source(struct rf_pump *pump)
{
	pump->has_source_ended = true;
	rf_event_cancel(pump->read_event);
	pump->read_event = NULL;
}

void rf_pump_done(struct rf_pump *pump)
{
	rf_event_cancel(pump->read_event);
	rf_event_cancel(pump->write_event);
	pump->read_event = pump->write_event = NULL;
	rf_fd_done(&pump->own_from);
	rf_fd_done(&pump->own_to);
}
