/*
 * A connection of HTTP/2 from its preface on, and then its end: it is told to be closed once, whatever came.  Requests find nobody inside if the input's
 * length is even, and else somebody who never answers.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "http2/http2.h"
#include "replay.h"

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
static struct rf_loop *loop;
static struct rf_deadlines *deadlines;
static int silent[256];
static size_t silent_count;
static unsigned closed;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int open_inside(void *data, struct rf_transport *ret_transport, struct rf_err *err)
{
	int fds[2];

	if (!*(const bool *)data || silent_count == RF_LEN(silent))
		return rf_fail_say(err, -ECONNREFUSED, "nobody is there");
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	silent[silent_count++] = fds[1];
	*ret_transport = rf_transport_plain(&fds[0]);
	return 0;
}

static void on_closed(void *data)
{
	(void)data;
	closed++;
	rf_loop_stop(loop);
}

/* Lets calls that were given up tell their end. */
static void on_last(void *data)
{
	(void)data;
	rf_loop_stop(loop);
}

RF_FUZZ(data, size)
{
	bool has_server = size % 2;
	struct rf_err err = RF_ERR_INIT;
	struct rf_http2_host host = { .limits = &rf_http2_usual,
				      .open = open_inside,
				      .on_closed = on_closed };
	struct rf_deadline last = { 0 };
	struct rf_http2 *http2;
	int fds[2];

	if (size > 32768)
		return 0;
	if (!loop)
		require(rf_loop_new(&loop, &err) == 0 &&
			rf_deadlines_new(loop, &deadlines, &err) == 0);
	host.loop = loop;
	host.deadlines = deadlines;
	closed = 0;
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	require(write(fds[0], preface, sizeof(preface)) == sizeof(preface));
	require(size == 0 || write(fds[0], data, size) == (ssize_t)size);
	shutdown(fds[0], SHUT_WR);
	require(rf_http2_new(&host, rf_transport_plain(&fds[1]), &has_server, &http2, &err) == 0);
	require(rf_loop_run(loop, &err) == 0 && closed == 1);
	require(rf_deadline_init(&last, deadlines, on_last, NULL) == 0);
	rf_deadline_set(&last, rf_loop_now());
	require(rf_loop_run(loop, &err) == 0 && closed == 1);
	rf_deadline_done(&last);
	close(fds[0]);
	while (silent_count > 0)
		close(silent[--silent_count]);
	return 0;
}
