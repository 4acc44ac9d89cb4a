/* Bytes on their way to and from a box: src/lib/flow.c. */
#include "lib/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"

#define MANY (1 << 20)

static void make_pipe(int pair[2], int nonblocking_end)
{
	RF_REQUIRE(pipe2(pair, O_CLOEXEC) == 0, "pipe");
	if (nonblocking_end >= 0)
		fcntl(pair[nonblocking_end], F_SETFL, O_NONBLOCK);
}

/* Serves the flow as long as it is called for.  False if nobody calls. */
static bool serve(int poll, struct rf_flow *flow)
{
	struct epoll_event event;

	if (flow->is_over || epoll_wait(poll, &event, 1, 0) <= 0)
		return false;
	RF_CHECK(event.data.ptr == flow, "another's event");
	rf_flow_step(flow);
	return true;
}

static bool keep(void *data, struct rf_flow *flow, const char *bytes, size_t *len)
{
	(void)flow;
	rf_buf_add(data, bytes, *len);
	return true;
}

/* As much as is there. */
static size_t drain(int fd)
{
	static char room[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, room, sizeof(room))) > 0)
		sum += (size_t)n;
	return sum;
}

RF_TEST(more_than_a_pipe_holds_goes_through_it_as_it_is_read)
{
	int poll = epoll_create1(EPOLL_CLOEXEC), pair[2];
	char *bytes = calloc(1, MANY);
	struct rf_err err = RF_ERR_INIT;
	struct rf_flow flow;
	size_t got = 0;

	make_pipe(pair, 1);
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	flow = (struct rf_flow){ .from = -1, .to = pair[1], .bytes = bytes, .left = MANY };
	RF_REQUIRE(rf_flow_start(&flow, poll, &err) == 0 && !flow.is_over, "%s", err.msg);
	RF_CHECK(!serve(poll, &flow), "it is called while the pipe is full");
	while (!flow.is_over) {
		got += drain(pair[0]);
		RF_REQUIRE(serve(poll, &flow), "it is not called after %zu bytes", got);
	}
	got += drain(pair[0]);
	RF_CHECK(got == MANY && read(pair[0], bytes, 1) == 0, "%zu", got);
	free(bytes);
}

RF_TEST(a_blocking_target_is_never_waited_for)
{
	int poll = epoll_create1(EPOLL_CLOEXEC), in[2], out[2], kept;
	struct rf_err err = RF_ERR_INIT;
	char *bytes = calloc(1, MANY);
	struct rf_flow flow;
	size_t put = 0, got = 0;

	make_pipe(in, 0);
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	make_pipe(out, -1); /* the caller's: it blocks */
	kept = dup(out[1]);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	flow = (struct rf_flow){ .from = in[0], .to = out[1] };
	RF_REQUIRE(rf_flow_start(&flow, poll, &err) == 0, "%s", err.msg);
	for (int i = 0; i < 100000 && got < MANY; i++) {
		ssize_t n = put < MANY ? write(in[1], bytes, MANY - put) : 0;

		put += n > 0 ? (size_t)n : 0;
		if (put == MANY)
			rf_fd_done(&in[1]);
		if (!serve(poll, &flow))
			got += drain(out[0]);
	}
	while (serve(poll, &flow))
		;
	RF_CHECK(got + drain(out[0]) == MANY && flow.is_over && flow.total == MANY, "%zu", got);
	RF_CHECK(!(fcntl(kept, F_GETFL) & O_NONBLOCK), "it blocks as before");
	free(bytes);
}

RF_TEST(a_file_is_read_to_its_end)
{
	int poll = epoll_create1(EPOLL_CLOEXEC), out[2];
	FILE *file = tmpfile();
	struct rf_err err = RF_ERR_INIT;
	struct rf_flow flow;

	make_pipe(out, 1);
	fputs("some text", file);
	fflush(file);
	rewind(file);
	flow = (struct rf_flow){ .from = dup(fileno(file)), .to = out[1] };
	RF_REQUIRE(rf_flow_start(&flow, poll, &err) == 0, "%s", err.msg);
	while (serve(poll, &flow))
		;
	RF_CHECK(flow.is_over && drain(out[0]) == 9, "%d", flow.is_over);
	fclose(file);
}

RF_TEST(who_has_gone_raises_no_signal_and_a_pending_one_stays)
{
	for (int is_pending = 0; is_pending < 2; is_pending++) {
		int poll = epoll_create1(EPOLL_CLOEXEC), in[2], out[2];
		struct rf_err err = RF_ERR_INIT;
		struct rf_flow flow;
		sigset_t set, seen;

		sigemptyset(&set);
		sigaddset(&set, SIGPIPE);
		if (is_pending) {
			sigprocmask(SIG_BLOCK, &set, NULL);
			raise(SIGPIPE);
		}
		make_pipe(in, 0);
		make_pipe(out, -1);
		close(out[0]);
		flow = (struct rf_flow){ .from = in[0], .to = out[1] };
		RF_REQUIRE(rf_flow_start(&flow, poll, &err) == 0, "%s", err.msg);
		RF_REQUIRE(write(in[1], "x", 1) == 1, "write");
		while (serve(poll, &flow))
			;
		RF_CHECK(flow.is_over && flow.write_errno == EPIPE && flow.from < 0, "%d",
			 flow.write_errno);
		sigpending(&seen);
		RF_CHECK(sigismember(&seen, SIGPIPE) == is_pending, "pending: %d", is_pending);
	}
}

RF_TEST(the_last_call_takes_what_is_there_and_waits_for_nobody)
{
	int poll = epoll_create1(EPOLL_CLOEXEC), in[2];
	RF_AUTO_BUF struct rf_buf got;
	struct rf_err err = RF_ERR_INIT;
	struct rf_flow flow;

	rf_buf_init(&got, MANY);
	make_pipe(in, 0);
	flow = (struct rf_flow){ .from = in[0], .to = -1, .on_bytes = keep, .data = &got };
	RF_REQUIRE(rf_flow_start(&flow, poll, &err) == 0, "%s", err.msg);
	RF_REQUIRE(write(in[1], "rest", 4) == 4, "write"); /* and the end stays open */
	flow.is_last = true;
	rf_flow_step(&flow);
	RF_CHECK(flow.is_over && got.len == 4, "%zu", got.len);
}
