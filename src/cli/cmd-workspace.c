/* ringfort create, checkpoint, undo, log, diff, rm, gc ...: workspaces that are kept. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/dots.h"
#include "cli/option.h"
#include "policy/files.h"
#include "workspace/delta.h"
#include "workspace/sweep.h"
#include "workspace/workspace.h"

#define EXIT_NONE 1 /* no such workspace, or point */
#define WORDS_MAX 3

/* What the line says. */
struct wish {
	bool wants_help, is_json, is_durable;
	const char *workspace; /* -w, or NULL */
	const char *name;      /* --name, or NULL */
	const char *words[WORDS_MAX];
	int count;
};

/* ------------------------------------------------------------- which workspace */

/* A search for the workspace of a folder. */
struct search {
	const char *folder;
	char found[RF_LEDGER_NAME], other[RF_LEDGER_NAME];
};

static int look_at_base(void *data, const char *name)
{
	struct search *search = data;
	struct rf_ledger ledger;
	struct rf_err ignored;

	if (rf_workspace_peek(name, &ledger, &ignored) == 0 &&
	    rf_path_is_beneath(search->folder, ledger.base))
		snprintf(search->found[0] ? search->other : search->found, sizeof(search->found),
			 "%s", name);
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
	if (!search.found[0]) {
		rf_fail_say(err, -ENOENT, "no workspace lies over this directory");
		return rf_fail_hint(err, "`ringfort create --name NAME --workspace .` makes one; "
					 "-w NAME names another");
	}
	memcpy(name, search.found, RF_LEDGER_NAME);
	return 0;
}

static int open_wished(const struct wish *wish, struct rf_workspace *workspace, struct rf_err *err)
{
	char name[RF_LEDGER_NAME];

	*workspace = (struct rf_workspace){ .folder = -1 };
	if (wish->workspace)
		return rf_workspace_open(wish->workspace, workspace, err);
	return find_here(name, err) < 0 ? err->code : rf_workspace_open(name, workspace, err);
}

/* ------------------------------------------------------------- which point */

static uint32_t ancestor(const struct rf_ledger *ledger, uint32_t id, unsigned long steps)
{
	const struct rf_point *point;

	for (; steps > 0 && (point = rf_ledger_point(ledger, id)); steps--)
		id = point->parent;
	return id;
}

/* By the name of a checkpoint, or by `@ID`.  Point 0 is the directory itself. */
static int find_point(const struct rf_ledger *ledger, const char *word, uint32_t *ret_id,
		      struct rf_err *err)
{
	char *end;
	unsigned long id;

	for (size_t i = ledger->count; i-- > 0;)
		if (strcmp(ledger->points[i].name, word) == 0) {
			*ret_id = ledger->points[i].id;
			return 0;
		}
	id = strtoul(word + 1, &end, 10);
	if (word[0] == '@' && word[1] && !*end &&
	    (id == 0 || rf_ledger_point(ledger, (uint32_t)id))) {
		*ret_id = (uint32_t)id;
		return 0;
	}
	rf_fail_say(err, -ENOENT, "workspace `%s` has no point `%.60s`", ledger->name, word);
	return rf_fail_hint(err, "`ringfort log -w %s` lists them: a checkpoint's name, or @ID",
			    ledger->name);
}

/* ------------------------------------------------------------- one function a command */

static int create(const struct wish *wish, struct rf_err *err)
{
	struct rf_workspace workspace;
	char path[RF_FILES_PATH], *found = NULL, *whole = NULL;
	char *cwd = getcwd(NULL, 0);
	int code;

	if (!wish->name || !wish->workspace) {
		free(cwd);
		rf_fail_say(err, -EINVAL, "a workspace needs a name and a directory");
		return rf_fail_hint(err,
				    "for example: ringfort create --name fix-bug --workspace .");
	}
	code = rf_dots_resolve(wish->workspace, &found, err);
	if (code == 0 && asprintf(&whole, "%s/%s", found[0] == '/' || !cwd ? "" : cwd, found) < 0)
		whole = NULL;
	if (code == 0)
		code = whole ? rf_files_normal(whole, path, err) : rf_fail(err, -ENOMEM, "create");
	if (code == 0)
		code = rf_workspace_make(wish->name, path, &workspace, err);
	if (code == 0) {
		rf_workspace_close(&workspace);
		rf_cmd_remark("workspace %s lies over %s; `ringfort exec %s -- PROGRAM` runs in it",
			      wish->name, path, wish->name);
	}
	free(found);
	free(whole);
	free(cwd);
	return code;
}

static int checkpoint(const struct wish *wish, struct rf_err *err)
{
	const char *name = wish->count ? wish->words[0] : NULL;
	struct rf_workspace workspace;
	struct rf_point *point;
	char made[RF_LEDGER_NAME];
	uint32_t taken;
	int code = open_wished(wish, &workspace, err);

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
	else if (name && find_point(&workspace.ledger, name, &taken, err) == 0)
		code = rf_fail_say(err, -EEXIST, "@%u is called `%s` already", taken, name);
	if (code == 0) {
		*err = RF_ERR_INIT;
		snprintf(point->name, sizeof(point->name), "%s", name ? name : made);
		code = rf_workspace_save(&workspace, wish->is_durable, err);
	}
	if (code == 0)
		rf_cmd_remark("checkpoint %s is @%u", point->name, point->id);
	rf_workspace_close(&workspace);
	return code;
}

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

static int undo(const struct wish *wish, struct rf_err *err)
{
	const char *word = wish->count ? wish->words[0] : "1";
	struct rf_workspace workspace;
	uint32_t before, id = 0;
	int code = open_wished(wish, &workspace, err);

	if (code < 0)
		return code;
	before = workspace.ledger.head;
	if (is_number(word))
		id = ancestor(&workspace.ledger, before, strtoul(word, NULL, 10));
	else
		code = find_point(&workspace.ledger, word, &id, err);
	if (code == 0 && id == before)
		code = rf_fail_say(err, -ENOENT,
				   "there is nothing to undo: workspace `%s` is at @%u",
				   workspace.ledger.name, before);
	if (code == 0) {
		workspace.ledger.head = id;
		code = rf_workspace_save(&workspace, wish->is_durable, err);
	}
	if (code == 0)
		rf_cmd_remark("workspace %s is at @%u again; `ringfort undo @%u` goes back",
			      workspace.ledger.name, id, before);
	rf_workspace_close(&workspace);
	return code;
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

static int history(const struct wish *wish, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_workspace workspace;
	int code = open_wished(wish, &workspace, err);

	if (code < 0)
		return code;
	rf_buf_init(&out, RF_MAX_JSON);
	(wish->is_json ? rf_ledger_format : put_log)(&workspace.ledger, &out);
	rf_workspace_close(&workspace);
	return rf_cmd_print(&out) ? -EIO : 0;
}

/* What lies between two points: from the directory to the head, unless the line says otherwise. */
static int find_changes(const struct wish *wish, const struct rf_workspace *workspace,
			struct rf_delta *ret_delta, struct rf_err *err)
{
	struct rf_stack before = { 0 }, after = { 0 };
	uint32_t from = 0, to = workspace->ledger.head;
	int code = 0;

	*ret_delta = (struct rf_delta){ 0 };
	if (wish->count > 0)
		code = find_point(&workspace->ledger, wish->words[0], &from, err);
	if (code == 0 && wish->count > 1)
		code = find_point(&workspace->ledger, wish->words[1], &to, err);
	if (code == 0)
		code = rf_workspace_open_stack(workspace, from, &before, err);
	if (code == 0)
		code = rf_workspace_open_stack(workspace, to, &after, err);
	if (code == 0)
		code = rf_delta_find(&before, &after, ret_delta, err);
	rf_stack_done(&before);
	rf_stack_done(&after);
	return code;
}

static void put_changes(const struct rf_delta *delta, bool are_protected, struct rf_buf *out)
{
	const struct rf_style style = rf_style_of(STDOUT_FILENO);

	for (size_t i = 0; i < delta->count; i++) {
		const struct rf_change *change = &delta->changes[i];

		if (!change->protects != !are_protected)
			continue;
		rf_style_put(style, are_protected ? RF_STYLE_WARNING : RF_STYLE_NAME,
			     rf_change_name(change->kind), 9, out);
		rf_style_put(style, RF_STYLE_PLAIN, change->path, 0, out);
		if (change->protects)
			rf_buf_printf(out, "  (%s)", change->protects);
		rf_buf_puts(out, "\n");
	}
}

static void put_all_changes(const struct rf_delta *delta, struct rf_buf *out)
{
	size_t protects = 0;

	put_changes(delta, false, out);
	for (size_t i = 0; i < delta->count; i++)
		protects += delta->changes[i].protects != NULL;
	if (protects)
		rf_buf_printf(out, "%sthese act later, on whoever uses the directory:\n",
			      protects < delta->count ? "\n" : "");
	put_changes(delta, true, out);
}

static void put_side(struct rf_json *json, const char *name, const struct rf_change_side *side)
{
	char mode[8];

	if (!side->mode) {
		rf_json_null(json, name);
		return;
	}
	snprintf(mode, sizeof(mode), "%06o", side->mode);
	rf_json_open_object(json, name);
	rf_json_string(json, "mode", mode);
	rf_json_int(json, "size", (int64_t)side->size);
	rf_json_close_object(json);
}

static void format_changes(const struct rf_delta *delta, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_array(&json, NULL);
	for (size_t i = 0; i < delta->count; i++) {
		const struct rf_change *change = &delta->changes[i];

		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "path", change->path);
		rf_json_string(&json, "change", rf_change_name(change->kind));
		rf_json_string(&json, "protected", change->protects);
		put_side(&json, "before", &change->before);
		put_side(&json, "after", &change->after);
		rf_json_close_object(&json);
	}
	rf_json_close_array(&json);
	rf_buf_puts(out, "\n");
}

static int compare(const struct wish *wish, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_workspace workspace;
	struct rf_delta delta;
	int code = open_wished(wish, &workspace, err);

	if (code < 0)
		return code;
	rf_buf_init(&out, RF_MAX_JSON);
	code = find_changes(wish, &workspace, &delta, err);
	if (code == 0)
		(wish->is_json ? format_changes : put_all_changes)(&delta, &out);
	rf_delta_done(&delta);
	rf_workspace_close(&workspace);
	return code == 0 && rf_cmd_print(&out) ? -EIO : code;
}

/* Another workspace, which begins where this one is; the layers are both's. */
static int fork_it(const struct wish *wish, struct rf_err *err)
{
	struct rf_workspace workspace;
	int code = open_wished(wish, &workspace, err);

	if (code < 0)
		return code;
	if (wish->count != 1) {
		rf_fail_say(err, -EINVAL, "a fork needs a name of its own");
		code = rf_fail_hint(err, "for example: ringfort fork -w %s another",
				    workspace.ledger.name);
	} else {
		code = rf_workspace_fork(&workspace, wish->words[0], err);
	}
	rf_workspace_close(&workspace);
	return code;
}

static int remove_it(const struct wish *wish, struct rf_err *err)
{
	struct rf_workspace workspace;
	struct rf_swept swept;

	if (wish->count == 0) {
		rf_fail_say(err, -EINVAL, "which workspace shall be removed?");
		return rf_fail_hint(err, "`ringfort workspaces` lists them");
	}
	for (int i = 0; i < wish->count; i++) {
		if (rf_workspace_open(wish->words[i], &workspace, err) < 0)
			return err->code;
		if (rf_workspace_remove(&workspace, err) < 0) {
			rf_workspace_close(&workspace);
			return err->code;
		}
	}
	return rf_sweep(false, &swept, err);
}

static int collect(const struct wish *wish, struct rf_err *err)
{
	struct rf_swept swept;

	(void)wish;
	if (rf_sweep(true, &swept, err) < 0)
		return err->code;
	rf_cmd_remark("%zu points that were undone and %zu layers that nobody needs are gone",
		      swept.points, swept.layers);
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

static int list(const struct wish *wish, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;

	(void)wish;
	rf_buf_init(&out, RF_MAX_JSON);
	if (rf_workspace_each(put_workspace, &out, err) < 0)
		return err->code;
	return rf_cmd_print(&out) ? -EIO : 0;
}

/* ------------------------------------------------------------- the line */

static int take_option(struct wish *wish, const struct rf_option *option, const char *value)
{
	switch (option->id) {
	case RF_OPTION_JSON:
		wish->is_json = true;
		return 0;
	case RF_OPTION_WORKSPACE:
		wish->workspace = value;
		return 0;
	case RF_OPTION_NAME:
		wish->name = value;
		return 0;
	case RF_OPTION_SYNC:
		wish->is_durable = true;
		return 0;
	default:
		wish->wants_help = true;
		return 0;
	}
}

/* Options may stand before, between and behind the words. */
static int read_line(enum rf_cmd_id id, int words, int argc, char **argv, struct wish *wish,
		     struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while (at < argc) {
		got = rf_option_next(id, argc, argv, &at, &option, &value, err);
		if (got < 0 || (got > 0 && take_option(wish, option, value) < 0))
			return err->code;
		if (got == 0 && at < argc && wish->count == words) {
			rf_fail_say(err, -EINVAL, "%s has no argument `%.60s`",
				    rf_cmd_table[id].name, argv[at]);
			return rf_fail_hint(err, "see `ringfort %s --help`", rf_cmd_table[id].name);
		}
		if (got == 0 && at < argc)
			wish->words[wish->count++] = argv[at++];
	}
	return 0;
}

static int run(enum rf_cmd_id id, int words, int (*fn)(const struct wish *wish, struct rf_err *err),
	       int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	struct wish wish = { 0 };

	if (read_line(id, words, argc, argv, &wish, &err) == 0) {
		if (wish.wants_help) {
			rf_command_help(id, stdout);
			return 0;
		}
		if (fn(&wish, &err) == 0)
			return 0;
	}
	if (err.code) /* else it is told */
		rf_cmd_complain(NULL, &err);
	return err.code == -ENOENT ? EXIT_NONE : RF_EXIT_FAILED;
}

int rf_cmd_create(int argc, char **argv)
{
	return run(RF_CMD_CREATE, 0, create, argc, argv);
}

int rf_cmd_checkpoint(int argc, char **argv)
{
	return run(RF_CMD_CHECKPOINT, 1, checkpoint, argc, argv);
}

int rf_cmd_undo(int argc, char **argv)
{
	return run(RF_CMD_UNDO, 1, undo, argc, argv);
}

int rf_cmd_log(int argc, char **argv)
{
	return run(RF_CMD_LOG, 0, history, argc, argv);
}

int rf_cmd_diff(int argc, char **argv)
{
	return run(RF_CMD_DIFF, 2, compare, argc, argv);
}

int rf_cmd_fork(int argc, char **argv)
{
	return run(RF_CMD_FORK, 1, fork_it, argc, argv);
}

int rf_cmd_rm(int argc, char **argv)
{
	return run(RF_CMD_RM, WORDS_MAX, remove_it, argc, argv);
}

int rf_cmd_gc(int argc, char **argv)
{
	return run(RF_CMD_GC, 0, collect, argc, argv);
}

int rf_cmd_workspaces(int argc, char **argv)
{
	return run(RF_CMD_WORKSPACES, 0, list, argc, argv);
}

int rf_cmd_exec(int argc, char **argv)
{
	return rf_cmd_run_as(RF_CMD_EXEC, argc, argv);
}
