/*
 * ringfort policy learn: runs a program, and writes the least policy under which it would pass again.
 *
 * The network is in report mode: whatever no rule denies passes, and the gateway tells of it.  Files are as the options
 * say; what is refused of them the kernel tells root alone, so for anybody else that part stays unknown, which is said.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
#include "jail/run.h"
#include "policy/learn.h"

struct pupil {
	struct rf_learn learn;
	void (*next)(void *data,
		     const struct rf_gate_event *event); /* who listened before, or NULL */
	void *next_data;
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

static int write_policy(const struct rf_policy *policy, int file, const struct rf_request *request,
			const struct rf_result *result, const struct rf_learn *learn,
			struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	int code;

	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	rf_buf_puts(&out, "# Learnt by `ringfort policy learn` from one run: what it did not do "
			  "then is not in here.\n");
	if (!result->has_seen_denials)
		rf_buf_puts(&out, "# Files: nobody but root is told what was refused; these are "
				  "the rules it ran under.\n");
	if (learn->left_out)
		rf_buf_printf(
			&out,
			"# %zu requests were too many, or have paths that no rule can name.\n",
			learn->left_out);
	rf_policy_format(policy, &out);
	if (out.has_failed)
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
	rf_recorder_attend(&recorder, request, &options);
	listen_too(pupil, options.outward);
	rf_run(request->plan, &options, result);
	rf_egress_done(&egress);
	rf_in_workspace_end(request, result);
	rf_recorder_end(&recorder, result);
	rf_recorder_done(&recorder);
	return 0;
}

static int learn(struct rf_request *request, struct rf_err *err)
{
	struct pupil pupil = { 0 };
	struct rf_policy *policy = NULL;
	struct rf_result result;
	RF_AUTO_FD int file = -1;
	int code;

	if (open_file(request, &file, err) < 0)
		return err->code;
	rf_result_init(&result, request->plan);
	code = carry_out(request, &result, &pupil, err);
	if (code >= 0) {
		pass_on(&result);
		rf_remarks_print(&result, false);
		code = rf_learn_policy(&pupil.learn, request->policy, &policy, err);
	}
	if (code >= 0) {
		add_remedies(policy, &result);
		code = write_policy(policy, file, request, &result, &pupil.learn, err);
	}
	if (code < 0 && file >= 0)
		unlink(request->to);
	if (code >= 0)
		code = result.code;
	rf_policy_free(policy);
	rf_learn_done(&pupil.learn);
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
