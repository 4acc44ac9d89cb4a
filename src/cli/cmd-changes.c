/* ringfort apply: what has changed in a workspace is written to its directory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/worksite.h"
#include "workspace/delta.h"

const char *rf_cmd_changes_stay(enum rf_apply_stay stay)
{
	static const char *const why[] = {
		[RF_APPLY_PROTECTED] = "acts later on the host",
		[RF_APPLY_CONFLICT] = "the directory has changed there",
		[RF_APPLY_NO_FILE] = "is no file, folder or link",
		[RF_APPLY_IN_USE] = "holds something new, and stays",
		[RF_APPLY_CLOSED] = "it, or its folder, denies even its owner to read it",
		[RF_APPLY_FIXED] = "its folder in the directory can't be written to",
	};

	return why[stay];
}

void rf_cmd_changes_put_stays(const struct rf_apply *apply, struct rf_style style,
			      struct rf_buf *out)
{
	for (size_t i = 0; apply->stays && i < apply->delta.count; i++) {
		const struct rf_change *change = &apply->delta.changes[i];

		if (apply->stays[i] == RF_APPLY_MADE || apply->stays[i] == RF_APPLY_NOT_MEANT)
			continue;
		rf_style_put(style, RF_STYLE_WARNING, rf_change_name(change->kind), 9, out);
		rf_style_put(style, RF_STYLE_PLAIN, change->path, 0, out);
		rf_buf_printf(out, "  (%s%s%s)\n", change->protects ? change->protects : "",
			      change->protects ? ": " : "", rf_cmd_changes_stay(apply->stays[i]));
	}
}

/* The changes that stand in the way, or were left. */
static void put_stays(const struct rf_apply *apply, struct rf_buf *out)
{
	rf_cmd_changes_put_stays(apply, rf_style_of(STDOUT_FILENO), out);
}

static void format_apply(const struct rf_apply *apply, struct rf_buf *out)
{
	static const char *const became[] = {
		[RF_APPLY_MADE] = "made",           [RF_APPLY_NOT_MEANT] = "not meant",
		[RF_APPLY_PROTECTED] = "protected", [RF_APPLY_CONFLICT] = "conflict",
		[RF_APPLY_NO_FILE] = "no file",     [RF_APPLY_IN_USE] = "in use",
		[RF_APPLY_CLOSED] = "closed",       [RF_APPLY_FIXED] = "fixed",
	};
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_array(&json, NULL);
	for (size_t i = 0; apply->stays && i < apply->delta.count; i++) {
		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "path", apply->delta.changes[i].path);
		rf_json_string(&json, "change", rf_change_name(apply->delta.changes[i].kind));
		rf_json_string(&json, "protected", apply->delta.changes[i].protects);
		rf_json_string(&json, "became", became[apply->stays[i]]);
		rf_json_close_object(&json);
	}
	rf_json_close_array(&json);
	rf_buf_puts(out, "\n");
}

static int apply_it(const struct rf_worksite *site, struct rf_err *err)
{
	const struct rf_apply_options options = { .only = site->only_count ? site->only : NULL,
						  .on_conflict = site->on_conflict,
						  .is_durable = site->is_durable };
	RF_AUTO_BUF struct rf_buf out;
	struct rf_workspace workspace;
	struct rf_apply apply;
	bool was_broken;
	int code;

	rf_buf_init(&out, RF_MAX_JSON);
	if (rf_config_protect(err) < 0)
		return err->code;
	code = rf_worksite_open(site, &workspace, err);
	if (code < 0)
		return code;
	was_broken = workspace.ledger.is_applying;
	code = rf_apply_head(&workspace, &options, &apply, err);
	(site->is_json ? format_apply : put_stays)(&apply, &out);
	if (code == 0 && !site->is_json)
		rf_cmd_remark("%zu changes applied to %s; `ringfort undo` takes them back",
			      apply.made, workspace.ledger.base);
	rf_worksite_tell_apply(&workspace, &apply, RF_AUDIT_APPLY, was_broken,
			       code == 0 ? NULL : err);
	rf_apply_done(&apply);
	rf_workspace_close(&workspace);
	return rf_cmd_print(&out) && code == 0 ? -EIO : code;
}

int rf_cmd_apply(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_APPLY, 0, apply_it, argc, argv);
}
