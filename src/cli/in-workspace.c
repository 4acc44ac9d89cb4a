/* A run in a workspace: see in-workspace.h. */
#include "cli/in-workspace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cmd.h"
#include "cli/worksite.h"
#include "policy/files.h"
#include "workspace/merge.h"
#include "workspace/visit.h"

#define LISTED 1000 /* changes in a result; `ringfort diff` has them all */

int rf_in_workspace_open(struct rf_request *request, struct rf_err *err)
{
	char path[RF_FILES_PATH];
	bool is_name;

	if (!request->workspace)
		return 0;
	request->visit = calloc(1, sizeof(*request->visit));
	if (!request->visit)
		return rf_fail(err, -ENOMEM, "--workspace");
	is_name = request->is_kept ||
		  (!request->is_directory && rf_workspace_exists(request->workspace));
	if (!is_name && rf_worksite_directory(request->workspace, path, err) < 0) {
		rf_fail_in(err, "--workspace");
		return err->hint[0]
			       ? err->code
			       : rf_fail_hint(err,
					      "name a directory, or one of `ringfort workspaces`");
	}
	return rf_visit_open(is_name ? request->workspace : NULL, path, request->visit, err);
}

int rf_in_workspace_begin(struct rf_request *request, struct rf_err *err)
{
	if (!request->visit)
		return 0;
	request->visit->most_points =
		request->config.points ? request->config.points : RF_MERGE_POINTS;
	return rf_visit_begin(request->visit, request->plan->limits, err);
}

static void list_changes(const struct rf_delta *delta, struct rf_result *result)
{
	for (size_t i = 0; i < delta->count; i++) {
		const struct rf_change *change = &delta->changes[i];

		result->workspace.added += change->kind == RF_CHANGE_ADDED;
		result->workspace.deleted += change->kind == RF_CHANGE_DELETED;
		if (i >= LISTED ||
		    !rf_result_add_change(result, change->path, rf_change_name(change->kind),
					  change->protects))
			result->workspace.more++;
	}
	result->workspace.modified =
		delta->count - result->workspace.added - result->workspace.deleted;
}

void rf_in_workspace_command(char *const *argv, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (; *argv && len < size; argv++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", len ? " " : "", *argv);
}

/* Makes it a point of the workspace, on which the workspace stands from now on, unless an alarm ended it. */
static int keep(struct rf_request *request, const struct rf_delta *delta, struct rf_result *result,
		struct rf_err *err)
{
	struct rf_visit *visit = request->visit;
	const struct rf_ledger *ledger = &visit->kept.ledger;
	char command[256];
	const struct rf_visit_note note = {
		.command = command,
		.agent = request->plan->agent,
		.status = rf_result_status(result->status),
		.is_undone =
			request->plan->alarms.rolls_back && (result->is_alarmed || result->canary),
	};

	rf_in_workspace_command(request->plan->argv, command, sizeof(command));
	if (rf_visit_keep(visit, delta, &note, err) < 0)
		return err->code;
	result->workspace.point = ledger->points[ledger->count - 1].id;
	result->workspace.is_undone = note.is_undone;
	if (note.is_undone)
		rf_result_warn(result,
			       "workspace %s is at @%u again, as before the run; what it did is "
			       "@%u, for `ringfort diff -w %s @%u @%u`",
			       ledger->name, ledger->head, result->workspace.point, ledger->name,
			       ledger->head, result->workspace.point);
	return 0;
}

void rf_in_workspace_end(struct rf_request *request, struct rf_result *result)
{
	struct rf_visit *visit = request->visit;
	struct rf_delta delta = { 0 };
	struct rf_err err = RF_ERR_INIT;
	bool is_partial = false;
	int code;

	if (!visit || visit->held < 0)
		return;
	result->workspace.is_there = true;
	if (visit->kept.folder >= 0)
		result->workspace.name = visit->kept.ledger.name;
	if (rf_visit_settle(visit, &err) < 0) {
		rf_result_fail(result, RF_STATUS_ERROR, RF_EXIT_FAILED, &err);
		return;
	}
	code = rf_visit_changes(visit, &delta, &err);
	if (code == 0)
		list_changes(&delta, result);
	if (code < 0) { /* what can't be listed is kept all the same */
		rf_result_warn(result, "%s", err.msg);
		rf_delta_done(&delta);
		code = 0;
		is_partial = true;
	}
	if (visit->kept.folder >= 0 && (delta.count > 0 || is_partial))
		code = keep(request, &delta, result, &err);
	if (code < 0 && !result->error.code) {
		rf_fail_in(&err, "what the run changed is lost");
		rf_result_fail(result, RF_STATUS_ERROR, RF_EXIT_FAILED, &err);
	}
	rf_delta_done(&delta);
}

void rf_in_workspace_done(struct rf_request *request)
{
	if (request->visit)
		rf_visit_close(request->visit);
	free(request->visit);
	request->visit = NULL;
}
