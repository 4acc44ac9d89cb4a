/* ringfort create, exec, workspaces, fork, rm, gc: workspaces that are kept. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/standstill.h"
#include "cli/worksite.h"
#include "policy/files.h"
#include "workspace/agent.h"
#include "workspace/sweep.h"

static int create(const struct rf_worksite *site, struct rf_err *err)
{
	struct rf_workspace workspace;
	char path[RF_FILES_PATH];

	if (!site->name || !site->workspace) {
		rf_fail_say(err, -EINVAL, "a workspace needs a name and a directory");
		return rf_fail_hint(err,
				    "for example: ringfort create --name fix-bug --workspace .");
	}
	if (rf_worksite_directory(site->workspace, path, err) < 0 ||
	    rf_workspace_make(site->name, path, false, &workspace, err) < 0)
		return err->code;
	rf_worksite_tell_scan(&workspace.scan, path);
	rf_workspace_close(&workspace);
	rf_cmd_remark("workspace %s lies over %s; `ringfort exec %s -- PROGRAM` runs in it",
		      site->name, path, site->name);
	return 0;
}

/* Of forks that were made, removes the first `count`: not all of them could be. */
static void unmake(const char *name, uint32_t count)
{
	for (uint32_t i = 1; i <= count; i++) {
		struct rf_workspace workspace;
		struct rf_err ignored;
		char numbered[RF_LEDGER_NAME];

		snprintf(numbered, sizeof(numbered), "%s-%u", name, i);
		if (rf_workspace_open_now(numbered, &workspace, &ignored) == 0 &&
		    rf_workspace_remove(&workspace, &ignored) < 0)
			rf_workspace_close(&workspace);
	}
}

static int fork_times(const struct rf_workspace *workspace, const char *name, uint32_t times,
		      struct rf_err *err)
{
	char numbered[RF_LEDGER_NAME + 16];

	for (uint32_t i = 1; i <= times; i++) {
		snprintf(numbered, sizeof(numbered), "%s-%u", name, i);
		if (rf_workspace_fork(workspace, numbered, err) < 0) {
			unmake(name, i - 1);
			return err->code;
		}
	}
	return 0;
}

/* One that begins with what a program has done so far; -ESRCH if none runs. */
static int fork_living(const struct rf_worksite *site, struct rf_err *err)
{
	char workspace[RF_LEDGER_NAME];
	struct rf_snapshot snapshot;
	uint32_t point = 0;
	int code = rf_worksite_name(site, workspace, err);

	if (code < 0)
		return code;
	if (site->count == 1 && !site->times && rf_workspace_exists(site->words[0])) {
		rf_fail_say(err, -EEXIST, "there is a workspace `%s` already", site->words[0]);
		return rf_fail_hint(err, "choose another name");
	}
	if (site->count != 1 || !rf_ledger_is_name(site->words[0]))
		return -ESRCH; /* who forks one at rest says what is wrong */
	code = rf_standstill_keep(workspace, NULL, &snapshot, &point, err);
	if (code < 0)
		return code;
	snapshot.visit.kept.ledger.head = point; /* of the fork alone: it is not written back */
	code = site->times ? fork_times(&snapshot.visit.kept, site->words[0], site->times, err)
			   : rf_workspace_fork(&snapshot.visit.kept, site->words[0], err);
	rf_snapshot_close(&snapshot);
	return code;
}

/* Another workspace, which begins where this one is; the layers are both's. */
static int fork_resting(const struct rf_worksite *site, struct rf_err *err)
{
	struct rf_workspace workspace;
	int code = rf_worksite_open(site, &workspace, err);

	if (code < 0)
		return code;
	if (site->count != 1) {
		rf_fail_say(err, -EINVAL, "a fork needs a name of its own");
		code = rf_fail_hint(err, "for example: ringfort fork -w %s another",
				    workspace.ledger.name);
	} else if (site->times) {
		code = fork_times(&workspace, site->words[0], site->times, err);
	} else {
		code = rf_workspace_fork(&workspace, site->words[0], err);
	}
	rf_workspace_close(&workspace);
	return code;
}

static int fork_it(const struct rf_worksite *site, struct rf_err *err)
{
	int code = site->is_live ? fork_living(site, err) : -ESRCH;

	if (code != -ESRCH)
		return code;
	*err = RF_ERR_INIT;
	return fork_resting(site, err);
}

static int remove_it(const struct rf_worksite *site, struct rf_err *err)
{
	struct rf_workspace workspace;
	struct rf_swept swept;

	if (site->count == 0) {
		rf_fail_say(err, -EINVAL, "which workspace shall be removed?");
		return rf_fail_hint(err, "`ringfort workspaces` lists them");
	}
	for (int i = 0; i < site->count; i++) {
		const char *colon = strchr(site->words[i], ':');

		if (colon) {
			rf_fail_say(err, -EINVAL, "`%.60s` is no workspace", site->words[i]);
			return rf_fail_hint(
				err, "for a file of one: ringfort file rm -w %.*s %.60s",
				(int)(colon - site->words[i]), site->words[i], colon + 1);
		}
		if (rf_agent_exists(site->words[i])) {
			rf_fail_say(err, -EINVAL, "workspace `%s` is an agent's", site->words[i]);
			return rf_fail_hint(err, "`ringfort agent rm %s` removes both",
					    site->words[i]);
		}
		if (rf_workspace_open(site->words[i], &workspace, err) < 0)
			return err->code;
		if (rf_workspace_remove(&workspace, err) < 0) {
			rf_workspace_close(&workspace);
			return err->code;
		}
	}
	return rf_sweep(0, &swept, err);
}

static int collect(const struct rf_worksite *site, struct rf_err *err)
{
	struct rf_swept swept;

	(void)site;
	if (rf_sweep(rf_config_points(), &swept, err) < 0)
		return err->code;
	rf_cmd_remark("%zu points that were undone and %zu layers that nobody needs are gone, "
		      "%zu points are merged",
		      swept.points, swept.layers, swept.merged);
	return 0;
}

static int put_workspace(void *data, const char *name)
{
	struct rf_buf *out = data;
	struct rf_ledger ledger;
	struct rf_err err = RF_ERR_INIT;

	if (rf_workspace_peek(name, &ledger, &err) < 0) {
		rf_buf_printf(out, "%-20s %s\n", name, err.msg);
	} else {
		rf_buf_printf(out, "%-20s @%-5u %4zu points  ", name, ledger.head, ledger.count);
		rf_style_put(rf_style_of(STDOUT_FILENO), RF_STYLE_PLAIN, ledger.base, 0, out);
		rf_buf_puts(out, "\n");
	}
	rf_ledger_done(&ledger);
	return 0;
}

static int list(const struct rf_worksite *site, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;

	(void)site;
	rf_buf_init(&out, RF_MAX_JSON);
	if (rf_workspace_each(put_workspace, &out, err) < 0)
		return err->code;
	return rf_cmd_print(&out) ? -EIO : 0;
}

int rf_cmd_create(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_CREATE, 0, create, argc, argv);
}

int rf_cmd_fork(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_FORK, 1, fork_it, argc, argv);
}

int rf_cmd_rm(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_RM, RF_WORKSITE_WORDS, remove_it, argc, argv);
}

int rf_cmd_gc(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_GC, 0, collect, argc, argv);
}

int rf_cmd_workspaces(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_WORKSPACES, 0, list, argc, argv);
}

int rf_cmd_exec(int argc, char **argv)
{
	return rf_cmd_run_as(RF_CMD_EXEC, argc, argv);
}
