/* A ward: see ward.h. */
#include "warden/ward.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "jail/mask.h"
#include "jail/program.h"
#include "jail/pty.h"
#include "jail/task.h"
#include "jail/verdict.h"

#define MS         1000000ull
#define RESULT_MAX (4 * 1024 * 1024)
#define WAITING    64 /* results that wait for who attaches; the oldest goes first */

struct rf_ward_program {
	struct rf_ward *ward;
	struct rf_ward_program *next;
	uint32_t number;
	char name[32];
	struct rf_ward_line line; /* fd -1: nobody listens */
	struct rf_buf words;      /* a packed struct rf_exec, until it is started */
	struct rf_ending ending;
	struct rf_buf result; /* packed, once it has ended and nobody listened */
	struct rf_event *timer;
	uint64_t began_ns, start_ns, time_ms;
	bool is_background, has_terminal, has_ended;
};

struct rf_ward {
	struct rf_work *work; /* borrowed */
	struct rf_loop *loop; /* borrowed */
	int porter;           /* a program of ours, borrowed; or -1 */
	struct rf_ward_program *programs;
	struct rf_reach_list reaches;
	rf_ward_fn *fn; /* or NULL */
	void *data;
	uint32_t last_number;
	bool is_frozen;
};

static int channel_of(const struct rf_ward *ward)
{
	return ward->work->life.box.channel[0];
}

void rf_ward_listen(struct rf_ward *ward, rf_ward_fn *fn, void *data)
{
	ward->fn = fn;
	ward->data = data;
}

int rf_ward_new(struct rf_work *work, struct rf_loop *loop, int porter, struct rf_ward **ret_ward,
		struct rf_err *err)
{
	struct rf_ward *ward = calloc(1, sizeof(*ward));

	if (!ward)
		return rf_fail(err, -ENOMEM, "keep a box");
	*ward = (struct rf_ward){ .work = work, .loop = loop, .porter = porter };
	*ret_ward = ward;
	return 0;
}

/* ------------------------------------------------------------- a program's life */

static void forget(struct rf_ward_program *program)
{
	struct rf_ward_program **at = &program->ward->programs;

	while (*at != program)
		at = &(*at)->next;
	*at = program->next;
	if (program->line.holder)
		*program->line.holder = NULL;
	rf_event_cancel(program->timer);
	rf_buf_done(&program->words);
	rf_buf_done(&program->result);
	free(program);
}

/* Nobody hears of it from now on. */
static void drop_line(struct rf_ward_program *program)
{
	if (program->line.holder)
		*program->line.holder = NULL;
	program->line = (struct rf_ward_line){ .fd = -1 };
}

void rf_ward_signal(struct rf_ward_program *program, int signal, bool is_for_group)
{
	if (program->has_ended)
		return;
	if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT ||
	    signal == SIGKILL)
		program->ending.forwarded = signal;
	rf_task_signal(channel_of(program->ward), program->number, signal, is_for_group);
}

void rf_ward_kill(struct rf_ward_program *program, enum rf_limit limit)
{
	if (limit != RF_LIMIT_COUNT && program->ending.killed_for == RF_LIMIT_COUNT)
		program->ending.killed_for = limit;
	rf_ward_signal(program, SIGKILL, true);
}

static void on_time(void *data, int what)
{
	(void)what;
	rf_ward_kill(data, RF_LIMIT_TIME);
}

/* One that has not been started is not, once its terminal is there: see start_on_terminal(). */
void rf_ward_let_go(struct rf_ward_program *program)
{
	drop_line(program);
	if (!program->is_background)
		rf_ward_kill(program, RF_LIMIT_COUNT);
}

/* Whoever does not read, or is gone, is nobody's listener any more. */
static void tell(struct rf_ward_program *program, enum rf_wire_type type, const void *body,
		 size_t len, const int *fds, size_t fd_count)
{
	struct rf_err ignored;

	if (program->line.fd >= 0 && rf_wire_send(program->line.fd, type, program->line.id, body,
						  len, fds, fd_count, &ignored) < 0)
		rf_ward_let_go(program);
}

static void tell_started(struct rf_ward_program *program)
{
	const struct rf_box *box = &program->ward->work->life.box;
	struct rf_wire_started started = { .pid = (uint32_t)box->pid, .number = program->number };

	memcpy(started.id, box->id, sizeof(box->id));
	tell(program, RF_WIRE_STARTED, &started, sizeof(started), NULL, 0);
}

/* A box that lives for long keeps so many results, and not all. */
static void drop_oldest(struct rf_ward *ward)
{
	struct rf_ward_program *oldest = NULL;
	size_t count = 0;

	for (struct rf_ward_program *at = ward->programs; at; at = at->next)
		if (at->has_ended) {
			oldest = at; /* the list begins with the youngest */
			count++;
		}
	if (count > WAITING)
		forget(oldest);
}

static void judge(struct rf_ward_program *program, struct rf_result *result)
{
	const struct rf_report *end = &program->ending.end;
	const struct rf_work *work = program->ward->work;

	rf_result_init(result, work->plan);
	memcpy(result->id, work->life.box.id, sizeof(result->id));
	memcpy(result->grades, work->life.box.grades, sizeof(result->grades));
	rf_verdict_judge(&program->ending, program->name, NULL, result);
	result->usage.wall_ns = rf_loop_now() - program->began_ns;
	result->usage.start_ns = program->start_ns;
	if (end->kind == RF_REPORT_ENDED) {
		result->usage.cpu_ns = end->cpu_ns;
		result->usage.memory_peak = end->peak_bytes;
	}
}

static void announce(const struct rf_ward_program *program, const struct rf_result *result)
{
	const struct rf_ward *ward = program->ward;

	if (ward->fn)
		ward->fn(ward->data, program->name, program->number, result);
}

/* It is over: who listens is told, or the result is kept. */
static void end(struct rf_ward_program *program)
{
	struct rf_ward *ward = program->ward;
	struct rf_result result;

	judge(program, &result);
	announce(program, &result);
	program->has_ended = true;
	rf_event_cancel(program->timer);
	program->timer = NULL;
	rf_result_pack(&result, &program->result);
	rf_result_done(&result);
	if (program->line.fd >= 0 && !program->result.has_failed) {
		tell(program, RF_WIRE_ENDED, program->result.data, program->result.len, NULL, 0);
		forget(program);
	} else if (!program->is_background || program->result.has_failed) {
		forget(program);
	} else {
		drop_oldest(ward);
	}
}

/* It could not be started, for a reason of ours. */
static void fail(struct rf_ward_program *program, const struct rf_err *why)
{
	program->ending.setup = *why;
	program->ending.end.kind = 0;
	end(program);
}

/* ------------------------------------------------------------- its start */

/* The policy's variables, and instead or besides those that were asked for. */
static char **join_env(char *const *policys, char *const *more)
{
	size_t count = 0, room = 1;
	char **env;

	for (char *const *at = policys; *at; at++)
		room++;
	for (char *const *at = more; *at; at++)
		room++;
	env = calloc(room, sizeof(*env));
	for (char *const *at = policys; env && *at; at++) {
		size_t len = strcspn(*at, "=") + 1;
		bool is_other = true;

		for (char *const *other = more; is_other && *other; other++)
			is_other = strncmp(*at, *other, len) != 0;
		if (is_other)
			env[count++] = *at;
	}
	for (char *const *at = more; env && *at; at++)
		env[count++] = *at;
	return env;
}

static int admit(struct rf_ward *ward, const struct rf_exec *exec, struct rf_err *err)
{
	struct rf_plan plan = *ward->work->plan;

	if (!ward->work->life.box.programs || exec->is_porter)
		return 0;
	plan.argv = (char **)(uintptr_t)exec->argv;
	return rf_program_admit(ward->work->life.box.programs, &plan, err);
}

static int start(struct rf_ward_program *program, const struct rf_exec *exec, const int *streams,
		 struct rf_err *err)
{
	struct rf_ward *ward = program->ward;
	const struct rf_plan *plan = ward->work->plan;
	struct rf_task_program task = {
		.number = program->number,
		.workdir = exec->cwd ? exec->cwd : plan->workdir,
		.argv = exec->argv,
		.umask = ward->work->options.umask,
		.streams = { streams[0], streams[1], streams[2] },
		.program = exec->is_porter ? ward->porter : -1,
		.has_terminal = exec->has_terminal,
	};
	char **env;
	int code;

	/* A box that is kept for hours outlives many a save of the file that it hides. */
	if (rf_mask_check(&ward->work->life.box, err) < 0)
		return rf_fail_hint(err,
				    "end this box and make another, which hides what is there now");
	env = join_env(plan->env, exec->env);
	if (!env)
		return rf_fail(err, -ENOMEM, "start a program");
	task.env = env;
	code = rf_task_start(channel_of(ward), &task, err);
	free(env);
	return code;
}

/* Between the question and the terminal anything may have happened; and again while its master is handed over. */
static int check_wanted(const struct rf_ward_program *program, struct rf_err *err)
{
	if (program->line.fd < 0 && !program->is_background)
		return rf_fail_say(err, -ESRCH, "who asked for it is gone");
	if (program->ward->is_frozen)
		return rf_fail_say(err, -EBUSY, "the box is frozen");
	return 0;
}

/* What was asked for, when the terminal is there: its master goes to who asked, the other end to the program. */
static void start_on_terminal(struct rf_ward_program *program, const struct rf_report *report,
			      int *master)
{
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_FD int slave = -1;
	struct rf_exec exec;
	int code = -report->code;

	if (code < 0 || *master < 0)
		code = rf_fail(&err, code < 0 ? code : -EPROTO, "open a terminal in the box");
	else if ((code = check_wanted(program, &err)) == 0)
		code = rf_pty_check(*master, &slave, &err);
	if (code == 0)
		code = rf_exec_unpack(program->words.data, program->words.len, &exec, &err);
	if (code == 0) {
		tell(program, RF_WIRE_TERMINAL, NULL, 0, master, 1);
		code = check_wanted(program, &err);
		if (code == 0)
			code = start(program, &exec, (const int[]){ slave, slave, slave }, &err);
		rf_exec_done(&exec);
	}
	rf_buf_done(&program->words);
	if (code < 0)
		fail(program, &err);
}

static const char *name_of(const struct rf_exec *exec)
{
	const char *slash = strrchr(exec->argv[0], '/');

	return exec->is_porter ? "(ours)" : slash ? slash + 1 : exec->argv[0];
}

uint32_t rf_ward_number(struct rf_ward *ward)
{
	return ++ward->last_number;
}

static int make(struct rf_ward *ward, const struct rf_exec *exec, const struct rf_ward_line *line,
		uint32_t number, struct rf_ward_program **ret_program, struct rf_err *err)
{
	struct rf_ward_program *program = calloc(1, sizeof(*program));

	if (!program)
		return rf_fail(err, -ENOMEM, "start a program");
	*program = (struct rf_ward_program){
		.ward = ward,
		.next = ward->programs,
		.number = number ? number : rf_ward_number(ward),
		.line = *line,
		.ending.killed_for = RF_LIMIT_COUNT,
		.began_ns = rf_loop_now(),
		.is_background = exec->is_background,
		.has_terminal = exec->has_terminal,
	};
	ward->programs = program;
	snprintf(program->name, sizeof(program->name), "%.31s", name_of(exec));
	rf_buf_init(&program->words, RF_EXEC_BYTES);
	rf_buf_init(&program->result, RESULT_MAX);
	*line->holder = program;
	*ret_program = program;
	if (exec->time_ms > 0)
		return rf_loop_timer(ward->loop, rf_loop_now() + exec->time_ms * MS, on_time,
				     program, &program->timer, err);
	return 0;
}

bool rf_ward_is_busy(const struct rf_ward *ward)
{
	for (const struct rf_ward_program *at = ward->programs; at; at = at->next)
		if (!at->has_ended)
			return true;
	return false;
}

/* Whether another can be started now. */
static int check(const struct rf_ward *ward, const struct rf_exec *exec, size_t stream_count,
		 struct rf_err *err)
{
	size_t running = 0;

	for (const struct rf_ward_program *at = ward->programs; at; at = at->next)
		running += !at->has_ended;
	if (ward->work->life.has_exited)
		return rf_fail_say(err, -ESRCH, "the box has just ended");
	if (ward->is_frozen) {
		rf_fail_say(err, -EBUSY, "the box is frozen");
		return rf_fail_hint(err, "thaw it first");
	}
	if (running >= RF_TASKS_MOST) {
		rf_fail_say(err, -EAGAIN, "%d programs run in the box already", RF_TASKS_MOST);
		return rf_fail_hint(err, "wait for one of them, or keep another box");
	}
	if (stream_count != (exec->has_terminal ? 0 : 3))
		return rf_fail_say(err, -EINVAL, "EXEC comes with three streams or a terminal");
	if (exec->time_ms > UINT32_MAX)
		return rf_fail_say(err, -EINVAL, "a time of more than 49 days");
	if (exec->is_porter && ward->porter < 0) {
		rf_fail_say(err, -ENOENT, "this warden has no program of ours for boxes");
		return rf_fail_hint(err, "it belongs beside ringfort-warden; install both");
	}
	return 0;
}

int rf_ward_exec(struct rf_ward *ward, const struct rf_exec *exec, const int *streams,
		 size_t stream_count, const struct rf_ward_line *line, uint32_t number,
		 struct rf_err *err)
{
	const struct rf_box *box = &ward->work->life.box;
	struct rf_ward_program *program = NULL;
	int code = check(ward, exec, stream_count, err);

	for (size_t i = 0; code == 0 && i < stream_count; i++)
		code = rf_box_own_stream(box, streams[i], err);
	if (code == 0)
		code = admit(ward, exec, err);
	if (code == 0)
		code = make(ward, exec, line, number, &program, err);
	if (code == 0 && !number)
		announce(program, NULL);
	if (code == 0 && !exec->has_terminal) {
		code = start(program, exec, streams, err);
	} else if (code == 0) {
		rf_exec_pack(exec, &program->words);
		code = program->words.has_failed
			       ? rf_fail(err, -E2BIG, "a program")
			       : rf_task_terminal(channel_of(ward), program->number);
		if (code < 0 && !err->code)
			rf_fail(err, code, "ask pid 1 for a terminal");
	}
	if (code < 0 && program) {
		struct rf_result result;

		program->ending.setup = *err;
		judge(program, &result);
		if (!number)
			announce(program, &result);
		rf_result_done(&result);
		forget(program);
	}
	return code;
}

int rf_ward_attach(struct rf_ward *ward, uint32_t number, const struct rf_ward_line *line,
		   struct rf_err *err)
{
	struct rf_ward_program *program = ward->programs;

	while (program && program->number != number)
		program = program->next;
	if (!program) {
		rf_fail_say(err, -ESRCH, "there is no program %u in the box", number);
		return rf_fail_hint(err, "LIST says which there are");
	}
	if (program->line.fd >= 0)
		return rf_fail_say(err, -EBUSY, "program %u has a connection", number);
	program->line = *line;
	*line->holder = program;
	tell_started(program);
	if (!program->has_ended || program->line.fd < 0)
		return 0;
	tell(program, RF_WIRE_ENDED, program->result.data, program->result.len, NULL, 0);
	if (program->line.fd >= 0)
		forget(program);
	return 0;
}

/* Not where its loopback is the machine's, or where there is none. */
int rf_ward_reach(struct rf_ward *ward, uint32_t port, const struct rf_reach_line *line,
		  struct rf_err *err)
{
	const struct rf_plan *plan = ward->work->plan;

	if (ward->work->life.has_exited)
		return rf_fail_say(err, -ESRCH, "the box has just ended");
	if (ward->is_frozen) {
		rf_fail_say(err, -EBUSY, "the box is frozen");
		return rf_fail_hint(err, "thaw it first");
	}
	if (!plan->has_loopback || plan->link == RF_LINK_HOST || ward->work->life.box.is_lesser) {
		rf_fail_say(err, -EPERM, "this box has no ports of its own");
		return rf_fail_hint(err, "its policy needs `network: { loopback: on }`");
	}
	return rf_reach_ask(&ward->reaches, channel_of(ward), ++ward->last_number, port, line, err);
}

/* ------------------------------------------------------------- what pid 1 says */

static void hear_of(struct rf_ward_program *program, const struct rf_report *report, int *fd)
{
	struct rf_ending *ending = &program->ending;
	struct rf_err err = RF_ERR_INIT;

	switch (report->kind) {
	case RF_REPORT_STARTED:
		ending->start = *report;
		if (rf_cgroup_is_used(&program->ward->work->life.box.cgroup))
			ending->start.held |= 1u << RF_PROOF_CGROUP;
		program->start_ns = rf_loop_now() - program->began_ns;
		tell_started(program);
		break;
	case RF_REPORT_REFUSED:
		ending->start = *report;
		break;
	case RF_REPORT_NO_WORKDIR:
		rf_box_fail_workdir("that was asked for", -report->code, &ending->setup);
		break;
	case RF_REPORT_NO_EXEC:
		ending->end = *report;
		break;
	case RF_REPORT_NO_PROCESS:
		rf_fail(&err, -report->code, "a process for %s", program->name);
		rf_fail_hint(&err, "the box may have reached limits.pids");
		fail(program, &err);
		break;
	case RF_REPORT_TERMINAL:
		if (program->words.len > 0)
			start_on_terminal(program, report, fd);
		break;
	case RF_REPORT_ENDED: /* what was no program yet has said why */
		if (!ending->end.kind && !ending->setup.code &&
		    ending->start.kind != RF_REPORT_REFUSED)
			ending->end = *report;
		end(program);
		break;
	default:
		break;
	}
}

void rf_ward_hear(struct rf_ward *ward, const struct rf_report *report, int fd)
{
	struct rf_ward_program *program = ward->programs;
	RF_AUTO_FD int own = fd;

	if (report->kind == RF_REPORT_REACHED) {
		rf_reach_hear(&ward->reaches, report, &own);
		return;
	}
	while (program && (program->number != report->number || program->has_ended))
		program = program->next;
	if (program)
		hear_of(program, report, &own);
}

/* ------------------------------------------------------------- the box */

int rf_ward_freeze(struct rf_ward *ward, bool is_frozen, struct rf_err *err)
{
	if (ward->work->life.has_exited)
		return rf_fail_say(err, -ESRCH, "the box has just ended");
	if (rf_life_freeze(&ward->work->life, is_frozen, err) < 0)
		return err->code;
	ward->is_frozen = is_frozen;
	return 0;
}

bool rf_ward_is_frozen(const struct rf_ward *ward)
{
	return ward->is_frozen;
}

static uint64_t left_of(const struct rf_life *life)
{
	uint64_t now = rf_loop_now();

	return !life->until_ns        ? UINT64_MAX
	       : life->until_ns > now ? (life->until_ns - now) / MS
				      : 0;
}

static enum rf_exec_state state_of(const struct rf_ward *ward)
{
	if (ward->work->life.has_exited)
		return RF_EXEC_ENDING;
	return ward->is_frozen ? RF_EXEC_FROZEN : RF_EXEC_RUNNING;
}

void rf_ward_describe(const struct rf_ward *ward, struct rf_exec_box *ret_box)
{
	const struct rf_life *life = &ward->work->life;
	struct rf_cgroup_usage counts;
	struct rf_sample sample = { 0 };

	rf_cgroup_usage(&life->box.cgroup, &counts);
	if (!life->has_exited)
		rf_sample_take(&(struct rf_sample_look){ .init = life->box.pid,
							 .has_scratch = true,
							 .exact_above = UINT64_MAX },
			       &sample);
	*ret_box = (struct rf_exec_box){
		.state = state_of(ward),
		.pid = (uint32_t)life->box.pid,
		.age_ms = (rf_loop_now() - life->began_ns) / MS,
		.left_ms = left_of(life),
		.cpu_ns = counts.cpu_ns == UINT64_MAX ? sample.cpu_ns : counts.cpu_ns,
		.memory_bytes = sample.memory_bytes,
		.memory_peak = counts.memory_peak,
		.pids = sample.pids,
		.disk_bytes = sample.disk_bytes,
	};
	memcpy(ret_box->id, life->box.id, sizeof(life->box.id));
	for (const struct rf_ward_program *at = ward->programs;
	     at && ret_box->program_count < RF_EXEC_PROGRAMS; at = at->next) {
		struct rf_exec_program *row = &ret_box->programs[ret_box->program_count++];

		row->number = at->number;
		row->is_background = at->is_background;
		row->has_ended = at->has_ended;
		memcpy(row->name, at->name, sizeof(row->name));
	}
}

/* Whatever ended the box has ended them. */
void rf_ward_free(struct rf_ward *ward)
{
	struct rf_ward_program *next;

	if (!ward)
		return;
	rf_reach_done(&ward->reaches);
	for (struct rf_ward_program *at = ward->programs; at; at = next) {
		const struct rf_ending *box = &ward->work->life.ending;

		next = at->next;
		at->is_background = false; /* nobody will attach */
		if (at->has_ended) {
			forget(at);
			continue;
		}
		if (box->killed_for != RF_LIMIT_COUNT)
			at->ending.killed_for = box->killed_for;
		else if (!at->ending.forwarded)
			at->ending.forwarded = SIGKILL;
		end(at);
	}
	free(ward);
}
