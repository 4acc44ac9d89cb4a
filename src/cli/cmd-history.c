/* ringfort checkpoint, undo, discard, log: the points of a workspace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/standstill.h"
#include "cli/worksite.h"
#include "workspace/sweep.h"

static uint32_t ancestor(const struct rf_ledger *ledger, uint32_t id, unsigned long steps)
{
	const struct rf_point *point;

	for (; steps > 0 && (point = rf_ledger_point(ledger, id)); steps--)
		id = point->parent;
	return id;
}

/* Of what a program has done so far; -ESRCH if none runs. */
static int checkpoint_living(const struct rf_worksite *site, struct rf_err *err)
{
	char workspace[RF_LEDGER_NAME], made[RF_LEDGER_NAME];
	const char *name = site->count ? site->words[0] : made;
	struct rf_snapshot snapshot;
	struct rf_ledger ledger;
	uint32_t point = 0;
	int code = rf_worksite_name(site, workspace, err);

	if (code < 0)
		return code;
	if (rf_workspace_peek(workspace, &ledger, err) == 0)
		snprintf(made, sizeof(made), "checkpoint-%u", ledger.next);
	else
		code = -ESRCH; /* who names one at rest says what is wrong */
	rf_ledger_done(&ledger);
	if (code == 0)
		code = rf_standstill_keep(workspace, name, &snapshot, &point, err);
	if (code < 0)
		return code;
	rf_cmd_remark("checkpoint %s is @%u; the program goes on", name, point);
	rf_worksite_tell(&(struct rf_move){ .kind = RF_AUDIT_CHECKPOINT,
					    .workspace = workspace,
					    .point = point,
					    .name = name },
			 1);
	rf_snapshot_close(&snapshot);
	return 0;
}

static int checkpoint_resting(const struct rf_worksite *site, struct rf_err *err)
{
	const char *name = site->count ? site->words[0] : NULL;
	struct rf_workspace workspace;
	struct rf_point *point;
	char made[RF_LEDGER_NAME];
	uint32_t taken;
	int code = rf_worksite_open(site, &workspace, err);

	if (code < 0)
		return code;
	point = rf_ledger_point(&workspace.ledger, workspace.ledger.head);
	snprintf(made, sizeof(made), "checkpoint-%u", workspace.ledger.head);
	if (!point)
		code = rf_fail_say(err, -ENOENT,
				   "nothing has run in workspace `%s` yet: @0 is its name",
				   workspace.ledger.name);
	else if (name && !rf_ledger_is_name(name))
		code = rf_fail_say(err, -EINVAL, "`%.60s` can't be a name", name);
	else if (name && rf_ledger_find_point(&workspace.ledger, name, &taken, err) == 0)
		code = rf_fail_say(err, -EEXIST, "@%u is called `%s` already", taken, name);
	if (code == 0) {
		*err = RF_ERR_INIT;
		snprintf(point->name, sizeof(point->name), "%s", name ? name : made);
		code = rf_workspace_save(&workspace, site->is_durable, err);
	}
	if (code == 0) {
		rf_cmd_remark("checkpoint %s is @%u", point->name, point->id);
		rf_worksite_tell(&(struct rf_move){ .kind = RF_AUDIT_CHECKPOINT,
						    .workspace = workspace.ledger.name,
						    .agent = point->agent,
						    .point = point->id,
						    .name = point->name },
				 1);
	}
	rf_workspace_close(&workspace);
	return code;
}

static int checkpoint(const struct rf_worksite *site, struct rf_err *err)
{
	int code = site->is_live ? checkpoint_living(site, err) : -ESRCH;

	if (code != -ESRCH)
		return code;
	*err = RF_ERR_INIT;
	return checkpoint_resting(site, err);
}

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

/* What was applied comes first: the directory is what others see. */
static int take_back(const struct rf_worksite *site, struct rf_workspace *workspace,
		     struct rf_err *err)
{
	const struct rf_apply_options options = { .on_conflict = site->on_conflict,
						  .is_durable = site->is_durable };
	bool was_broken = workspace->ledger.is_applying;
	struct rf_apply apply;
	int code = rf_apply_undo(workspace, &options, &apply, err);

	if (code == 0)
		rf_cmd_remark("what was applied is taken back: %zu changes in %s; the workspace "
			      "still has them",
			      apply.made, workspace->ledger.base);
	rf_worksite_tell_apply(workspace, &apply, RF_AUDIT_UNDO, was_broken,
			       code == 0 ? NULL : err);
	rf_apply_done(&apply);
	return code;
}

static int move_head(const struct rf_worksite *site, struct rf_workspace *workspace,
		     struct rf_err *err)
{
	const char *word = site->count ? site->words[0] : "1";
	uint32_t id = 0, before = workspace->ledger.head;

	if (is_number(word))
		id = ancestor(&workspace->ledger, before, strtoul(word, NULL, 10));
	else if (rf_ledger_find_point(&workspace->ledger, word, &id, err) < 0)
		return err->code;
	if (id == before)
		return rf_fail_say(err, -ENOENT,
				   "there is nothing to undo: workspace `%s` is at @%u",
				   workspace->ledger.name, before);
	workspace->ledger.head = id;
	if (rf_workspace_save(workspace, site->is_durable, err) < 0)
		return err->code;
	rf_cmd_remark("workspace %s is at @%u again; `ringfort undo @%u` goes back",
		      workspace->ledger.name, id, before);
	rf_worksite_tell(&(struct rf_move){ .kind = RF_AUDIT_UNDO,
					    .workspace = workspace->ledger.name,
					    .point = id,
					    .by = "hand" },
			 1);
	return 0;
}

static int undo(const struct rf_worksite *site, struct rf_err *err)
{
	struct rf_workspace workspace;
	const struct rf_ledger *ledger = &workspace.ledger;
	const struct rf_apply_note *apply;
	bool has_applied;
	int code = rf_worksite_open(site, &workspace, err);

	if (code < 0)
		return code;
	apply = rf_ledger_last_apply(ledger);
	/* At the directory itself there is no run to go back. */
	has_applied = ledger->is_applying ||
		      (apply && (apply->point == ledger->head || ledger->head == 0));
	code = has_applied && site->count == 0 ? take_back(site, &workspace, err)
					       : move_head(site, &workspace, err);
	rf_workspace_close(&workspace);
	return code;
}

/* Drops what nothing stands on once no point has a name and the head is the directory. */
static int forget(struct rf_ledger *ledger, struct rf_err *err)
{
	bool *keeps = calloc(ledger->count + 1, sizeof(*keeps));

	if (!keeps)
		return rf_fail(err, -ENOMEM, "discard the points");
	ledger->head = 0;
	for (size_t i = 0; i < ledger->count; i++)
		ledger->points[i].name[0] = '\0';
	rf_sweep_mark(ledger, keeps);
	rf_ledger_prune(ledger, keeps);
	free(keeps);
	return 0;
}

static int drop(const struct rf_worksite *site, struct rf_workspace *workspace, struct rf_err *err)
{
	struct rf_ledger *ledger = &workspace->ledger;
	size_t before = ledger->count;

	if (ledger->is_applying) {
		rf_fail_say(err, -EBUSY, "an apply of workspace `%s` was interrupted",
			    ledger->name);
		return rf_fail_hint(
			err, "`ringfort apply -w %s` goes on, `ringfort undo -w %s` goes back",
			ledger->name, ledger->name);
	}
	if (forget(ledger, err) < 0 || rf_workspace_save(workspace, site->is_durable, err) < 0)
		return err->code;
	rf_cmd_remark("workspace %s is %s again; %zu points are gone", ledger->name, ledger->base,
		      before - ledger->count);
	rf_worksite_tell(&(struct rf_move){ .kind = RF_AUDIT_UNDO,
					    .workspace = ledger->name,
					    .by = "hand",
					    .reason = "all of it was discarded" },
			 1);
	return 0;
}

/* What can't be brought back is not done to a workspace that nobody named. */
static int discard(const struct rf_worksite *site, struct rf_err *err)
{
	struct rf_worksite named = *site;
	struct rf_workspace workspace;
	struct rf_swept swept;
	int code;

	if (site->count > 0)
		named.workspace = site->words[0];
	if (!named.workspace || (site->count > 0 && site->workspace)) {
		rf_fail_say(err, -EINVAL, "which workspace shall be discarded?");
		return rf_fail_hint(err, "name it, as in: ringfort discard fix-bug");
	}
	code = rf_worksite_open(&named, &workspace, err);
	if (code < 0)
		return code;
	code = drop(&named, &workspace, err);
	rf_workspace_close(&workspace);
	return code < 0 ? code : rf_sweep(false, &swept, err);
}

static void put_point(const struct rf_ledger *ledger, const struct rf_point *point,
		      struct rf_buf *out)
{
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	char when[32];
	struct tm tm;

	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", localtime_r(&point->time, &tm));
	rf_buf_printf(out, "%c @%-4u from @%-4u  %s  %-8s %6llu changes  ",
		      point->id == ledger->head ? '*' : ' ', point->id, point->parent, when,
		      point->status, (unsigned long long)point->changes);
	rf_style_put(style, RF_STYLE_NAME, point->name, 0, out);
	rf_buf_puts(out, point->name[0] ? "  " : "");
	rf_style_put(style, RF_STYLE_QUIET, point->agent, 0, out);
	rf_buf_puts(out, point->agent[0] ? "  " : "");
	rf_style_put(style, RF_STYLE_PLAIN, point->command, 0, out);
	rf_buf_puts(out, "\n");
}

static void put_log(const struct rf_ledger *ledger, struct rf_buf *out)
{
	rf_buf_printf(out, "%c @0     the directory itself: ", ledger->head == 0 ? '*' : ' ');
	rf_style_put(rf_style_of(STDOUT_FILENO), RF_STYLE_PLAIN, ledger->base, 0, out);
	rf_buf_puts(out, "\n");
	for (size_t i = 0; i < ledger->count; i++)
		put_point(ledger, &ledger->points[i], out);
}

static int history(const struct rf_worksite *site, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	char name[RF_LEDGER_NAME];
	struct rf_workspace workspace = { .folder = -1 };
	int code;

	rf_buf_init(&out, RF_MAX_JSON);
	code = rf_worksite_name(site, name, err);
	if (code < 0)
		return code;
	/* It is there as a whole at any moment: nobody who works on it has to be waited for. */
	code = rf_workspace_exists(name) ? rf_workspace_peek(name, &workspace.ledger, err)
					 : rf_worksite_open(site, &workspace, err);
	if (code == 0)
		(site->is_json ? rf_ledger_format : put_log)(&workspace.ledger, &out);
	rf_workspace_close(&workspace);
	if (code < 0)
		return code;
	return rf_cmd_print(&out) ? -EIO : 0;
}

int rf_cmd_checkpoint(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_CHECKPOINT, 1, checkpoint, argc, argv);
}

int rf_cmd_undo(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_UNDO, 1, undo, argc, argv);
}

int rf_cmd_discard(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_DISCARD, 1, discard, argc, argv);
}

int rf_cmd_log(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_LOG, 0, history, argc, argv);
}
