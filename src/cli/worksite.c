/* What the commands of workspaces have in common: see worksite.h. */
#include "cli/worksite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/cmd.h"
#include "cli/dots.h"
#include "cli/option.h"
#include "policy/files.h"
#include "policy/limit.h"

#define TIMES_MAX 10000
#define EXIT_NONE 1 /* no such workspace, or point */

/* ------------------------------------------------------------- which workspace, which point */

/* A search for the workspace of a folder. */
struct search {
	const char *folder;
	char found[RF_LEDGER_NAME], other[RF_LEDGER_NAME];
	char shadow[RF_LEDGER_NAME]; /* of a shadow run: the newest, where there is no other */
};

static int look_at_base(void *data, const char *name)
{
	struct search *search = data;
	struct rf_ledger ledger;
	struct rf_err ignored;

	if (rf_workspace_peek(name, &ledger, &ignored) == 0 &&
	    rf_path_is_beneath(search->folder, ledger.base)) {
		char *place = ledger.is_shadow   ? search->shadow
			      : search->found[0] ? search->other
						 : search->found;

		if (place != search->shadow || strverscmp(name, place) > 0)
			snprintf(place, RF_LEDGER_NAME, "%s", name);
	}
	rf_ledger_done(&ledger);
	return 0;
}

/* The one that lies over the current directory, or over one above it. */
static int find_here(char name[RF_LEDGER_NAME], struct rf_err *err)
{
	char *cwd = getcwd(NULL, 0);
	struct search search = { .folder = cwd ? cwd : "/" };
	int code = rf_workspace_each(look_at_base, &search, err);

	free(cwd);
	if (code < 0)
		return code;
	if (search.other[0]) {
		rf_fail_say(err, -EINVAL, "several workspaces lie over this directory: %s, %s",
			    search.found, search.other);
		return rf_fail_hint(err, "say which with -w NAME");
	}
	if (!search.found[0])
		memcpy(search.found, search.shadow, sizeof(search.found));
	if (!search.found[0]) {
		rf_fail_say(err, -ENOENT, "no workspace lies over this directory");
		return rf_fail_hint(err, "`ringfort create --name NAME --workspace .` makes one; "
					 "-w NAME names another");
	}
	memcpy(name, search.found, RF_LEDGER_NAME);
	return 0;
}

int rf_worksite_name(const struct rf_worksite *site, char ret_name[RF_LEDGER_NAME],
		     struct rf_err *err)
{
	if (!site->workspace)
		return find_here(ret_name, err);
	/* One that is too long for a name is refused as such when it is opened. */
	snprintf(ret_name, RF_LEDGER_NAME, "%s",
		 strlen(site->workspace) < RF_LEDGER_NAME ? site->workspace : "");
	return 0;
}

int rf_worksite_open(const struct rf_worksite *site, struct rf_workspace *workspace,
		     struct rf_err *err)
{
	char name[RF_LEDGER_NAME];

	*workspace = (struct rf_workspace){ .folder = -1 };
	if (!site->workspace && find_here(name, err) < 0)
		return err->code;
	if (site->stops && rf_workspace_stop(site->workspace ? site->workspace : name, err) < 0)
		return err->code;
	return rf_workspace_open(site->workspace ? site->workspace : name, workspace, err);
}

int rf_worksite_directory(const char *directory, char *path, struct rf_err *err)
{
	char *found = NULL, *whole = NULL, *cwd = getcwd(NULL, 0);
	int code = rf_dots_resolve(directory, &found, err);

	if (code == 0 && asprintf(&whole, "%s/%s", found[0] == '/' || !cwd ? "" : cwd, found) < 0)
		whole = NULL;
	if (code == 0)
		code = whole ? rf_files_normal(whole, path, err)
			     : rf_fail(err, -ENOMEM, "find %s", directory);
	free(found);
	free(whole);
	free(cwd);
	return code;
}

void rf_worksite_tell_scan(const struct rf_base_scan *scan, const char *path)
{
	if (scan->is_partial)
		rf_cmd_remark("of %s the first %zu files and folders were looked at for attributes "
			      "that hide files from workspaces, and the rest was not",
			      path, scan->seen);
	if (scan->closed)
		rf_cmd_remark("%s/%s is closed to you: whether attributes in it hide files from "
			      "workspaces was not looked at%s",
			      path, scan->first, scan->closed > 1 ? ", nor in others" : "");
}

void rf_worksite_tell(const struct rf_move *moves, size_t count)
{
	struct rf_err err = RF_ERR_INIT;

	if (rf_moves_tell(moves, count, &err) < 0)
		rf_cmd_remark("that is done, and not recorded: %s", err.msg);
}

void rf_worksite_tell_apply(const struct rf_workspace *workspace, const struct rf_apply *apply,
			    enum rf_audit_kind kind, bool was_broken, const struct rf_err *why)
{
	struct rf_move moves[] = {
		{ .kind = kind,
		  .workspace = workspace->ledger.name,
		  .point = apply->point,
		  .by = "hand",
		  .verdict = why ? "refused" : "applied",
		  .reason = why                     ? why->msg
			    : kind == RF_AUDIT_UNDO ? "of what was applied"
						    : NULL },
		{ .kind = RF_AUDIT_RECOVERY,
		  .workspace = workspace->ledger.name,
		  .verdict = why                     ? "left"
			     : kind == RF_AUDIT_UNDO ? "taken back"
						     : "finished" },
	};

	for (size_t i = 0; !why && apply->stays && i < apply->delta.count; i++) {
		enum rf_change_kind change = apply->delta.changes[i].kind;

		if (apply->stays[i] != RF_APPLY_MADE)
			continue;
		moves[0].added += change == RF_CHANGE_ADDED;
		moves[0].deleted += change == RF_CHANGE_DELETED;
		moves[0].modified += change != RF_CHANGE_ADDED && change != RF_CHANGE_DELETED;
	}
	rf_worksite_tell(moves, was_broken ? 2 : 1);
}

/* ------------------------------------------------------------- the line */

static int take_form(struct rf_worksite *site, enum rf_worksite_form form, struct rf_err *err)
{
	if (site->form != RF_WORKSITE_LIST && site->form != form) {
		rf_fail_say(err, -EINVAL, "it can be shown in one way at a time");
		return rf_fail_hint(err, "one of --stat, --patch and --json");
	}
	site->form = form;
	site->is_json = form == RF_WORKSITE_JSON;
	return 0;
}

static int take_only(struct rf_worksite *site, const char *path)
{
	while (strncmp(path, "./", 2) == 0 && path[2])
		path += 2;
	site->only[site->only_count++] = path;
	return 0;
}

static int take_times(struct rf_worksite *site, const char *text, struct rf_err *err)
{
	char *end;
	unsigned long times = strtoul(text, &end, 10);

	if (*end || text[0] < '0' || text[0] > '9' || times == 0 || times > TIMES_MAX) {
		rf_fail_say(err, -EINVAL, "-n: `%.40s` is no number of forks", text);
		return rf_fail_hint(err, "from 1 to %d", TIMES_MAX);
	}
	site->times = (uint32_t)times;
	return 0;
}

/* A number written as that of a limit is. */
static int take_limit(enum rf_limit like, const struct rf_option *option, const char *value,
		      uint64_t *ret_value, struct rf_err *err)
{
	if (rf_limit_parse(like, value, ret_value, err) == 0)
		return 0;
	rf_fail_in(err, "--%s", option->name);
	return err->hint[0] ? err->code : rf_option_hint(option, err);
}

static int take_option(struct rf_worksite *site, const struct rf_option *option, const char *value,
		       struct rf_err *err)
{
	switch (option->id) {
	case RF_OPTION_JSON:
		return take_form(site, RF_WORKSITE_JSON, err);
	case RF_OPTION_STAT:
		return take_form(site, RF_WORKSITE_STAT, err);
	case RF_OPTION_PATCH:
		return take_form(site, RF_WORKSITE_PATCH, err);
	case RF_OPTION_WORKSPACE:
		site->workspace = value;
		return 0;
	case RF_OPTION_NAME:
		site->name = value;
		return 0;
	case RF_OPTION_OURS:
		site->on_conflict = RF_APPLY_OURS;
		return 0;
	case RF_OPTION_THEIRS:
		site->on_conflict = RF_APPLY_THEIRS;
		return 0;
	case RF_OPTION_ONLY:
		return take_only(site, value);
	case RF_OPTION_AT:
		site->at = value;
		return 0;
	case RF_OPTION_CONTENT:
		site->content = value;
		return 0;
	case RF_OPTION_MAX_BYTES:
		return take_limit(RF_LIMIT_DISK, option, value, &site->max_bytes, err);
	case RF_OPTION_MAX_FILES:
		return take_limit(RF_LIMIT_INODES, option, value, &site->max_files, err);
	case RF_OPTION_RECURSIVE:
		site->is_recursive = true;
		return 0;
	case RF_OPTION_LONG:
		site->is_long = true;
		return 0;
	case RF_OPTION_LIVE:
		site->is_live = true;
		return 0;
	case RF_OPTION_STOP:
		site->stops = true;
		return 0;
	case RF_OPTION_TIMES:
		return take_times(site, value, err);
	case RF_OPTION_SYNC:
		site->is_durable = true;
		return 0;
	default:
		site->wants_help = true;
		return 0;
	}
}

/* Options may stand before, between and behind the words. */
static int read_line(enum rf_cmd_id id, int words, int argc, char **argv, struct rf_worksite *site,
		     struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while (at < argc) {
		got = rf_option_next(id, argc, argv, &at, &option, &value, err);
		if (got < 0 || (got > 0 && take_option(site, option, value, err) < 0))
			return err->code;
		if (got == 0 && at < argc && site->count == words) {
			rf_fail_say(err, -EINVAL, "%s has no argument `%.60s`",
				    rf_cmd_table[id].name, argv[at]);
			return rf_fail_hint(err, "see `ringfort %s --help`", rf_cmd_table[id].name);
		}
		if (got == 0 && at < argc)
			site->words[site->count++] = argv[at++];
	}
	return 0;
}

int rf_worksite_run(enum rf_cmd_id id, int words, rf_worksite_fn *fn, int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_worksite site = { .words = calloc((size_t)argc + 1, sizeof(*site.words)),
				    .only = calloc((size_t)argc + 1, sizeof(*site.only)) };
	int code;

	if (!site.words || !site.only)
		code = rf_fail(&err, -ENOMEM, "read the line");
	else
		code = read_line(id, words, argc, argv, &site, &err);
	if (code == 0 && site.wants_help)
		rf_command_help(id, stdout);
	else if (code == 0)
		code = fn(&site, &err);
	free(site.words);
	free(site.only);
	if (code == 0)
		return 0;
	if (err.code) /* else it is told */
		rf_cmd_complain(NULL, &err);
	return err.code == -ENOENT ? EXIT_NONE : RF_EXIT_FAILED;
}
