/*
 * What a server of HTTP/2 sends, from its first settings on, and then its end: a request that was begun ends once, whatever came.  Its body is whole if the
 * input's length is even, and else never.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/call.h"
#include "http2/h2-client.h"
#include "replay.h"

static const char settings[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0 };
static struct rf_loop *loop;
static struct rf_deadlines *deadlines;
static unsigned ended;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void on_end(void *own, struct rf_call *call, const struct rf_err *err)
{
	(void)own;
	(void)call;
	(void)err;
	ended++;
	rf_loop_stop(loop);
}

static bool on_idle(struct rf_call_host *host, struct rf_call *call)
{
	(void)host;
	(void)call;
	return false;
}

static void begin(struct rf_call_host *host, struct rf_transport line, bool is_whole)
{
	static const struct rf_call_ops ops = { .on_end = on_end };
	static const struct rf_call_origin origin;
	struct rf_field field = { RF_SPAN("Content-Type"), RF_SPAN("application/grpc") };
	struct rf_authority authority = { 0 };
	struct rf_call_request request = { .method = RF_SPAN("POST"),
					   .target = RF_SPAN("/a.B/C"),
					   .authority = &authority,
					   .fields = { &field, 1 },
					   .body = RF_BODY_CHUNKED };
	struct rf_err err = RF_ERR_INIT;
	struct rf_call *call = NULL;

	require(rf_host_parse(RF_SPAN("a.example"), &authority.host) == RF_FAULT_NONE);
	require(rf_call_new_on(host, &origin, line, &call, &err) == 0);
	require(rf_call_begin(call, &request, &ops, NULL, &err) == 0);
	rf_call_send(call, RF_SPAN("body"));
	if (is_whole)
		rf_call_finish(call, (struct rf_fields){ 0 });
}

RF_FUZZ(data, size)
{
	struct rf_call_host host = { .limits = &rf_call_usual, .on_idle = on_idle };
	struct rf_err err = RF_ERR_INIT;
	struct rf_transport line;
	int fds[2];

	if (size > 32768)
		return 0;
	if (!loop)
		require(rf_loop_new(&loop, &err) == 0 &&
			rf_deadlines_new(loop, &deadlines, &err) == 0);
	host.loop = loop;
	host.deadlines = deadlines;
	ended = 0;
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	require(rf_h2_client_new(loop, deadlines, rf_transport_plain(&fds[1]), &line, &err) == 0);
	begin(&host, line, size % 2 == 0);
	require(write(fds[0], settings, sizeof(settings)) == sizeof(settings));
	require(size == 0 || write(fds[0], data, size) == (ssize_t)size);
	shutdown(fds[0], SHUT_WR);
	require(rf_loop_run(loop, &err) == 0 && ended == 1);
	close(fds[0]);
	return 0;
}
