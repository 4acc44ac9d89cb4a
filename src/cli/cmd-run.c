/* ringfort run: a program in a box of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/hire.h"
#include "cli/in-workspace.h"
#include "cli/lang-list.h"
#include "cli/recorder.h"
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

/* One line for all credentials that were hidden without having been named. */
static void remark_hidden(const struct rf_result *result)
{
	RF_AUTO_BUF struct rf_buf names;
	size_t count = 0;

	rf_buf_init(&names, 4096);
	for (size_t i = 0; i < result->masked_count; i++) {
		const struct rf_result_masked *item = &result->masked[i];

		if (strcmp(item->rule, "files.credentials") == 0 && count++ < 8)
			rf_buf_printf(&names, "%s%s", count > 1 ? ", " : "",
				      item->path + item->rest);
	}
	if (count > 8)
		rf_buf_printf(&names, " and %zu more", count - 8);
	if (count > 0 && names.data)
		rf_cmd_remark("hidden: %s (name %s with --read to show %s)", names.data,
			      count > 1 ? "them" : "it", count > 1 ? "them" : "it");
}

/* A line for each thing that acts by itself, one for all executables. */
static void remark_planted(const struct rf_result *result)
{
	const char *first = NULL;
	size_t programs = 0, others = 0;

	for (size_t i = 0; i < result->planted_count; i++) {
		const struct rf_result_planted *item = &result->planted[i];

		if (strcmp(item->what, "executable") == 0) {
			first = programs++ ? first : item->path;
		} else if (others++ < 8) {
			rf_cmd_remark("planted: %s is %s (%s); it acts on the host when it is used",
				      item->path, item->is_new ? "new" : "changed", item->what);
		}
	}
	if (others > 8)
		rf_cmd_remark("planted: and %zu more; --json lists them", others - 8);
	if (programs == 1)
		rf_cmd_remark("planted: %s can be executed", first);
	else if (programs > 1)
		rf_cmd_remark("planted: %s and %zu other new or changed files can be executed",
			      first, programs - 1);
}

/* What became of the workspace, in a few lines. */
static void remark_changes(const struct rf_result *result)
{
	size_t count = result->workspace.change_count;

	if (!result->workspace.is_there)
		return;
	for (size_t i = 0; i < count && i < 8; i++) {
		const struct rf_result_change *change = &result->workspace.changes[i];

		rf_cmd_remark(
			"%s: %s%s%s%s", change->kind, change->path, change->protects ? " (" : "",
			change->protects ? change->protects : "", change->protects ? ")" : "");
	}
	if (count > 8)
		rf_cmd_remark("and %zu changes more", count - 8 + (size_t)result->workspace.more);
	if (count > 0 && !result->workspace.name)
		rf_cmd_remark("the directory itself is untouched, and the changes are gone; "
			      "`ringfort create` keeps them");
}

/* What a person should know besides the program's own output. */
static void print_remarks(const struct rf_result *result, bool wants_stats)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };

	if (result->error.code)
		rf_cmd_complain(NULL, &result->error);
	for (size_t i = 0; i < result->warning_count; i++)
		rf_cmd_remark("%s", result->warnings[i]);
	remark_hidden(result);
	remark_planted(result);
	remark_changes(result);
	if (result->walls.is_lesser && !result->error.code)
		rf_cmd_remark("weaker: a lesser box, without namespaces: %u promises less, which "
			      "--stats lists",
			      result->walls.missing_count);
	for (uint32_t i = 0;
	     i < result->walls.missing_count && !result->error.code && !result->walls.is_lesser;
	     i++)
		rf_cmd_remark("weaker: this box lacks %s", result->walls.missing[i]);
	switch (result->status) {
	case RF_STATUS_TIMEOUT:
	case RF_STATUS_CPU:
	case RF_STATUS_MEMORY:
	case RF_STATUS_PIDS:
	case RF_STATUS_DISK:
	case RF_STATUS_OUTPUT:
		rf_cmd_remark("stopped at the limit: %s (see --%s)",
			      rf_result_status(result->status),
			      result->status == RF_STATUS_TIMEOUT ? "time"
			      : result->status == RF_STATUS_CPU   ? "cpu-time"
								: rf_result_status(result->status));
		break;
	default:
		break;
	}
	if (wants_stats) {
		rf_buf_init(&out, 128 << 10);
		rf_result_stats(result, rf_style_of(STDERR_FILENO), &out);
		fputs(out.data ? out.data : "", stderr);
	}
}

static int report(const struct rf_request *request, const struct rf_result *result)
{
	if (request->is_json)
		return print_json(result);
	print_remarks(result, request->wants_stats);
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
	struct rf_hire hire;
	struct rf_err err = RF_ERR_INIT;
	int code;

	rf_cmd_find("ringfort-init", init_path, sizeof(init_path));
	rf_result_init(&result, request->plan);
	if (id == RF_CMD_SHELL && !request->is_json && rf_shell_greet(request))
		result.warning_count = 0; /* told */
	if (rf_in_workspace_begin(request, &err) < 0) {
		rf_result_done(&result);
		return fail(request, &err);
	}
	rf_hire_warden(&hire, request, &options);
	rf_recorder_attend(recorder, request, &options);
	rf_run(request->plan, &options, &result);
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
