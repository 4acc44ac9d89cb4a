/* One run: see run.h. */
#include "jail/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/loop.h"
#include "jail/far.h"
#include "jail/guard.h"
#include "jail/life.h"
#include "jail/outward.h"
#include "jail/pump.h"
#include "jail/terminal.h"

#define MS 1000000ull /* nanoseconds */

#define LEAVE_KEY     0x1d /* ctrl-]: three in a row, within a second, end a box */
#define LEAVE_TIMES   3
#define LEAVE_WITHIN  (1000 * MS)
#define HANG_UP_AFTER (2000 * MS) /* a shell ignores SIGTERM: how long it has to end */
#define END_AGAIN     (20 * MS)   /* how long until an end of input is told again, at first... */
#define END_LATEST    (1000 * MS) /* ...and after a while */
#define ASKED_LATELY  (2000 * MS) /* an answer may still be under way */

/* What a run is in the middle of.  Lives on the heap: it holds three pumps' buffers. */
struct run {
	const struct rf_plan *plan;
	const struct rf_run_options *options;
	struct rf_result *result;
	struct rf_loop *loop;
	struct rf_life life;       /* of our own box; with a warden's, only its streams are used */
	struct rf_far far;         /* a box that a warden keeps */
	struct rf_pump pumps[3];   /* stdin, stdout, stderr; with a terminal, stderr has none */
	struct rf_guard guards[2]; /* of the outputs, where there is a terminal or --plain */
	struct rf_terminal terminal;  /* the caller's, where the box has one */
	uint64_t output_ns, asked_ns; /* when something, and when a question, last came out of it */
	uint64_t leave_ns[LEAVE_TIMES]; /* when that key was last pressed */
	uint64_t end_again;             /* how long until the end of input is told again */
	struct rf_event *end_timer;
	bool is_line_open; /* the last byte of input was no newline */
	int interrupts;    /* how often a person asked to stop */
	bool has_exited;
	bool is_refused; /* by who must know of it before it runs */
};

/* ------------------------------------------------------------- ends */

static bool is_far(const struct run *run)
{
	return run->options->warden >= 0;
}

static void end_box(struct run *run)
{
	if (is_far(run))
		rf_far_end(&run->far, RF_LIMIT_COUNT);
	else
		rf_life_end(&run->life);
}

static void end_for_output(struct run *run)
{
	if (is_far(run))
		rf_far_end(&run->far, RF_LIMIT_OUTPUT);
	else
		rf_life_end_for(&run->life, RF_LIMIT_OUTPUT);
}

static void pass_on(struct run *run, int signal)
{
	if (is_far(run))
		rf_far_signal(&run->far, signal);
	else
		rf_life_signal(&run->life, signal);
}

/* All is over when pid 1 is gone, its last words are read and both outputs are passed on. */
static void stop_if_over(struct run *run)
{
	if (run->has_exited && run->pumps[1].is_done && run->pumps[2].is_done)
		rf_loop_stop(run->loop);
}

static void on_end(void *data)
{
	struct run *run = data;

	run->has_exited = true;
	rf_pump_done(&run->pumps[0]);
	/* What the box wrote is in the pipes by now; who else may hold their ends is not waited for. */
	rf_pump_last_call(&run->pumps[1]);
	rf_pump_last_call(&run->pumps[2]);
	stop_if_over(run);
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
	end_for_output(run);
	return false;
}

/*
 * A reader that went away: the program learns it from its own pipe.  But one that said too much is to be
 * ended for that, and not to end of a pipe that was closed, before a warden has heard of it.
 */
static void on_output_done(void *data, struct rf_pump *pump)
{
	struct run *run = data;
	int stream = (int)(pump - run->pumps);

	if (pump->write_errno && pump->write_errno != EPIPE) {
		rf_fail(&run->result->error, -pump->write_errno, "write standard %s",
			stream == 1 ? "output" : "error");
		rf_fail_hint(&run->result->error, "the program ran, but what it wrote was lost");
	}
	if (!is_far(run) || !run->result->is_truncated[stream - 1])
		rf_fd_done(&run->life.box.stdio[stream][0]);
	if (run->plan->has_terminal && !run->has_exited) { /* its terminal hangs up */
		rf_pump_done(&run->pumps[0]);
		rf_fd_done(&run->life.box.pty[0]);
	}
	stop_if_over(run);
}

static void on_input_ended(void *data, int what)
{
	struct run *run = data;
	struct rf_err err;

	(void)what;
	if (run->has_exited || run->life.box.pty[0] < 0)
		return;
	rf_terminal_end_input(run->life.box.pty, run->is_line_open);
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
	rf_fd_done(&run->life.box.stdio[0][1]);
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
		run->life.ending.forwarded = SIGKILL;
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
	int master = run->life.box.pty[0];

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
	struct rf_box *box = &run->life.box;

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
	struct run *run = data;

	(void)what;
	end_box(run);
}

/* Signals that are about a terminal, where the box has one.  True: nothing is left to do. */
static bool is_terminals(struct run *run, int signal)
{
	struct rf_event *event;
	struct rf_err err;

	switch (signal) {
	case SIGWINCH: /* the kernel tells the program */
		rf_terminal_copy_size(run->life.box.pty[0]);
		return true;
	case SIGTSTP:
		rf_terminal_leave(&run->terminal, false);
		raise(SIGSTOP);
		return true;
	case SIGCONT:
		if (!run->options->is_captured)
			rf_terminal_enter(&run->terminal);
		rf_terminal_copy_size(run->life.box.pty[0]);
		return true;
	case SIGINT:
	case SIGQUIT: /* as if it had been typed: for whatever is in the foreground */
		return ioctl(run->life.box.pty[0], TIOCSIG, signal) == 0;
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
		run->life.ending.forwarded = signal;
	if (is_stop && ++run->interrupts > 1) {
		end_box(run);
		return;
	}
	if (!run->plan->has_terminal || !is_terminals(run, signal))
		pass_on(run, signal);
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

/* ------------------------------------------------------------- the whole */

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

static int on_orders(void *data, struct rf_err *err)
{
	struct run *run = data;

	if (run->options->outward && rf_outward_await(run->options->outward, err) < 0)
		return rf_fail_in(err, "the network");
	if (!run->options->on_orders)
		return 0;
	run->is_refused = run->options->on_orders(run->options->data, err) < 0;
	return run->is_refused ? err->code : 0;
}

static void on_ended(void *data)
{
	const struct run *run = data;

	rf_outward_close(run->options->outward);
}

static void on_settled(void *data)
{
	const struct run *run = data;

	run->options->on_settled(run->options->data, run->life.box.pidfd, run->life.box.is_lesser);
}

/* Somebody must know of the box before there is one, and have heard it before anything runs. */
static int announce(struct run *run, struct rf_err *err)
{
	const struct rf_run_options *options = run->options;

	run->life.box.on_orders = on_orders;
	run->life.box.on_orders_data = run;
	if (options->id)
		snprintf(run->life.box.id, sizeof(run->life.box.id), "%s", options->id);
	if (!options->on_start)
		return 0;
	if (rf_box_name(&run->life.box, err) < 0) {
		rf_life_fail(&run->life, err);
		return err->code;
	}
	run->is_refused = options->on_start(options->data, run->life.box.id, err) < 0;
	return run->is_refused ? err->code : 0;
}

static void on_canary_sent(void *data)
{
	end_box(data);
}

/* Whatever else it did: one that was sent was read before, and that is told with it. */
static void judge_canary(const struct run *run, struct rf_result *result)
{
	const struct rf_outward *outward = run->options->outward;
	struct rf_err err;

	if (!outward || !outward->canary[0])
		return;
	for (size_t i = 0; run->plan->canaries && run->plan->canaries[i]; i++)
		if (strcmp(run->plan->canaries[i], outward->canary) == 0)
			result->canary = run->plan->canaries[i];
	snprintf(result->canary_to, sizeof(result->canary_to), "%s", outward->canary_to);
	rf_fail_say(&err, -ECANCELED,
		    "killed because it sent the canary %s to %s, which was refused",
		    outward->canary, outward->canary_to);
	rf_fail_hint(&err, "nothing needs that file: look at what the program was after");
	rf_result_fail(result, RF_STATUS_KILLED, 128 + SIGKILL, &err);
}

/* What its network leads to is told where to find it. */
static int lead_outward(struct run *run, struct rf_err *err)
{
	struct rf_outward *outward = run->options->outward;

	if (!outward)
		return 0;
	outward->on_canary = on_canary_sent;
	outward->canary_data = run;
	if (rf_outward_give(outward, &run->life.box.capture, err) < 0 ||
	    rf_outward_watch(outward, run->loop, err) < 0) {
		rf_life_fail(&run->life, err);
		return err->code;
	}
	return 0;
}

static int supervise(struct run *run, struct rf_err *err)
{
	if (rf_loop_new(&run->loop, err) < 0 || start_signals(run, err) < 0) {
		rf_life_fail(&run->life, err);
		return err->code;
	}
	if (is_far(run)) {
		if (rf_far_start(&run->far, &run->life.box, run->loop, run->options->errand, err) <
		    0) {
			rf_life_fail(&run->life, err);
			return err->code;
		}
	} else if (announce(run, err) < 0 || rf_life_start(&run->life, run->loop, err) < 0 ||
		   lead_outward(run, err) < 0) {
		return err->code;
	}
	if (start_pumps(run, err) < 0 || rf_loop_run(run->loop, err) < 0) {
		rf_life_fail(&run->life, err);
		return err->code;
	}
	return 0;
}

void rf_run(const struct rf_plan *plan, const struct rf_run_options *options,
	    struct rf_result *ret_result)
{
	const struct rf_life_options of_life = {
		.init_path = options->init_path,
		.caller_path = options->caller_path,
		.wants_denials = options->wants_denials,
		.footprint = options->footprint,
		.has_outward = options->outward != NULL,
	};
	struct rf_err err = RF_ERR_INIT;
	struct run *run = calloc(1, sizeof(*run));

	if (!run) {
		rf_fail(&err, -ENOMEM, "a run");
		rf_result_fail(ret_result, RF_STATUS_ERROR, 125, &err);
		return;
	}
	run->plan = plan;
	run->options = options;
	run->result = ret_result;
	for (int i = 0; i < 3; i++)
		run->pumps[i].own_to = run->pumps[i].own_from = -1;
	rf_life_init(&run->life, plan, &of_life, ret_result);
	run->life.on_exit = on_end;
	run->life.data = run;
	run->life.on_settled = options->on_settled ? on_settled : NULL;
	run->life.on_ended = options->outward ? on_ended : NULL;
	run->far = (struct rf_far){
		.fd = options->warden,
		.result = ret_result,
		.on_exit = on_end,
		.data = run,
		.outward = options->outward,
	};

	if (supervise(run, &err) == 0 && !is_far(run))
		rf_life_judge(&run->life);
	if (run->life.box.id[0] || is_far(run)) /* something may have been written */
		ret_result->usage.output_bytes = run->pumps[1].total + run->pumps[2].total;
	ret_result->was_interrupted = run->interrupts > 0;
	if (run->is_refused)
		rf_result_fail(ret_result, RF_STATUS_DENIED, 126, &err);
	if (options->outward) {
		rf_outward_end(options->outward, ret_result);
		judge_canary(run, ret_result);
	}
	if (options->on_end && !is_far(run))
		options->on_end(options->data, ret_result);
	for (int i = 0; i < 3; i++)
		rf_pump_done(&run->pumps[i]);
	give_terminal_back(run);
	if (is_far(run))
		rf_box_done(&run->life.box); /* the streams that are left */
	else
		rf_life_done(&run->life);
	rf_loop_free(run->loop);
	free(run);
}
