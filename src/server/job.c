/* A box, or a program in one, that a request waits for: see job.h. */
#include "server/job.h"

#include <errno.h>
#include <ringfort/ringfort.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "lib/guest.h"

struct rf_job {
	struct ringfort_box *box;
	struct rf_event *event;
	const struct rf_job_ops *ops;
	void *data;
	bool was_told; /* that it has started */
};

static void on_output(void *data, int stream, const char *bytes, size_t len)
{
	struct rf_job *job = data;

	job->ops->on_output(job->data, stream, bytes, len);
}

static void on_box(void *data, int what)
{
	struct rf_job *job = data;
	int got = ringfort_wait(job->box, 0, NULL);

	(void)what;
	if (!job->was_told && (job->box->id[0] || job->box->number)) {
		bool is_kept = job->box->is_kept;

		job->was_told = true;
		if (job->ops->on_started)
			job->ops->on_started(job->data);
		if (is_kept) /* and the job may be gone */
			return;
	}
	if (got != 0)
		job->ops->on_end(job->data);
}

void rf_job_free(struct rf_job *job)
{
	if (!job)
		return;
	rf_event_cancel(job->event);
	ringfort_free(job->box);
	free(job);
}

void rf_job_pause(struct rf_job *job, bool is_paused)
{
	rf_event_want(job->event, is_paused ? 0 : RF_LOOP_READ);
}

const char *rf_job_id(const struct rf_job *job)
{
	return job->box->id;
}

uint32_t rf_job_number(const struct rf_job *job)
{
	return job->box->number;
}

const struct rf_result *rf_job_result(const struct rf_job *job)
{
	return &job->box->result;
}

bool rf_job_is_refused(const struct rf_job *job)
{
	const struct rf_result *result = &job->box->result;

	/* One that could not be recorded is none, either: it may be asked for again. */
	return job->box->is_refused ||
	       (result->status == RF_STATUS_DENIED && result->error.code == -EHOSTDOWN);
}

int rf_job_signal(struct rf_job *job, int signal, struct rf_err *err)
{
	struct ringfort_error error = RINGFORT_ERROR_INIT;

	if (ringfort_signal(job->box, signal, &error) < 0)
		return rf_fail_say(err, error.code, "%s", error.message);
	return 0;
}

int rf_job_take_end(struct rf_job *job, int stream)
{
	return rf_guest_take_end(job->box, stream);
}

uint64_t rf_job_room(const struct rf_job *job)
{
	return rf_guest_room(job->box);
}

void rf_job_count(struct rf_job *job, size_t len)
{
	rf_guest_count(job->box, 1, len);
}

int rf_job_resize(struct rf_job *job, uint64_t rows, uint64_t columns, struct rf_err *err)
{
	struct ringfort_error error = RINGFORT_ERROR_INIT;

	if (ringfort_resize(job->box, (int)rows, (int)columns, &error) < 0)
		return rf_fail_say(err, error.code, "%s", error.message);
	return 0;
}

/* ------------------------------------------------------------- its start */

/* A box of its own, or one that is kept. */
static int begin_box(struct rf_job *job, struct ringfort *fort, const struct rf_job_task *task,
		     struct ringfort_run *run, struct rf_err *err)
{
	static const char *const nobody[] = { "sandbox", NULL };
	struct ringfort_run own;

	if (task->note)
		run->argv = nobody;
	if (rf_guest_new(fort, run, &own, &job->box, err) < 0)
		return err->code;
	job->box->is_kept = task->note != NULL;
	job->box->leaves_input = task->leaves_input;
	job->box->leaves_output = task->leaves_output;
	for (int i = 0; i < 3 && task->note; i++) /* it has no streams */
		job->box->flows[i].is_over = true;
	job->box->note = task->note;
	job->box->idle_ms = task->note ? task->order->idle_timeout * 1000 : 0;
	job->box->request = task->request;
	job->box->trace = task->trace && task->trace[0] ? task->trace : NULL;
	job->box->workspace = task->workspace;
	job->box->has_whole = task->has_whole;
	job->box->drops_beyond = true; /* what the request names beyond is refused by now */
	job->box->set = task->order->env;
	job->box->extras = task->order->extras;
	job->box->extra_count = task->order->extra_count;
	job->box->output_limit = task->policy->output_limit;
	if (task->gateway)
		job->box->gateway = rf_fd_take(task->gateway);
	return rf_guest_begin(job->box, task->policy, &own, err);
}

static int begin_program(struct rf_job *job, struct ringfort *fort, const struct rf_job_task *task,
			 struct ringfort_run *run, struct rf_err *err)
{
	struct ringfort_exec how = RINGFORT_EXEC_INIT;
	struct ringfort_run own;

	run->env = (const char *const *)task->order->env;
	run->cwd = task->order->cwd;
	how.time_ms = task->order->timeout * 1000;
	how.is_background = task->is_background;
	how.has_terminal = task->order->has_terminal;
	how.rows = (int)task->order->rows;
	how.columns = (int)task->order->columns;
	if (task->is_background || task->has_input)
		run->input_fd = task->input;
	if (rf_guest_new(fort, run, &own, &job->box, err) < 0)
		return err->code;
	job->box->leaves_input = task->leaves_input;
	job->box->leaves_output = task->leaves_output;
	job->box->output_limit = task->keeps_output ? task->output_limit : UINT64_MAX;
	return rf_lodge_begin(job->box, task->box, &own, &how, err);
}

int rf_job_start(struct rf_loop *loop, struct ringfort *fort, const struct rf_job_task *task,
		 const struct rf_job_ops *ops, void *data, struct rf_job **ret_job,
		 struct rf_err *err)
{
	struct ringfort_run run = RINGFORT_RUN_INIT;
	struct rf_job *job = calloc(1, sizeof(*job));
	int code;

	if (!job)
		return rf_fail(err, -ENOMEM, "a run");
	job->ops = ops;
	job->data = data;
	run.argv = (const char *const *)task->order->argv;
	run.cwd = "/";
	run.input = task->order->input;
	run.input_len = task->order->input_len;
	run.on_output = task->keeps_output ? NULL : on_output;
	run.data = job;
	code = task->policy ? begin_box(job, fort, task, &run, err)
			    : begin_program(job, fort, task, &run, err);
	if (code == 0)
		code = rf_loop_watch(loop, ringfort_fd(job->box), RF_LOOP_READ, on_box, job,
				     &job->event, err);
	if (code < 0) {
		rf_job_free(job);
		return code;
	}
	*ret_job = job;
	return 0;
}
