/* Runs, and programs in sandboxes: the result as a whole, or what it writes as it comes. */
#include <errno.h>
#include <stdlib.h>

#include "base/limits.h"
#include "lib/fort.h"
#include "server/agent-use.h"
#include "server/background.h"
#include "server/events.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/harvest.h"
#include "server/once.h"
#include "server/outing.h"
#include "server/raw.h"
#include "server/request-ceiling.h"

#define EXEC_OUTPUT (4u << 20) /* of a program in a sandbox, where its answer is whole */

static void on_output(void *data, int stream, const char *bytes, size_t len)
{
	rf_events_output(data, stream, bytes, len);
}

/* There is no run: why is an error of the request, and not a result. */
static void refuse(struct rf_api_call *call, const struct rf_result *result)
{
	const char *where = result->error.code == -ENOENT ? "id" : NULL;

	rf_api_call_fail_with(call, &result->error, where);
}

/* The warden has ended, and the run with it: what became of it nobody knows. */
static bool is_cut(const struct rf_result *result)
{
	return result->status == RF_STATUS_ERROR &&
	       (result->error.code == -ECONNRESET || result->error.code == -EPIPE);
}

static void go_run(struct rf_api_call *call);

/* A run over what its key or this machine has room for waits; what has a way out by a gateway has given it away. */
static bool waits_for_room(struct rf_api_call *call, const struct rf_job *job)
{
	return rf_job_is_refused(job) && rf_job_result(job)->error.code == -EDQUOT &&
	       call->route->serve == rf_serve_run && !call->outing &&
	       rf_api_call_wait_for_room(call, go_run);
}

static void on_end(void *data)
{
	struct rf_api_call *call = data;
	struct rf_job *job = call->job;
	const struct rf_result *result = rf_job_result(job);
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_MAX_CAPTURE);
	call->job = NULL; /* what is sent from now on is no more its to slow down */
	if (waits_for_room(call, job)) {
		rf_job_free(job);
		return;
	}
	call->front->figures.run_ns += rf_loop_now() - call->since_ns;
	call->front->figures.runs_ended++;
	call->is_unbegun = rf_job_is_refused(job);
	if (call->is_unbegun || is_cut(result)) {
		refuse(call, result);
	} else if (call->on_result) {
		call->on_result(call, result);
	} else if (call->is_stream) {
		rf_events_result(call, result);
	} else {
		rf_result_json(result, false, &text);
		rf_request_ceiling_tell(&call->order, &text);
		rf_api_call_answer(call, 200, &text);
	}
	rf_job_free(job);
	rf_api_call_leave_place(call);
}

/* The head of a stream goes out with the first thing that there is to tell, so that a refusal has its status. */
static void on_started(void *data)
{
	struct rf_api_call *call = data;

	if (call->wants_stream && !call->is_stream)
		rf_api_call_begin_events(call);
}

static void on_output_of_stream(void *data, int stream, const char *bytes, size_t len)
{
	on_started(data);
	on_output(data, stream, bytes, len);
}

static const struct rf_job_ops job_ops = {
	.on_output = on_output_of_stream,
	.on_started = on_started,
	.on_end = on_end,
};

static void start(struct rf_api_call *call, struct rf_job_task *task)
{
	struct rf_err err = RF_ERR_INIT;

	task->order = &call->order;
	task->request = call->request_id;
	task->trace = call->part;
	task->keeps_output = !call->wants_stream && !call->wants_raw;
	task->leaves_output = call->wants_raw;
	if (call->wants_raw && !rf_raw_begin(call))
		return;
	if (rf_job_start(call->front->loop, call->holder->fort, task,
			 call->wants_raw ? &rf_raw_ops : &job_ops, call, &call->job, &err) == 0)
		return;
	rf_api_call_fail_with(call, &err, NULL);
	rf_api_call_leave_place(call);
}

static void go_run(struct rf_api_call *call)
{
	struct rf_job_task task = { 0 };
	struct rf_api_error error;

	if (rf_front_policy(call->front, call->order.policy, &task.policy, &error) < 0) {
		rf_api_call_fail(call, &error);
		rf_api_call_leave_place(call);
		return;
	}
	if (rf_outing_waits(call, task.policy, go_run))
		return;
	if (call->outing)
		task.gateway = &call->outing->gateway;
	call->front->figures.runs++;
	task.workspace = call->order.workspace;
	if (call->order.outputs)
		rf_harvest_start(call, &task);
	else
		start(call, &task);
}

static void line_up(struct rf_api_call *call)
{
	rf_api_call_take_place(call, go_run);
}

static void queue_run(struct rf_api_call *call)
{
	rf_agent_use(call, line_up);
}

/* An answer of the program's bytes has no place for the list. */
static bool is_untold(const struct rf_api_call *call, struct rf_api_error *error)
{
	if (!call->wants_raw || !call->order.drops_beyond)
		return false;
	rf_api_error_say(error, RF_API_INVALID, "beyond",
			 "beyond: bytes alone don't say what was dropped");
	rf_api_error_hint(error, "ask for JSON or for events, or leave it out");
	return true;
}

void rf_serve_run(struct rf_api_call *call)
{
	struct rf_api_error error;

	if (rf_order_read(RF_ORDER_RUN, call->body.data, call->body.len,
			  !call->wants_stream && !call->wants_raw, &call->front->tools,
			  &call->order, &error) < 0 ||
	    is_untold(call, &error) || rf_request_ceiling_check(call, &error) < 0)
		rf_api_call_fail(call, &error);
	else
		rf_once_begin(call, queue_run);
}

static void go_exec(struct rf_api_call *call)
{
	struct rf_job_task task = { .box = call->parts.part[0], .output_limit = EXEC_OUTPUT };

	call->front->figures.programs++;
	start(call, &task);
}

void rf_serve_exec(struct rf_api_call *call)
{
	struct rf_api_error error;

	if (rf_order_read(RF_ORDER_EXEC, call->body.data, call->body.len, false,
			  &call->front->tools, &call->order, &error) < 0)
		rf_api_call_fail(call, &error);
	else if (!rf_api_call_is_paced(call))
		return; /* which is answered */
	else if (call->order.is_background)
		rf_background_start(call);
	else
		go_exec(call);
}
