/* One run: see run.h. */
#include "jail/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/loop.h"
#include "jail/deputy.h"
#include "jail/ear.h"
#include "jail/guard.h"
#include "jail/janitor.h"
#include "jail/lesser.h"
#include "jail/pump.h"
#include "jail/record.h"
#include "jail/ruleset.h"
#include "jail/sample.h"
#include "jail/seccomp.h"
#include "jail/terminal.h"
#include "jail/verdict.h"

#define MS 1000000ull /* nanoseconds */

#define SAMPLE_EVERY  (10 * MS)
#define LEAVE_KEY     0x1d /* ctrl-]: three in a row, within a second, end a box */
#define LEAVE_TIMES   3
#define LEAVE_WITHIN  (1000 * MS)
#define HANG_UP_AFTER (2000 * MS) /* a shell ignores SIGTERM: how long it has to end */
#define END_AGAIN     (20 * MS)   /* how long until an end of input is told again, at first... */
#define END_LATEST    (1000 * MS) /* ...and after a while */
#define ASKED_LATELY  (2000 * MS) /* an answer may still be under way */
#define JANITOR_AFTER (20 * MS)   /* shorter runs do without; the next start cleans up */

/* What a run is in the middle of.  Lives on the heap: it holds three pumps' buffers. */
struct run {
	const struct rf_plan *plan;
	const struct rf_run_options *options;
	struct rf_result *result;
	struct rf_box box;
	struct rf_loop *loop;
	struct rf_pump pumps[3];      /* stdin, stdout, stderr; with a terminal, stderr has none */
	struct rf_guard guards[2];    /* of the outputs, where there is a terminal or --plain */
	struct rf_terminal terminal;  /* the caller's, where the box has one */
	uint64_t output_ns, asked_ns; /* when something, and when a question, last came out of it */
	uint64_t leave_ns[LEAVE_TIMES]; /* when that key was last pressed */
	uint64_t end_again;             /* how long until the end of input is told again */
	bool is_line_open;              /* the last byte of input was no newline */
	struct rf_ear ear;              /* hears what the kernel refuses */
	struct rf_event *ear_event;
	struct rf_event *exit_event, *channel_event, *cpu_timer, *end_timer, *request_event;
	struct rf_janitor janitor;
	struct rusage rusage;
	struct rf_ending ending;
	struct rf_sample peak;
	uint64_t began_ns;
	int interrupts; /* how often a person asked to stop */
	bool has_exited, has_counted;
};

/* ------------------------------------------------------------- ends */

static void note_peak(struct run *run, const struct rf_sample *sample)
{
	if (sample->memory_bytes > run->peak.memory_bytes)
		run->peak.memory_bytes = sample->memory_bytes;
	if (sample->pids > run->peak.pids)
		run->peak.pids = sample->pids;
	if (sample->cpu_ns > run->peak.cpu_ns)
		run->peak.cpu_ns = sample->cpu_ns;
}

/* Kills all of it.  What only the sampler knows is looked at first: afterwards nobody is there. */
static void end_box(struct run *run)
{
	struct rf_sample sample;

	if (run->has_exited)
		return;
	if (!run->box.cgroup.has_cputime || !run->box.cgroup.has_memory) {
		rf_sample_take(run->box.pid, !run->box.is_lesser, UINT64_MAX, &sample);
		note_peak(run, &sample);
	}
	rf_box_kill(&run->box);
}

/* The first reason counts. */
static void kill_for(struct run *run, enum rf_limit limit)
{
	if (run->ending.killed_for != RF_LIMIT_COUNT || run->has_exited)
		return;
	run->ending.killed_for = limit;
	end_box(run);
}

/* All is over when pid 1 is gone, its last words are read and both outputs are passed on. */
static void stop_if_over(struct run *run)
{
	if (run->has_exited && run->pumps[1].is_done && run->pumps[2].is_done)
		rf_loop_stop(run->loop);
}

static void on_time(void *data, int what)
{
	(void)what;
	kill_for(data, RF_LIMIT_TIME);
}

/* Everything inside is dead with pid 1. */
static void on_exit_of_init(void *data, int what)
{
	struct run *run = data;

	(void)what;
	if (wait4(run->box.pid, NULL, WNOHANG, &run->rusage) != run->box.pid && errno != ECHILD)
		return;
	run->box.pid = 0;
	run->has_exited = true;
	run->result->usage.wall_ns = rf_loop_now() - run->began_ns;
	rf_event_cancel(run->exit_event);
	rf_pump_done(&run->pumps[0]);
	/* What the box wrote is in the pipes by now; who else may hold their ends is not waited for. */
	rf_pump_last_call(&run->pumps[1]);
	rf_pump_last_call(&run->pumps[2]);
	stop_if_over(run);
}

/* ------------------------------------------------------------- pid 1's reports */

/* What the groups counted, once. */
static void count(struct run *run)
{
	if (!run->has_counted)
		rf_cgroup_usage(&run->box.cgroup, &run->ending.counts);
	run->has_counted = true;
}

static void take_report(struct run *run, const struct rf_report *report)
{
	switch (report->kind) {
	case RF_REPORT_STARTED:
		run->ending.start = *report;
		if (run->box.facts & 1u << RF_PROOF_CGROUP && rf_cgroup_is_used(&run->box.cgroup))
			run->ending.start.held |= 1u << RF_PROOF_CGROUP;
		run->result->usage.start_ns = rf_loop_now() - run->began_ns;
		rf_record_started(&run->box, report->ns);
		rf_box_spread_out(&run->box);
		break;
	case RF_REPORT_REFUSED:
		run->ending.start = *report;
		break;
	case RF_REPORT_NO_EXEC:
	case RF_REPORT_ENDED:
		/* The program's own end comes after why it did not start: the first one counts. */
		if (!run->ending.end.kind)
			run->ending.end = *report;
		/* Meanwhile the kernel takes the box down, on another processor if there is one. */
		count(run);
		break;
	default:
		break;
	}
}

static void on_channel(void *data, int what)
{
	struct run *run = data;
	struct rf_report report;
	ssize_t n;

	(void)what;
	while ((n = recv(run->box.channel[0], &report, sizeof(report), MSG_DONTWAIT)) > 0)
		if (n == (ssize_t)sizeof(report))
			take_report(run, &report);
	if (n == 0 || errno != EAGAIN) {
		rf_event_cancel(run->channel_event);
		run->channel_event = NULL;
	}
}

/* ------------------------------------------------------------- streams */

/* What is kept for the result must fit into one JSON document, whatever the plan allows. */
static uint64_t output_limit(const struct run *run)
{
	uint64_t limit = run->plan->limits[RF_LIMIT_OUTPUT];

	return run->options->is_captured && limit > RF_MAX_CAPTURE ? RF_MAX_CAPTURE : limit;
}

/* A question in what came last was asked then. */
static void note_questions(struct run *run)
{
	if (run->guards[0].has_asked)
		run->asked_ns = run->output_ns;
	run->guards[0].has_asked = false;
}

static bool on_output(void *data, struct rf_pump *pump, size_t *len)
{
	struct run *run = data;
	uint64_t limit = output_limit(run);
	uint64_t total = run->pumps[1].total + run->pumps[2].total;
	uint64_t over = total > limit ? total - limit : 0;

	if (run->plan->has_terminal) {
		note_questions(run);
		run->output_ns = rf_loop_now();
	}
	if (over == 0)
		return true;
	*len = over >= *len ? 0 : *len - (size_t)over;
	run->result->is_truncated[pump - &run->pumps[1]] = true;
	kill_for(run, RF_LIMIT_OUTPUT);
	return false;
}

/* A reader that went away: the program learns it from its own pipe. */
static void on_output_done(void *data, struct rf_pump *pump)
{
	struct run *run = data;
	int stream = (int)(pump - run->pumps);

	if (pump->write_errno && pump->write_errno != EPIPE) {
		rf_fail(&run->result->error, -pump->write_errno, "write standard %s",
			stream == 1 ? "output" : "error");
		rf_fail_hint(&run->result->error, "the program ran, but what it wrote was lost");
	}
	rf_fd_done(&run->box.stdio[stream][0]);
	if (run->plan->has_terminal && !run->has_exited) { /* its terminal hangs up */
		rf_pump_done(&run->pumps[0]);
		rf_fd_done(&run->box.pty[0]);
	}
	stop_if_over(run);
}

static void on_input_ended(void *data, int what)
{
	struct run *run = data;
	struct rf_err err;

	(void)what;
	if (run->has_exited || run->box.pty[0] < 0)
		return;
	rf_terminal_end_input(run->box.pty, run->is_line_open);
	run->is_line_open = false;
	if (run->end_again < END_LATEST)
		run->end_again = run->end_again ? 2 * run->end_again : END_AGAIN;
	if (run->end_timer)
		rf_event_again(run->end_timer, rf_loop_now() + run->end_again);
	else
		rf_loop_timer(run->loop, rf_loop_now() + run->end_again, on_input_ended, run,
			      &run->end_timer, &err);
}

static void on_input_done(void *data, struct rf_pump *pump)
{
	struct run *run = data;

	(void)pump;
	if (run->plan->has_terminal)
		on_input_ended(run, 0);
	rf_fd_done(&run->box.stdio[0][1]);
}

/* Keys on their way to the box's terminal.  One of them is for us, and passed on all the same. */
static bool on_keys(void *data, struct rf_pump *pump, size_t *len)
{
	struct run *run = data;

	for (size_t i = 0; i < *len; i++) {
		if (pump->buffer[i] == LEAVE_KEY) {
			memmove(run->leave_ns + 1, run->leave_ns,
				sizeof(run->leave_ns) - sizeof(run->leave_ns[0]));
			run->leave_ns[0] = rf_loop_now();
		} else {
			memset(run->leave_ns, 0, sizeof(run->leave_ns));
		}
	}
	run->is_line_open = *len > 0 && pump->buffer[*len - 1] != '\n';
	if (run->terminal.is_raw && run->leave_ns[LEAVE_TIMES - 1] &&
	    run->leave_ns[0] - run->leave_ns[LEAVE_TIMES - 1] < LEAVE_WITHIN) {
		run->ending.forwarded = SIGKILL;
		end_box(run);
	}
	return *len > 0;
}

/* The first of the variables that say what characters are. */
static const char *locale(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < RF_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return value;
	}
	return NULL;
}

/* Where an output ends at a terminal, or plain text is wanted, bytes pass a guard. */
static void post_guards(struct run *run)
{
	bool is_plain = run->options->is_plain, is_shown[2] = { false, false };
	struct stat st[2];

	for (int i = 0; i < 2; i++) {
		is_shown[i] =
			!run->options->is_captured && isatty(i + 1) && fstat(i + 1, &st[i]) == 0;
		if (!is_shown[i] && !is_plain)
			continue;
		rf_guard_init(&run->guards[i],
			      is_plain                  ? RF_GUARD_TEXT
			      : run->plan->has_terminal ? RF_GUARD_DIALOG
							: RF_GUARD_SCREEN,
			      is_shown[i] && rf_guard_is_8bit(locale()));
		run->pumps[i + 1].guard = &run->guards[i];
	}
	if (is_shown[0] && is_shown[1] && st[0].st_rdev == st[1].st_rdev) {
		run->pumps[1].other = &run->pumps[2];
		run->pumps[2].other = &run->pumps[1];
	}
}

/* One pty instead of three pipes: what comes out of it is the output, whoever wrote it. */
static void lay_terminal(struct run *run)
{
	int master = run->box.pty[0];

	rf_terminal_init(&run->terminal);
	rf_terminal_dress(&run->terminal, master);
	if (!run->options->is_captured) /* nothing would be seen of a dialogue */
		rf_terminal_enter(&run->terminal);
	run->pumps[0].to = run->pumps[1].from = master;
	run->pumps[0].on_bytes = on_keys;
	run->pumps[2].is_done = true;
}

static int start_pumps(struct run *run, struct rf_err *err)
{
	struct rf_box *box = &run->box;

	/* Ours to change, and needed: whoever else reads from a pipe may leave nothing to be read. */
	if (!run->plan->has_terminal) {
		fcntl(box->stdio[0][1], F_SETFL, O_NONBLOCK);
		fcntl(box->stdio[1][0], F_SETFL, O_NONBLOCK);
		fcntl(box->stdio[2][0], F_SETFL, O_NONBLOCK);
	}
	run->pumps[0].from = STDIN_FILENO;
	run->pumps[0].to = box->stdio[0][1];
	run->pumps[0].on_done = on_input_done;
	for (int i = 1; i < 3; i++) {
		run->pumps[i].from = box->stdio[i][0];
		run->pumps[i].to = i;
		run->pumps[i].into = run->options->is_captured ? &run->result->output[i - 1] : NULL;
		run->pumps[i].on_bytes = on_output;
		run->pumps[i].on_done = on_output_done;
	}
	post_guards(run);
	if (run->plan->has_terminal)
		lay_terminal(run);
	for (int i = 0; i < (run->plan->has_terminal ? 2 : 3); i++) {
		run->pumps[i].data = run;
		if (rf_pump_start(&run->pumps[i], run->loop, err) < 0)
			return err->code;
	}
	return 0;
}

/* ------------------------------------------------------------- signals */

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };

static void on_patience_end(void *data, int what)
{
	(void)what;
	end_box(data);
}

/* Signals that are about a terminal, where the box has one.  True: nothing is left to do. */
static bool is_terminals(struct run *run, int signal)
{
	struct rf_event *event;
	struct rf_err err;

	switch (signal) {
	case SIGWINCH: /* the kernel tells the program */
		rf_terminal_copy_size(run->box.pty[0]);
		return true;
	case SIGTSTP:
		rf_terminal_leave(&run->terminal, false);
		raise(SIGSTOP);
		return true;
	case SIGCONT:
		if (!run->options->is_captured)
			rf_terminal_enter(&run->terminal);
		rf_terminal_copy_size(run->box.pty[0]);
		return true;
	case SIGINT:
	case SIGQUIT: /* as if it had been typed: for whatever is in the foreground */
		return ioctl(run->box.pty[0], TIOCSIG, signal) == 0;
	case SIGTERM:
	case SIGHUP:
		rf_loop_timer(run->loop, rf_loop_now() + HANG_UP_AFTER, on_patience_end, run,
			      &event, &err);
		return false;
	default:
		return false;
	}
}

/* Passes it on; whoever asks to stop a second time means it. */
static void on_signal(void *data, int signal)
{
	struct run *run = data;
	bool is_stop =
		signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;

	if (is_stop)
		run->ending.forwarded = signal;
	if (is_stop && ++run->interrupts > 1) {
		end_box(run);
		return;
	}
	if (!run->plan->has_terminal || !is_terminals(run, signal))
		syscall(SYS_pidfd_send_signal, run->box.pidfd, signal, NULL, 0);
}

static int start_signals(struct run *run, struct rf_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < RF_LEN(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	if (run->plan->has_terminal) {
		sigaddset(&set, SIGTSTP);
		sigaddset(&set, SIGCONT);
	}
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return rf_fail(err, -errno, "hold signals");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD,
	       SIG_DFL); /* a caller that ignores it would have pid 1 reaped behind our back */
	return rf_loop_signals(run->loop, &set, on_signal, run, err);
}

/* ------------------------------------------------------------- limits that need watching */

/* When processor time can run out at the earliest: all processors busy from now on. */
static uint64_t next_look(const struct run *run, uint64_t used_ns)
{
	uint64_t limit = run->plan->limits[RF_LIMIT_CPU_TIME], left;

	if (run->box.grades[RF_LIMIT_MEMORY] == RF_GRADE_SAMPLED)
		return rf_loop_now() + SAMPLE_EVERY;
	if (limit == RF_LIMIT_NONE)
		return UINT64_MAX;
	left = limit * MS - used_ns;
	left /= (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	return rf_loop_now() + (left < MS ? MS : left);
}

static void on_look(void *data, int what)
{
	struct run *run = data;
	const uint64_t *limits = run->plan->limits;
	uint64_t used = rf_cgroup_cpu_ns(&run->box.cgroup);
	bool is_sampled = run->box.grades[RF_LIMIT_MEMORY] == RF_GRADE_SAMPLED;
	struct rf_sample sample = { 0 };

	(void)what;
	if (run->has_exited)
		return;
	if (is_sampled || used == UINT64_MAX) {
		rf_sample_take(run->box.pid, !run->box.is_lesser, limits[RF_LIMIT_MEMORY] / 4 * 3,
			       &sample);
		note_peak(run, &sample);
		used = used == UINT64_MAX ? sample.cpu_ns : used;
	}
	if (is_sampled && sample.memory_bytes > limits[RF_LIMIT_MEMORY])
		kill_for(run, RF_LIMIT_MEMORY);
	if (limits[RF_LIMIT_CPU_TIME] != RF_LIMIT_NONE && used >= limits[RF_LIMIT_CPU_TIME] * MS)
		kill_for(run, RF_LIMIT_CPU_TIME);
	else
		rf_event_again(run->cpu_timer, next_look(run, used));
}

static void on_janitor(void *data, int what)
{
	struct run *run = data;

	(void)what;
	if (!run->has_exited)
		rf_janitor_start(&run->janitor, &run->box);
}

static int start_timers(struct run *run, struct rf_err *err)
{
	uint64_t time = run->plan->limits[RF_LIMIT_TIME];
	struct rf_event *event;

	if (time != RF_LIMIT_NONE &&
	    rf_loop_timer(run->loop, run->began_ns + time * MS, on_time, run, &event, err) < 0)
		return err->code;
	if (rf_loop_timer(run->loop, next_look(run, 0), on_look, run, &run->cpu_timer, err) < 0)
		return err->code;
	return rf_loop_timer(run->loop, run->began_ns + JANITOR_AFTER, on_janitor, run, &event,
			     err);
}

/* ------------------------------------------------------------- what is left to say */

static void note_usage(struct run *run)
{
	struct rf_cgroup_usage *counts = &run->ending.counts;
	struct rf_result *result = run->result;
	const struct timeval *user = &run->rusage.ru_utime, *system = &run->rusage.ru_stime;

	count(run);
	result->usage.cpu_ns = counts->cpu_ns;
	if (counts->cpu_ns == UINT64_MAX && run->has_exited)
		result->usage.cpu_ns = (uint64_t)(user->tv_sec + system->tv_sec) * 1000000000u +
				       (uint64_t)(user->tv_usec + system->tv_usec) * 1000u;
	/* What was killed before it was waited for is not in the kernel's sum. */
	if (counts->cpu_ns == UINT64_MAX && run->peak.cpu_ns > result->usage.cpu_ns)
		result->usage.cpu_ns = run->peak.cpu_ns;
	result->usage.memory_peak = counts->memory_peak;
	if (counts->memory_peak == UINT64_MAX && run->has_exited) {
		uint64_t largest = (uint64_t)run->rusage.ru_maxrss * 1024;

		result->usage.memory_peak =
			run->peak.memory_bytes > largest ? run->peak.memory_bytes : largest;
	}
	result->usage.pids_peak =
		counts->pids_peak == UINT64_MAX ? run->peak.pids : counts->pids_peak - 1;
	if (result->usage.pids_peak == 0)
		result->usage.pids_peak = UINT64_MAX; /* too short to be looked at */
	if (run->ending.end.kind == RF_REPORT_ENDED && run->ending.end.scratch_bytes)
		result->usage.disk_bytes =
			run->plan->limits[RF_LIMIT_DISK] - run->ending.end.scratch_free_bytes;
}

/* Finds a program on the caller's PATH, to tell why the box does not have it. */
static bool find_outside(const char *name, const char *path, char *found, size_t size)
{
	while (path && *path && !strchr(name, '/')) {
		size_t len = strcspn(path, ":");

		if (len > 0 && snprintf(found, size, "%.*s/%s", (int)len, path, name) < (int)size &&
		    access(found, X_OK) == 0)
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

static void judge(struct run *run)
{
	const char *program = run->plan->argv[0];
	char found[4096];
	bool is_outside = run->ending.end.kind == RF_REPORT_NO_EXEC &&
			  find_outside(program, run->options->caller_path, found, sizeof(found));

	if (run->box.shared->has_failed)
		run->ending.setup = run->box.shared->err;
	note_usage(run);
	rf_verdict_judge(&run->ending, program, is_outside ? found : NULL, run->result);
}

/* ------------------------------------------------------------- the whole */

/* A full box; or, where the machine has no namespaces to give and the plan takes less, a lesser one. */
static int start_box(struct run *run, struct rf_err *err)
{
	struct rf_box *box = &run->box;
	struct rf_err why;

	if (rf_box_start(box, run->options->init_path, err) == 0)
		return 0;
	if (!rf_lesser_is_due(run->plan, err, &why))
		return err->code;
	rf_box_done(box);
	rf_box_init(box, run->plan);
	rf_lesser_choose(box, &why);
	return rf_box_start(box, run->options->init_path, err);
}

static void on_request(void *data, int what)
{
	struct run *run = data;

	(void)what;
	if (!rf_deputy_serve(&run->box))
		rf_event_cancel(run->request_event);
}

/* Names in a profile that no kernel has: allowing them does nothing, and may be a slip. */
static void warn_of_profiles(struct run *run)
{
	for (size_t i = 0; i < run->box.profile_count; i++) {
		const struct rf_ruleset *ruleset = run->box.profiles[i];

		if (ruleset->unknown_count > 0)
			rf_result_warn(run->result,
				       "seccomp: %.60s: %zu unknown system call%s: %.150s",
				       ruleset->path, ruleset->unknown_count,
				       ruleset->unknown_count == 1 ? "" : "s", ruleset->unknown);
	}
}

static void on_refusal(void *data, int what)
{
	struct run *run = data;

	(void)what;
	if (!rf_ear_hear(&run->ear))
		rf_event_cancel(run->ear_event);
}

/* Refusals are told from others' by the box's uid: it must have one of its own. */
static int start_listening(struct run *run, struct rf_err *err)
{
	struct rf_denials *denials;

	if (run->ear.fd < 0 || run->box.has_owner_uid || run->box.is_lesser)
		return 0;
	denials = calloc(1, sizeof(*denials));
	if (!denials)
		return rf_fail(err, -ENOMEM, "a list of denials");
	denials->uid = run->box.host_uid;
	denials->calls = rf_seccomp_options(&run->box);
	denials->has_commands = run->box.programs != NULL;
	run->result->denials = run->ear.denials = denials;
	return rf_loop_watch(run->loop, run->ear.fd, RF_LOOP_READ, on_refusal, run, &run->ear_event,
			     err);
}

static void end_listening(struct run *run)
{
	const struct rf_denials *denials = run->ear.denials;

	if (!denials)
		return;
	rf_ear_hear_last(&run->ear);
	/* Older kernels tell what the filter refuses, and nothing of Landlock. */
	run->result->has_seen_denials = denials->domain != 0 && !run->ear.has_lost;
	if (denials->more)
		rf_result_warn(run->result, "%llu more refusals are not listed in denials",
			       (unsigned long long)denials->more);
	if (run->ear.has_lost)
		rf_result_warn(run->result, "the kernel refused more than could be read: "
					    "denials lists a part of it");
}

static int supervise(struct run *run, struct rf_err *err)
{
	struct rf_box *box = &run->box;

	if (rf_loop_new(&run->loop, err) < 0 || start_signals(run, err) < 0)
		return err->code;
	run->began_ns = rf_loop_now();
	if (run->options->wants_denials && box->is_root)
		rf_ear_open(&run->ear);
	box->is_heard = run->ear.fd >= 0;
	if (start_box(run, err) < 0 || start_listening(run, err) < 0)
		return err->code;
	memcpy(run->result->grades, box->grades, sizeof(box->grades));
	warn_of_profiles(run);
	if (start_timers(run, err) < 0 || start_pumps(run, err) < 0)
		return err->code;
	if (box->listener >= 0 && rf_loop_watch(run->loop, box->listener, RF_LOOP_READ, on_request,
						run, &run->request_event, err) < 0)
		return err->code;
	if (rf_loop_watch(run->loop, box->channel[0], RF_LOOP_READ, on_channel, run,
			  &run->channel_event, err) < 0 ||
	    rf_loop_watch(run->loop, box->pidfd, RF_LOOP_READ, on_exit_of_init, run,
			  &run->exit_event, err) < 0)
		return err->code;
	if (rf_loop_run(run->loop, err) < 0)
		return err->code;
	on_channel(run, 0); /* last words */
	end_listening(run);
	return 0;
}

/* The caller's terminal as it was: its screen, where a pump could not see to it, and its settings. */
static void give_terminal_back(struct run *run)
{
	bool is_noisy;
	char bytes[RF_GUARD_END];

	for (int i = 0; i < 2; i++) {
		size_t len = run->guards[i].changed ? rf_guard_end(&run->guards[i], bytes) : 0;

		if (len > 0)
			rf_fd_write(i + 1, bytes, len);
	}
	note_questions(run);
	is_noisy = run->guards[0].was_talkative ||
		   (run->asked_ns && rf_loop_now() - run->asked_ns < ASKED_LATELY);
	rf_terminal_leave(&run->terminal, is_noisy);
}

/* Where the policy names programs: finds them, and refuses to run another. */
static int find_programs(struct run *run, struct rf_err *err)
{
	if (!run->plan->commands)
		return 0;
	if (rf_program_find(run->plan, &run->box.programs, err) < 0)
		return err->code;
	return rf_program_admit(run->box.programs, run->plan, err);
}

void rf_run(const struct rf_plan *plan, const struct rf_run_options *options,
	    struct rf_result *ret_result)
{
	struct rf_err err = RF_ERR_INIT;
	struct run *run = calloc(1, sizeof(*run));
	struct rf_planted *planted;

	if (!run) {
		rf_fail(&err, -ENOMEM, "a run");
		rf_result_fail(ret_result, RF_STATUS_ERROR, 125, &err);
		return;
	}
	run->plan = plan;
	run->options = options;
	run->result = ret_result;
	run->ending.killed_for = RF_LIMIT_COUNT;
	for (int i = 0; i < 3; i++)
		run->pumps[i].own_to = run->pumps[i].own_from = -1;
	run->ear = RF_EAR_DEAF;
	rf_box_init(&run->box, plan);
	planted = rf_planted_begin(plan);

	if (find_programs(run, &err) < 0)
		rf_result_fail(ret_result, err.code == -EPERM ? RF_STATUS_DENIED : RF_STATUS_ERROR,
			       err.code == -EPERM ? 126 : 125, &err);
	else if (supervise(run, &err) < 0)
		rf_result_fail(ret_result,
			       err.code == -EOPNOTSUPP ? RF_STATUS_DENIED : RF_STATUS_ERROR,
			       err.code == -EOPNOTSUPP ? 126 : 125, &err);
	else
		judge(run);

	memcpy(ret_result->id, run->box.id, sizeof(ret_result->id));
	if (run->box.shared)
		ret_result->walls = *run->box.shared;
	rf_result_take_hidden(ret_result, &run->box.hidden);
	memcpy(ret_result->outside_ns, run->box.outside_ns, sizeof(ret_result->outside_ns));
	for (int i = 0; i < 3; i++)
		rf_pump_done(&run->pumps[i]);
	give_terminal_back(run);
	rf_box_done(&run->box);
	rf_planted_end(planted, &ret_result->planted); /* nothing of the box runs any more */
	rf_janitor_stop(&run->janitor);
	rf_record_sweep(&run->box);
	rf_loop_free(run->loop);
	rf_ear_done(&run->ear);
	free(run);
}
