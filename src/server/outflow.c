/* What a program writes, as the body of an answer: see outflow.h. */
#include "server/outflow.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "server/front.h"

/*
 * So large a pipe that neither side is woken for each page.  What all pipes of a user have together is limited (pipe-user-pages-soft: 64 MiB), and
 * beyond that new ones are tiny: so a few are large, and the rest as they are.
 */
#define PIPE_BYTES (1024 * 1024)
#define LARGE_MOST 24
#define ROUNDS     4 /* before others have their turn */
#define PIECE      (1u << 20)

static unsigned large; /* pipes, at the moment */

static void stop_watching(struct rf_outflow *flow)
{
	rf_event_cancel(flow->event);
	flow->event = NULL;
}

static void finish(struct rf_outflow *flow)
{
	if (flow->is_over)
		return;
	flow->is_over = true;
	stop_watching(flow);
	flow->on_end(flow->call);
}

/* More than it may write: what is beyond is dropped, and it ends. */
static ssize_t pass_over(struct rf_outflow *flow)
{
	char bytes[4096];
	ssize_t n = read(flow->fd, bytes, sizeof(bytes));

	if (n < 0)
		return -errno;
	if (n > 0)
		rf_job_count(flow->call->job, (size_t)n);
	return 0;
}

/* Sends once: how many bytes; 0 at the end; or a negative errno. */
static ssize_t send_some(struct rf_outflow *flow)
{
	uint64_t most = flow->left < PIECE ? flow->left : PIECE;
	bool counts = flow->is_counted && flow->call->job;
	ssize_t n;

	if (counts && rf_job_room(flow->call->job) < most)
		most = rf_job_room(flow->call->job);
	if (flow->left == 0)
		return 0;
	if (most == 0)
		return pass_over(flow);
	n = rf_exchange_send_pipe(flow->call->x, flow->fd, (size_t)most, &flow->is_full);
	if (n <= 0)
		return n;
	if (counts)
		rf_job_count(flow->call->job, (size_t)n);
	if (flow->left != UINT64_MAX)
		flow->left -= (uint64_t)n;
	return n;
}

static void run(struct rf_outflow *flow)
{
	/* Of one whose other end is closed nobody will tell again; but it holds no more than a pipe does. */
	for (int i = 0; (i < ROUNDS || !flow->event) && !flow->is_full && !flow->is_over; i++) {
		ssize_t n = send_some(flow);

		if (n > 0 && flow->left > 0)
			continue;
		if (n >= 0 || (n == -EAGAIN && (flow->is_last || !flow->event))) {
			if (!flow->is_full)
				finish(flow);
			else
				flow->is_last = true;
			return;
		}
		if (n == -EBUSY)
			flow->is_full = true;
		if (n != -EBUSY && n != -EAGAIN)
			return; /* the call ends */
		break;
	}
	if (flow->event)
		rf_event_want(flow->event, flow->is_full ? 0 : RF_LOOP_READ);
}

static void on_pipe(void *data, int what)
{
	struct rf_outflow *flow = data;

	if (what & RF_LOOP_HANGUP)
		stop_watching(flow);
	run(flow);
}

int rf_outflow_init(struct rf_outflow *flow, struct rf_api_call *call, int *fd, uint64_t most,
		    void (*on_end)(struct rf_api_call *call), struct rf_err *err)
{
	*flow = (struct rf_outflow){
		.call = call, .fd = rf_fd_take(fd), .left = most, .on_end = on_end
	};
	if (flow->fd < 0) {
		rf_outflow_done(flow);
		return rf_fail_say(err, -EBADF, "the program has no output");
	}
	flow->is_large = large < LARGE_MOST && fcntl(flow->fd, F_SETPIPE_SZ, PIPE_BYTES) > 0;
	large += flow->is_large;
	if (rf_loop_watch(call->front->loop, flow->fd, RF_LOOP_READ, on_pipe, flow, &flow->event,
			  err) < 0) {
		rf_outflow_done(flow); /* without an event it would be one whose writer has gone */
		return err->code;
	}
	return 0;
}

void rf_outflow_done(struct rf_outflow *flow)
{
	if (!flow->call)
		return;
	stop_watching(flow);
	rf_fd_done(&flow->fd);
	large -= flow->is_large;
	flow->call = NULL;
}

void rf_outflow_go_on(struct rf_outflow *flow)
{
	if (!flow->call || flow->is_over)
		return;
	flow->is_full = false;
	run(flow);
}

void rf_outflow_end(struct rf_outflow *flow)
{
	if (!flow->call || flow->is_over)
		return;
	flow->is_last = true;
	if (!flow->is_full)
		run(flow);
}
