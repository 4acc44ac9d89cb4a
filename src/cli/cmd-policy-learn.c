/*
 * ringfort policy learn: runs a program, and writes the least policy under which it would pass again.
 *
 * The network is in report mode: whatever no rule denies passes, and the gateway tells of it.  Files are as the options
 * say, and every wall stands; which of them the program opens, which programs it starts, and what it asks for that is not there, the
 * onlooker sees (jail/onlooker.h).  Where there is none (a lesser box), what is refused the kernel tells root alone, and anybody
 * else is told that this part is unknown.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/runs.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/egress.h"
#include "cli/in-workspace.h"
#include "cli/recorder.h"
#include "cli/remarks.h"
#include "cli/request.h"
#include "jail/program.h"
#include "jail/run.h"
#include "policy/footprint.h"
#include "policy/learn-files.h"
#include "policy/learn.h"

struct pupil {
	struct rf_learn learn;
	void (*next)(void *data,
		     const struct rf_gate_event *event); /* who listened before, or NULL */
	void *next_data;
	const struct rf_request *request;
	struct rf_footprint footprint;
	struct rf_program_set *along; /* what comes with the programs that were named, or NULL */
	bool has_along;               /* that was looked for */
	struct rf_policy *policy;     /* what was learnt, or NULL */
	struct rf_buf remarks;
	bool has_used_current, has_own_programs; /* see learn-files.h */
};

static void on_event(void *data, const struct rf_gate_event *event)
{
	struct pupil *pupil = data;
	bool is_use = event->kind == RF_GATE_CONNECT || event->kind == RF_GATE_REQUEST;

	if (pupil->next)
		pupil->next(pupil->next_data, event);
	if (is_use && event->host[0] &&
	    (event->verdict == RF_GATE_ALLOWED || event->verdict == RF_GATE_REPORTED))
		rf_learn_note(&pupil->learn, event->host, (uint16_t)event->port, event->method,
			      event->path);
}

static void listen_too(struct pupil *pupil, struct rf_outward *outward)
{
	if (!outward)
		return;
	pupil->next = outward->on_event;
	pupil->next_data = outward->data;
	outward->on_event = on_event;
	outward->data = pupil;
}

/* A refusal's remedy is a part of a policy. */
static void add_remedies(struct rf_policy *policy, const struct rf_result *result)
{
	for (size_t i = 0; i < result->denial_count; i++) {
		const struct rf_result_denial *denial = &result->denials[i];
		struct rf_policy *part = NULL;
		struct rf_err ignored;

		if (strcmp(denial->kind, "file") != 0 || strncmp(denial->remedy, "files:", 6) != 0)
			continue;
		if (rf_policy_parse(denial->remedy, strlen(denial->remedy), "/", "/", &part,
				    &ignored) == 0)
			rf_policy_merge(policy, part, &ignored);
		rf_policy_free(part);
	}
}

/* Before anything runs: nobody is to find out afterwards that there is no place for what was learnt. */
static int open_file(const struct rf_request *request, int *ret_file, struct rf_err *err)
{
	if (!request->to)
		return 0;
	*ret_file = open(request->to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (*ret_file >= 0)
		return 0;
	rf_fail(err, -errno, "write %s", request->to);
	return rf_fail_hint(err, err->code == -EEXIST ? "it is there already; name another"
						      : "--to is the name of a new file");
}

/* Programs that come along with named ones (git's own commands, a compiler's parts) need no row. */
static bool comes_along(void *data, const struct rf_list *names, const char *path)
{
	struct pupil *pupil = data;
	struct rf_plan plan = *pupil->request->plan;
	struct rf_err ignored = RF_ERR_INIT;
	char real[4096], **list;

	if (!pupil->has_along && names->count > 0) {
		list = calloc(names->count + 1, sizeof(char *));
		for (size_t i = 0; list && i < names->count; i++)
			list[i] = names->items[i].name;
		plan.commands = list;
		if (!list || rf_program_find(&plan, &pupil->along, &ignored) < 0)
			pupil->along = NULL;
		free((void *)list);
		pupil->has_along = true;
	}
	return pupil->along && rf_program_look(pupil->along, pupil->request->plan, path, real);
}

/* From all that was seen to the policy, once. */
static int conclude(struct pupil *pupil, const struct rf_result *result, struct rf_err *err)
{
	const struct rf_request *request = pupil->request;
	struct rf_learn_files files = {
		.footprint = &pupil->footprint,
		.plan = request->plan,
		.home = request->home,
		.has_failed = result->status != RF_STATUS_OK,
		.comes_along = comes_along,
		.data = pupil,
	};

	if (pupil->policy)
		return 0;
	pupil->learn.has_files = pupil->footprint.is_watched && !pupil->footprint.left_out;
	if (rf_learn_policy(&pupil->learn, request->policy, &pupil->policy, err) < 0)
		return err->code;
	if (!pupil->learn.has_files) {
		add_remedies(pupil->policy, result);
		return 0;
	}
	if (rf_learn_files(&files, pupil->policy, &pupil->remarks, err) < 0) {
		rf_policy_free(pupil->policy);
		pupil->policy = NULL;
		return err->code;
	}
	pupil->has_used_current = files.has_used_current;
	pupil->has_own_programs = files.has_own_programs;
	return 0;
}

/*
 * Tells the watcher what was used, for reports on what policies grant: the rules that came of it, and no more.  What can't be told is
 * missing there, and so is the word that all was told.
 */
static void tell_use(void *data, struct rf_recorder *recorder, const struct rf_result *result)
{
	static const char *const keys[] = { "files.read", "files.write", "commands" };
	struct pupil *pupil = data;
	const struct rf_plan *plan = pupil->request->plan;
	struct rf_teller *teller = &recorder->teller;
	struct rf_err ignored = RF_ERR_INIT; /* writing the policy will say it */
	size_t count = 0;
	const char *what;

	if (conclude(pupil, result, &ignored) < 0 || !pupil->learn.has_files)
		return;
	for (size_t k = 0; k < RF_LEN(keys); k++)
		for (size_t i = 0; rf_policy_item(pupil->policy, keys[k], i); i++)
			count++;
	if (count > RF_RUNS_USED)
		return;
	for (size_t k = 0; k < RF_LEN(keys); k++)
		for (size_t i = 0; (what = rf_policy_item(pupil->policy, keys[k], i)); i++)
			if (rf_runs_used(teller, plan, recorder->box, keys[k], what, &ignored) < 0)
				return;
	if ((pupil->has_used_current &&
	     rf_runs_used(teller, plan, recorder->box, "files.current", "read", &ignored) < 0) ||
	    (pupil->has_own_programs &&
	     rf_runs_used(teller, plan, recorder->box, "commands", RF_RUNS_ANY, &ignored) < 0))
		return;
	rf_runs_learnt(teller, plan, recorder->box, count, &ignored);
}

static int write_policy(const struct pupil *pupil, int file, const struct rf_result *result,
			struct rf_err *err)
{
	const struct rf_request *request = pupil->request;
	const struct rf_learn *learn = &pupil->learn;
	RF_AUTO_BUF struct rf_buf out = { 0 };
	int code;

	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	rf_buf_puts(&out, "# Learnt by `ringfort policy learn` from one run: what it did not do "
			  "then is not in here.\n");
	if (!learn->has_files)
		rf_buf_printf(&out,
			      "# Files and programs: %s; these are the rules it ran under%s.\n",
			      pupil->footprint.is_watched ? "more was used than can be kept"
							  : "they can't be watched in this box",
			      result->has_seen_denials ? ", and what was refused" : "");
	if (pupil->remarks.len > 0)
		rf_buf_add(&out, pupil->remarks.data, pupil->remarks.len);
	if (learn->left_out)
		rf_buf_printf(
			&out,
			"# %zu requests were too many, or have paths that no rule can name.\n",
			learn->left_out);
	rf_policy_format(pupil->policy, &out);
	if (out.has_failed || pupil->remarks.has_failed)
		return rf_fail(err, -ENOMEM, "write a policy");
	if (!request->to)
		return rf_cmd_print(&out) ? rf_fail_say(err, -EIO, "standard output is closed") : 0;
	code = rf_fd_write(file, out.data, out.len);
	return code < 0 ? rf_fail(err, code, "write %s", request->to) : 0;
}

/* The program's own words go to standard error, where they do not mix with the policy. */
static void pass_on(const struct rf_result *result)
{
	for (int i = 0; i < 2; i++)
		if (result->output[i].len > 0)
			rf_fd_write(STDERR_FILENO, result->output[i].data, result->output[i].len);
}

static int carry_out(struct rf_request *request, struct rf_result *result, struct pupil *pupil,
		     struct rf_err *err)
{
	char init_path[4096];
	struct rf_run_options options = {
		.init_path = init_path,
		.caller_path = getenv("PATH"),
		.is_captured = request->to == NULL,
		.wants_denials = true,
		.footprint = &pupil->footprint,
		.is_plain = request->is_plain,
		.warden = -1,
	};
	struct rf_recorder recorder;
	struct rf_egress egress;

	rf_cmd_find("ringfort-init", init_path, sizeof(init_path));
	rf_egress_init(&egress);
	if (rf_egress_begin(&egress, request, RF_EGRESS_SENDS, &options, err) < 0 ||
	    rf_in_workspace_begin(request, err) < 0) {
		rf_egress_done(&egress);
		return err->code;
	}
	rf_recorder_init(&recorder);
	recorder.on_last = tell_use;
	recorder.last_data = pupil;
	rf_recorder_attend(&recorder, request, &options);
	listen_too(pupil, options.outward);
	rf_run(request->plan, &options, result);
	rf_egress_done(&egress);
	rf_in_workspace_end(request, result);
	rf_recorder_end(&recorder, result);
	rf_recorder_done(&recorder);
	return 0;
}

static void forget(struct pupil *pupil)
{
	rf_policy_free(pupil->policy);
	rf_program_free(pupil->along);
	rf_footprint_done(&pupil->footprint);
	rf_buf_done(&pupil->remarks);
	rf_learn_done(&pupil->learn);
}

static int learn(struct rf_request *request, struct rf_err *err)
{
	struct pupil pupil = { .request = request };
	struct rf_result result;
	RF_AUTO_FD int file = -1;
	int code;

	if (open_file(request, &file, err) < 0)
		return err->code;
	rf_buf_init(&pupil.remarks, RF_MAX_POLICY_BYTES);
	rf_result_init(&result, request->plan);
	code = carry_out(request, &result, &pupil, err);
	if (code >= 0) {
		pass_on(&result);
		rf_remarks_print(&result, false);
		code = conclude(&pupil, &result, err);
	}
	if (code >= 0)
		code = write_policy(&pupil, file, &result, err);
	if (code < 0 && file >= 0)
		unlink(request->to);
	if (code >= 0)
		code = result.code;
	forget(&pupil);
	rf_result_done(&result);
	return code;
}

int rf_cmd_policy_learn(int argc, char **argv)
{
	struct rf_request request;
	struct rf_err err = RF_ERR_INIT;
	int code = rf_request_read(RF_CMD_POLICY_LEARN, argc, argv, true, &request, &err);

	if (code >= 0 && request.wants_help) {
		rf_command_help(RF_CMD_POLICY_LEARN, stdout);
		rf_request_done(&request);
		return 0;
	}
	if (code >= 0)
		code = learn(&request, &err);
	if (code < 0) {
		rf_cmd_complain(request.file, &err);
		code = RF_EXIT_FAILED;
	}
	rf_request_done(&request);
	return code;
}
