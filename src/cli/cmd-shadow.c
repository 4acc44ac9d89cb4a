/*
 * ringfort shadow: a program's changes count only once they are verified.
 *
 * The program runs over a layer, and then each verification over that, with a layer of its own which is thrown away: so
 * what was looked at is, byte for byte, what is applied, and what a verification leaves is not.  Until the apply nothing
 * has a name: whoever is killed has left two layers that the next sweep takes away.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "cli/cmd.h"
#include "cli/egress.h"
#include "cli/in-workspace.h"
#include "cli/recorder.h"
#include "cli/release.h"
#include "cli/remarks.h"
#include "cli/request.h"
#include "cli/shadow-report.h"
#include "cli/worksite.h"
#include "jail/run.h"
#include "workspace/shadow.h"
#include "workspace/sweep.h"
#include "workspace/visit.h"

enum {
	EXIT_RUN = 1,      /* the program failed */
	EXIT_VERIFY = 2,   /* a verification did */
	EXIT_REFUSED = 3,  /* not to be applied as it is */
	EXIT_DECLINED = 4, /* by who was asked */
	EXIT_UNSENT = 5,   /* applied, but a request that was held back could not be sent */
};

struct shadow {
	struct rf_request request;
	struct rf_result run;
	struct rf_shadow_report report;
	int exit_code;
};

/* ------------------------------------------------------------- before anything runs */

/* What may be written besides the workspace is not held back; within it, it would get past us. */
static int check_writes(const struct shadow *s, struct rf_err *err)
{
	const struct rf_plan *plan = s->request.plan;
	const char *base = s->request.visit->base;

	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];

		if (place->kind != RF_PLACE_HOST || place->layers ||
		    !(place->rights & RF_RIGHT_WRITE))
			continue;
		if (rf_path_is_beneath(place->source, base) ||
		    rf_path_is_beneath(base, place->source)) {
			rf_fail_say(err, -EINVAL,
				    "%s: %s would be changed at once, verified or not", place->rule,
				    place->source);
			return rf_fail_hint(err,
					    "leave it out: the directory of --workspace can be "
					    "written to anyway");
		}
		if (!s->request.is_json)
			rf_cmd_remark("%s: what it writes to %s is not held back", place->rule,
				      place->source);
	}
	return 0;
}

static int check_line(const struct rf_request *request, struct rf_err *err)
{
	const struct rf_request_shadow *shadow = &request->shadow;

	if (!request->workspace) {
		rf_fail_say(err, -EINVAL, "there is no directory to work on");
		return rf_fail_hint(err, "for example: ringfort shadow --workspace . --verify "
					 "'make test' -- ./agent");
	}
	if (shadow->verify_count == 0 && !shadow->asks) {
		rf_fail_say(err, -EINVAL, "nothing would verify what it changes");
		return rf_fail_hint(err, "say how with --verify COMMAND, or --ask to be asked");
	}
	if (shadow->asks && (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))) {
		rf_fail_say(err, -ENOTTY, "--ask: there is no terminal to ask on");
		return rf_fail_hint(err, "leave --ask out, and say with --verify what must hold");
	}
	return 0;
}

/* What earlier ones left when they were killed goes; what is left half applied is somebody's to decide. */
static int tidy(const struct shadow *s, struct rf_err *err)
{
	struct rf_swept swept;
	struct rf_err ignored;

	rf_sweep(0, &swept, &ignored);
	return rf_shadow_check(s->request.visit->base, err);
}

/* A file of the directory that boxes can't see makes every verification worthless. */
static int look_through(const struct shadow *s, struct rf_base_scan *ret_scan, struct rf_err *err)
{
	if (rf_base_scan_run(s->request.visit->tree, ret_scan, err) < 0)
		return rf_fail_in(err, "%s", s->request.visit->base);
	return 0;
}

/* ------------------------------------------------------------- runs */

/* What the box was told of its requests must be so. */
static int take_held(struct rf_egress *egress, struct rf_held_list *held, struct rf_err *err)
{
	if (egress->outward.is_lost)
		return rf_fail_say(err, -EPIPE,
				   "the gateway was lost, and with it what was held back");
	*held = egress->outward.held;
	egress->outward.held = (struct rf_held_list){ 0 };
	return 0;
}

/* One box, from its layer to its result; `held` gets the requests that it made, or is NULL: they count for nothing. */
static int run_box(struct rf_request *request, struct rf_result *result, struct rf_held_list *held,
		   struct rf_err *err)
{
	char init_path[4096];
	struct rf_run_options options = {
		.init_path = init_path,
		.caller_path = getenv("PATH"),
		.is_captured = request->is_json,
		.wants_denials = request->is_json || request->wants_stats,
		.is_plain = request->is_plain || request->shadow.asks,
		.warden = -1,
	};
	struct rf_recorder recorder;
	struct rf_egress egress;

	rf_egress_init(&egress);
	int code;

	if (rf_egress_begin(&egress, request, RF_EGRESS_HOLDS, &options, err) < 0 ||
	    rf_in_workspace_begin(request, err) < 0) {
		rf_egress_done(&egress);
		return err->code;
	}
	rf_cmd_find("ringfort-init", init_path, sizeof(init_path));
	rf_recorder_init(&recorder);
	rf_recorder_attend(&recorder, request, &options);
	rf_run(request->plan, &options, result);
	code = held ? take_held(&egress, held, err) : 0;
	rf_egress_done(&egress);
	rf_recorder_end(&recorder, result);
	rf_recorder_done(&recorder);
	if (!request->is_json)
		rf_remarks_print(result, request->wants_stats);
	return code;
}

/* What asks us to stop.  The runs have blocked these, and nothing unblocks them. */
static const int stops[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static bool is_interrupted(void)
{
	sigset_t pending;

	sigemptyset(&pending);
	sigpending(&pending);
	for (size_t i = 0; i < RF_LEN(stops); i++)
		if (sigismember(&pending, stops[i]))
			return true;
	return false;
}

/* True if a run came to a good end; else `why` says what became of it. */
static bool is_good(const struct rf_result *result, const char *what, struct rf_err *why)
{
	if (result->was_interrupted || is_interrupted())
		rf_fail_say(why, -EINTR, "%s: interrupted", what);
	else if (result->error.code)
		*why = result->error;
	else if (result->status == RF_STATUS_OK)
		return true;
	else if (result->signal)
		rf_fail_say(why, -EPROTO, "%s: %s, by signal %d", what,
			    rf_result_status(result->status), result->signal);
	else
		rf_fail_say(why, -EPROTO, "%s: %s, with exit code %d", what,
			    rf_result_status(result->status), result->exit_code);
	return false;
}

/* Ringfort's own failures keep their exit codes. */
static int code_of(const struct rf_result *result, int otherwise)
{
	return result->status == RF_STATUS_ERROR || result->status == RF_STATUS_DENIED
		       ? result->code
		       : otherwise;
}

static int run_program(struct shadow *s, struct rf_err *err)
{
	struct rf_request *request = &s->request;

	rf_result_init(&s->run, request->plan);
	s->report.run = &s->run;
	if (run_box(request, &s->run, &s->report.held, err) < 0)
		return err->code;
	if (!is_good(&s->run, "the program", err)) {
		s->exit_code = code_of(&s->run, EXIT_RUN);
		return err->code;
	}
	if (rf_visit_settle(request->visit, err) < 0)
		return err->code;
	if (rf_visit_changes(request->visit, &s->report.delta, err) < 0)
		return rf_fail_in(err, "what it changed");
	if (rf_visit_store(request->visit, err) < 0)
		return err->code;
	return rf_visit_see(request->visit, &s->report.delta, err);
}

static int verify(struct shadow *s, struct rf_shadow_check *check, struct rf_err *err)
{
	char shell[] = "sh", option[] = "-c", *line = strdup(check->command);
	char *argv[] = { shell, option, line, NULL };
	struct rf_request request = s->request; /* the same but for what runs, and where */
	struct rf_visit visit;
	int code;

	request.plan = NULL;
	request.brought = NULL;
	request.visit = &visit;
	code = rf_visit_open_over(s->request.visit, &visit, err);
	if (code < 0 || !line) {
		free(line);
		return code < 0 ? code : rf_fail(err, -ENOMEM, "verify");
	}
	code = rf_request_plan_to_look(&request, argv, &visit.place, err);
	if (code == 0) {
		rf_result_init(&check->result, request.plan);
		check->has_run = true;
		code = run_box(&request, &check->result, NULL, err);
	}
	if (code == 0) {
		check->has_passed = is_good(&check->result, "not verified", err);
		check->result.canary = NULL; /* the plan's, which goes */
		s->exit_code = code_of(&check->result, EXIT_VERIFY);
		code = check->has_passed ? 0 : err->code;
	}
	rf_visit_close(&visit);
	rf_plan_free(request.plan);
	free(request.brought);
	free(line);
	return code;
}

/* They get no input: what the program was given is its own, and an answer is ours. */
static int verify_all(struct shadow *s, struct rf_err *err)
{
	for (size_t i = 0; i < s->report.check_count; i++) {
		struct rf_shadow_check *check = &s->report.checks[i];

		if (verify(s, check, err) < 0)
			return rf_fail_in(err, "`%.80s`", check->command);
		if (!s->request.is_json)
			rf_cmd_remark("verified: %s", check->command);
	}
	return 0;
}

/* ------------------------------------------------------------- the decision */

static void show_changes(const struct shadow *s)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, RF_MAX_JSON);
	if (s->request.is_json && !s->request.shadow.asks)
		return;
	rf_shadow_report_changes(&s->report, rf_style_of(STDERR_FILENO), &out);
	if (out.data)
		rf_fd_write(STDERR_FILENO, out.data, out.len);
}

/* What could not be applied anyway is not asked about. */
static int find_obstacle(const struct shadow *s, struct rf_err *err)
{
	const char *const *allow = s->request.shadow.allow;

	for (size_t i = 0; i < s->report.delta.count; i++) {
		const struct rf_change *change = &s->report.delta.changes[i];
		bool is_allowed = !change->protects;

		for (const char *const *path = allow; *path && !is_allowed; path++)
			is_allowed = strcmp(*path, change->path) == 0;
		if (!is_allowed) {
			rf_fail_say(err, -EPERM, "%.120s acts later on the host (%s)", change->path,
				    change->protects);
			return rf_fail_hint(err, "look at it; --allow %.150s lets it be applied",
					    change->path);
		}
	}
	return 0;
}

static void on_signal(int number)
{
	(void)number;
}

/* Waits until there is something to read.  Whoever interrupts us meanwhile, or has done so, says no. */
static bool wait_for(int terminal)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct pollfd poll = { .fd = terminal, .events = POLLIN };
	sigset_t blocked, none;

	sigemptyset(&none);
	sigemptyset(&blocked);
	for (size_t i = 0; i < RF_LEN(stops); i++) {
		sigaddset(&blocked, stops[i]);
		sigaction(stops[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, NULL); /* as the runs have done */
	return ppoll(&poll, 1, NULL, &none) > 0;
}

/* Only what is typed after the question is an answer to it. */
static bool is_agreed(const struct shadow *s, int terminal)
{
	RF_AUTO_BUF struct rf_buf out;
	char answer[16] = "";
	size_t len = 0;
	char c = '\0';

	rf_buf_init(&out, 8192);
	rf_shadow_report_question(&s->report, rf_style_of(STDERR_FILENO), &out);
	tcflush(terminal, TCIFLUSH);
	if (out.data)
		rf_fd_write(STDERR_FILENO, out.data, out.len);
	while (wait_for(terminal) && read(terminal, &c, 1) == 1) {
		if (c == '\n')
			break;
		if (len < sizeof(answer) - 1)
			answer[len++] = c;
	}
	answer[c == '\n' ? len : 0] = '\0';
	return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

static int apply(struct shadow *s, struct rf_err *err)
{
	struct rf_request *request = &s->request;
	char command[256];
	const struct rf_shadow shadow = { .visit = request->visit,
					  .delta = &s->report.delta,
					  .command = command,
					  .agent = request->plan->agent,
					  .allowed = request->shadow.allow,
					  .is_durable = request->shadow.is_durable };
	int code;

	s->exit_code = RF_EXIT_FAILED;
	rf_in_workspace_command(request->plan->argv, command, sizeof(command));
	code = rf_shadow_apply(&shadow, &s->report.apply, err);
	if (code == 0 || request->visit->kept.folder >= 0)
		s->report.workspace = request->visit->kept.ledger.name;
	if (code < 0 && s->report.workspace) {
		s->report.verdict = RF_SHADOW_UNFINISHED;
	} else if (code == -EPERM || code == -EEXIST || code == -ENOTSUP) {
		s->report.verdict = RF_SHADOW_REFUSED;
		s->exit_code = EXIT_REFUSED;
	}
	return code;
}

static int settle(struct shadow *s, int terminal, struct rf_err *err)
{
	if (find_obstacle(s, err) < 0) {
		s->report.verdict = RF_SHADOW_REFUSED;
		s->exit_code = EXIT_REFUSED;
		return err->code;
	}
	if (s->request.shadow.asks && (s->report.delta.count > 0 || s->report.held.count > 0) &&
	    !is_agreed(s, terminal)) {
		s->report.verdict = RF_SHADOW_DECLINED;
		s->exit_code = EXIT_DECLINED;
		return rf_fail_say(err, -ECANCELED, "it was not agreed to");
	}
	return s->report.delta.count > 0 ? apply(s, err) : 0;
}

/* Warnings of the run were printed when it ended: what comes now is printed here. */
static int release(struct shadow *s, struct rf_err *err)
{
	size_t printed = s->run.warning_count;
	int code = rf_release_send(&s->request, &s->report.held, &s->run, err);

	for (size_t i = printed; !s->request.is_json && i < s->run.warning_count; i++)
		rf_cmd_remark("%s", s->run.warnings[i]);
	return code;
}

/* ------------------------------------------------------------- the whole */

static int carry_out(struct shadow *s, struct rf_err *err)
{
	RF_AUTO_FD int terminal = -1;
	RF_AUTO_FD int nothing = rf_fd_open("/dev/null", O_RDONLY);
	struct rf_base_scan scan;

	if (check_writes(s, err) < 0 || tidy(s, err) < 0 || look_through(s, &scan, err) < 0)
		return err->code;
	rf_worksite_tell_scan(&scan, s->request.visit->base);
	if (run_program(s, err) < 0)
		return err->code;
	terminal = rf_fd_copy(STDIN_FILENO, 3);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
		return rf_fail(err, -errno, "take the input away");
	if (verify_all(s, err) < 0)
		return err->code;
	/* Once more: others may write to the directory meanwhile. */
	if (look_through(s, &scan, err) < 0) {
		s->exit_code = EXIT_VERIFY;
		return rf_fail_in(err, "not verified");
	}
	s->exit_code = RF_EXIT_FAILED;
	show_changes(s);
	if (settle(s, terminal, err) < 0)
		return err->code;
	s->report.verdict = RF_SHADOW_APPLIED;
	s->exit_code = EXIT_UNSENT;
	if (release(s, err) < 0) {
		rf_fail_in(err, "applied, but not all requests were sent");
		return rf_fail_hint(err,
				    "--json lists what became of each; those that were not sent "
				    "are gone");
	}
	s->exit_code = 0;
	return 0;
}

static void tell(const struct shadow *s)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_err err = s->report.why;

	rf_buf_init(&out, RF_MAX_JSON);
	if (s->report.verdict == RF_SHADOW_APPLIED) {
		if (s->report.workspace)
			rf_cmd_remark("applied to %s; `ringfort undo -w %s` takes it back",
				      s->report.directory, s->report.workspace);
		else
			rf_cmd_remark("%s has nothing to apply: nothing was changed",
				      s->report.directory);
		if (err.code)
			rf_cmd_complain(s->request.file, &err);
		else if (s->report.held.count > 0)
			rf_cmd_remark("sent %zu request%s that had been held back",
				      s->report.held.count, s->report.held.count == 1 ? "" : "s");
		return;
	}
	rf_cmd_changes_put_stays(&s->report.apply, rf_style_of(STDERR_FILENO), &out);
	if (out.data)
		rf_fd_write(STDERR_FILENO, out.data, out.len);
	if (s->report.run)
		rf_fail_in(&err, "%s", rf_shadow_report_verdict(s->report.verdict));
	rf_cmd_complain(s->request.file, &err);
	if (s->report.run && s->report.verdict != RF_SHADOW_UNFINISHED)
		rf_cmd_remark("%s is as it was", s->report.directory);
}

/* For the record: what became of it, for whom. */
static void record(const struct shadow *s)
{
	const struct rf_shadow_report *report = &s->report;
	struct rf_move move = { .kind = RF_AUDIT_APPLY,
				.workspace =
					report->workspace ? report->workspace : report->directory,
				.agent = s->request.plan->agent,
				.box = s->run.id,
				.point = report->workspace ? 1 : 0,
				.by = "shadow",
				.verdict = rf_shadow_report_verdict(report->verdict),
				.reason = report->why.code ? report->why.msg : NULL };

	for (size_t i = 0; report->verdict == RF_SHADOW_APPLIED && i < report->delta.count; i++) {
		enum rf_change_kind kind = report->delta.changes[i].kind;

		move.added += kind == RF_CHANGE_ADDED;
		move.deleted += kind == RF_CHANGE_DELETED;
		move.modified += kind != RF_CHANGE_ADDED && kind != RF_CHANGE_DELETED;
	}
	if (s->request.plan->recorded != RF_RECORDED_NOT)
		rf_worksite_tell(&move, 1);
}

static int report(struct shadow *s)
{
	RF_AUTO_BUF struct rf_buf out;
	int code;

	rf_buf_init(&out, (size_t)RF_MAX_JSON * (s->report.check_count + 2));
	if (!s->request.is_json) {
		tell(s);
		return s->exit_code;
	}
	rf_shadow_report_json(&s->report, &out);
	code = rf_cmd_print(&out);
	return code ? code : s->exit_code;
}

/* Reads the line; afterwards either it can begin, or `why` says why not. */
static int begin(struct shadow *s, int argc, char **argv)
{
	struct rf_err *why = &s->report.why;
	const struct rf_request_shadow *words = &s->request.shadow;

	if (rf_request_read(RF_CMD_SHADOW, argc, argv, true, &s->request, why) < 0)
		return why->code;
	if (s->request.wants_help || s->request.wants_version)
		return 0;
	if (check_line(&s->request, why) < 0)
		return why->code;
	s->report.directory = s->request.visit->base;
	s->report.checks = calloc((size_t)words->verify_count + 1, sizeof(*s->report.checks));
	if (!s->report.checks)
		return rf_fail(why, -ENOMEM, "begin");
	s->report.check_count = (size_t)words->verify_count;
	for (int i = 0; i < words->verify_count; i++)
		s->report.checks[i].command = words->verify[i];
	return 0;
}

static void finish(struct shadow *s)
{
	if (s->report.run)
		rf_result_done(&s->run);
	for (size_t i = 0; i < s->report.check_count; i++)
		if (s->report.checks[i].has_run)
			rf_result_done(&s->report.checks[i].result);
	free(s->report.checks);
	rf_held_done(&s->report.held);
	rf_delta_done(&s->report.delta);
	rf_apply_done(&s->report.apply);
	rf_request_done(&s->request);
}

int rf_cmd_shadow(int argc, char **argv)
{
	struct shadow s = { .exit_code = RF_EXIT_FAILED };
	int code = begin(&s, argc, argv);

	if (code == 0 && s.request.wants_help) {
		rf_command_help(RF_CMD_SHADOW, stdout);
		code = 0;
	} else if (code == 0 && s.request.wants_version) {
		puts("ringfort " RF_VERSION);
	} else {
		if (code == 0) {
			carry_out(&s, &s.report.why);
			if (s.report.run)
				record(&s);
		}
		code = report(&s);
	}
	finish(&s);
	return code;
}
