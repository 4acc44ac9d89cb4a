/* Remarks on a run: see remarks.h. */
#include "cli/remarks.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/style.h"
#include "cli/cmd.h"

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

void rf_remarks_print(const struct rf_result *result, bool wants_stats)
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
