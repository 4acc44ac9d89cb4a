/*
 * ringfort-archive: a workspace as an archive on standard output, and an archive on standard input as a point of a workspace.
 *
 * Started by `ringfort export` and `ringfort import`, which have read the command line and pass it on in one form: the command,
 * the workspace's name, then "--name value" for each option.  A program of its own, because the launcher should not carry
 * what unpacks, and because what it reads may be anybody's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive.h"
#include "audit/moves.h"
#include "base/rune.h"
#include "workspace/closed.h"
#include "workspace/workspace.h"

#define EXIT_NONE   1
#define EXIT_FAILED 125

/* Which apply is the last: of the directory a point shows what it had before later ones. */
static void name_last_apply(const struct rf_ledger *ledger, char ret_id[RF_LAYER_ID])
{
	const struct rf_apply_note *last = rf_ledger_last_apply(ledger);

	snprintf(ret_id, RF_LAYER_ID, "%s", last ? last->inverse : "");
}

/* Refuses what was read while the directory was written to by this workspace: it would be of two moments. */
static int refuse_mixture(const char *name, const char before[RF_LAYER_ID], struct rf_err *err)
{
	char after[RF_LAYER_ID];
	struct rf_ledger ledger;
	struct rf_err ignored;
	bool is_same = true;

	if (rf_workspace_peek(name, &ledger, &ignored) == 0) {
		name_last_apply(&ledger, after);
		is_same = strcmp(before, after) == 0;
	}
	rf_ledger_done(&ledger);
	if (is_same)
		return 0;
	rf_fail_say(err, -EAGAIN, "workspace %s was applied, or an apply taken back, meanwhile",
		    name);
	return rf_fail_hint(err, "what was written is of no use: export it again");
}

/* What can be long is done without the workspace's lock: its layers are held, and never change. */
static int export_it(const char *name, uint32_t point, struct rf_err *err)
{
	struct rf_workspace workspace;
	struct rf_stack stack = { 0 };
	char before[RF_LAYER_ID];
	size_t left = 0;
	int code;

	if (rf_workspace_open(name, &workspace, err) < 0)
		return err->code;
	name_last_apply(&workspace.ledger, before);
	code = rf_workspace_open_stack(
		&workspace, point == UINT32_MAX ? workspace.ledger.head : point, &stack, err);
	if (code == 0)
		code = rf_stack_hold(&stack, err);
	rf_workspace_close(&workspace);
	if (code == 0)
		code = rf_archive_export(&stack, STDOUT_FILENO, &left, err);
	if (code == 0)
		code = refuse_mixture(name, before, err);
	if (code == 0 && left > 0)
		fprintf(stderr,
			"ringfort: %zu pipes, sockets and files that can't be read are left out\n",
			left);
	rf_stack_done(&stack);
	return code;
}

static int import_it(const char *name, const struct rf_archive_limits *limits, struct rf_err *err)
{
	struct rf_move move = { .kind = RF_AUDIT_CHECKPOINT, .workspace = name, .by = "hand" };
	struct rf_delta delta = { 0 };
	struct rf_edit edit;
	int code;

	if (rf_edit_open(name, &edit, err) < 0)
		return err->code;
	code = rf_archive_import(&edit, STDIN_FILENO, limits, err);
	if (code == 0)
		code = rf_edit_keep(&edit, "import", &delta, err);
	for (size_t i = 0; i < delta.count; i++) {
		move.added += delta.changes[i].kind == RF_CHANGE_ADDED;
		move.deleted += delta.changes[i].kind == RF_CHANGE_DELETED;
	}
	move.modified = delta.count - move.added - move.deleted;
	move.point = edit.visit.kept.ledger.head;
	if (code == 0 && delta.count > 0) {
		fprintf(stderr, "ringfort: workspace %s is at @%u; `ringfort undo` takes it back\n",
			name, move.point);
		if (rf_moves_tell(&move, 1, err) < 0)
			fprintf(stderr, "ringfort: that is done, and not recorded: %s\n", err->msg);
	} else if (code == 0) {
		fprintf(stderr, "ringfort: workspace %s had it so already\n", name);
	}
	rf_delta_done(&delta);
	rf_edit_close(&edit);
	return code;
}

static int complain(struct rf_err *err)
{
	rf_rune_tidy(err);
	fprintf(stderr, "ringfort: %s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "  hint: %s\n", err->hint);
	return err->code == -ENOENT ? EXIT_NONE : EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct rf_archive_limits limits = { UINT64_MAX, UINT64_MAX };
	uint32_t point = UINT32_MAX;
	struct rf_err err = RF_ERR_INIT;
	int code;

	rf_closed_allow();
	if (argc < 3) {
		rf_fail_say(
			&err, -EINVAL,
			"ringfort-archive is started by `ringfort export` and `ringfort import`");
		return complain(&err);
	}
	for (int i = 3; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--at") == 0)
			point = (uint32_t)strtoul(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--max-bytes") == 0)
			limits.bytes = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--max-files") == 0)
			limits.entries = strtoull(argv[i + 1], NULL, 10);
	}
	code = strcmp(argv[1], "export") == 0 ? export_it(argv[2], point, &err)
					      : import_it(argv[2], &limits, &err);
	return code < 0 ? complain(&err) : 0;
}
