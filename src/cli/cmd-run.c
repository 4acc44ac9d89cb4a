/* ringfort run: a program in a box of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/egress.h"
#include "cli/hire.h"
#include "cli/in-workspace.h"
#include "cli/lang-list.h"
#include "cli/recorder.h"
#include "cli/remarks.h"
#include "cli/request.h"
#include "cli/shell.h"
#include "jail/run.h"

/* Prints the result; the exit code is its own, or ours if it could not be printed. */
static int print_json(const struct rf_result *result)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	int code;

	rf_buf_init(&out, RF_MAX_JSON);
	rf_result_json(result, true, &out);
	code = rf_cmd_print(&out);
	return code ? code : result->code;
}

static int report(const struct rf_request *request, const struct rf_result *result)
{
	if (request->is_json)
		return print_json(result);
	rf_remarks_print(result, request->wants_stats);
	return result->code;
}

/* An error before there was a run, in the form that was asked for. */
static int fail(const struct rf_request *request, const struct rf_err *err)
{
	struct rf_result result;
	struct rf_err full = *err;

	if (!request->is_json) {
		rf_cmd_complain(request->file, err);
		return RF_EXIT_FAILED;
	}
	if (request->file)
		rf_fail_in(&full, "%s", request->file);
	rf_result_init(&result, NULL);
	rf_result_fail(&result, RF_STATUS_ERROR, RF_EXIT_FAILED, &full);
	print_json(&result);
	rf_result_done(&result);
	return RF_EXIT_FAILED;
}

static int carry_out(enum rf_cmd_id id, struct rf_request *request, struct rf_recorder *recorder)
{
	char init_path[4096];
	struct rf_run_options options = {
		.init_path = init_path,
		.caller_path = getenv("PATH"),
		.is_captured = request->is_json,
		.wants_denials = request->is_json || request->wants_stats,
		.is_plain = request->is_plain,
	};
	struct rf_result result;
	struct rf_egress egress;
	struct rf_hire hire;
	struct rf_err err = RF_ERR_INIT;
	int code;

	rf_cmd_find("ringfort-init", init_path, sizeof(init_path));
	rf_egress_init(&egress);
	if (rf_egress_begin(&egress, request, RF_EGRESS_SENDS, &options, &err) < 0) {
		rf_egress_done(&egress);
		return fail(request, &err);
	}
	rf_result_init(&result, request->plan);
	if (id == RF_CMD_SHELL && !request->is_json && rf_shell_greet(request))
		result.warning_count = 0; /* told */
	if (rf_in_workspace_begin(request, &err) < 0) {
		rf_egress_done(&egress);
		rf_result_done(&result);
		return fail(request, &err);
	}
	rf_hire_warden(&hire, request, &options);
	rf_recorder_attend(recorder, request, &options);
	rf_run(request->plan, &options, &result);
	rf_egress_done(&egress);
	rf_hire_done(&hire);
	rf_in_workspace_end(request, &result);
	rf_recorder_end(recorder, &result);
	code = report(request, &result);
	rf_result_done(&result);
	return code;
}

int rf_cmd_run(int argc, char **argv)
{
	return rf_cmd_run_as(RF_CMD_RUN, argc, argv);
}

int rf_cmd_run_as(enum rf_cmd_id id, int argc, char **argv)
{
	struct rf_request request;
	struct rf_recorder recorder;
	struct rf_err err = RF_ERR_INIT;
	int code;

	rf_recorder_init(&recorder);
	if (rf_request_read(id, argc, argv, id != RF_CMD_SHELL, &request, &err) < 0) {
		code = fail(&request, &err);
	} else if (request.wants_help) {
		rf_command_help(id, stdout);
		code = 0;
	} else if (request.wants_version) {
		puts("ringfort " RF_VERSION);
		code = 0;
	} else if (request.wants_langs) {
		code = rf_lang_list_print(&request);
	} else {
		code = carry_out(id, &request, &recorder);
	}
	rf_request_done(&request);
	rf_recorder_done(&recorder);
	return code;
}
