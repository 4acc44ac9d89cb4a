/*
 * ringfort file cat, ls, stat, find, cp, rm: the files of a workspace, from outside.
 *
 * A path counts from the workspace's top, whatever the current directory is.  `cp` has one path of this machine and one of
 * the workspace; a colon says which is which.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/glyph.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/worksite.h"
#include "policy/limit.h"
#include "workspace/copy.h"
#include "workspace/edit.h"
#include "workspace/merged.h"
#include "workspace/search.h"

#define PIECE ((size_t)256 << 10)
#define SHOWN 200 /* bytes of a line that was found */

/* ------------------------------------------------------------- what is looked at */

/* A workspace at one of its points.  It is not locked: who reads may be slow, and the layers are held. */
struct view {
	struct rf_stack stack;
};

static int open_view(const struct rf_worksite *site, struct view *view, struct rf_err *err)
{
	struct rf_workspace workspace;
	uint32_t point;
	int code = rf_worksite_open(site, &workspace, err);

	view->stack = (struct rf_stack){ 0 };
	if (code < 0)
		return code;
	point = workspace.ledger.head;
	if (site->at)
		code = rf_ledger_find_point(&workspace.ledger, site->at, &point, err);
	if (code == 0)
		code = rf_workspace_open_stack(&workspace, point, &view->stack, err);
	if (code == 0)
		code = rf_stack_hold(&view->stack, err);
	rf_workspace_close(&workspace);
	return code;
}

static void view_done(struct view *view)
{
	rf_stack_done(&view->stack);
}

static int fail_at(struct rf_err *err, int code, const char *path)
{
	rf_fail(err, code, "%.200s", path);
	if (code == -EINVAL)
		return rf_fail_hint(err, "a path counts from the workspace's top, and has no `..` "
					 "in it; only files have content");
	if (code == -ELOOP)
		return rf_fail_hint(err, "it leads through a link, and links are not followed");
	if (code == -EXDEV)
		return rf_fail_hint(err, "another file system is mounted there");
	return rf_fail_hint(err, "`ringfort file ls` and `ringfort file find` say what there is");
}

/* ------------------------------------------------------------- cat */

/* Bytes as they are in a pipe; on a terminal nothing that it would obey. */
static int print_bytes(const char *data, size_t len)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_glyph glyph = { 0 };

	rf_buf_init(&out, RF_MAX_JSON);
	if (!isatty(STDOUT_FILENO))
		return rf_fd_write(STDOUT_FILENO, data, len);
	for (size_t at = 0; at < len;) {
		if (data[at] == '\n' || data[at] == '\t') {
			rf_buf_add(&out, &data[at++], 1);
			glyph = (struct rf_glyph){ 0 };
			continue;
		}
		at += rf_glyph_next(&glyph, data + at, len - at);
		rf_buf_add(&out, glyph.shown, glyph.len);
	}
	return out.has_failed ? -ENOMEM : rf_fd_write(STDOUT_FILENO, out.data, out.len);
}

/* Copies a file of the workspace to a descriptor, or to standard output if that is -1. */
static int copy_out(const struct rf_merged *folder, const char *name, int to)
{
	RF_AUTO_FD int file = rf_merged_open(folder, name);
	char *piece = file < 0 ? NULL : malloc(PIECE);
	ssize_t n = file < 0 ? file : piece ? 0 : -ENOMEM;
	int code = 0;

	if (to >= 0) {
		free(piece);
		return file < 0 ? file : rf_copy_stream(file, to, UINT64_MAX);
	}
	while (piece && code == 0 && (n = rf_fd_read(file, piece, PIECE)) > 0)
		code = print_bytes(piece, (size_t)n);
	free(piece);
	return n < 0 ? (int)n : code;
}

static int print_file(const struct view *view, const char *path, struct rf_err *err)
{
	struct rf_merged folder = { 0 };
	char name[NAME_MAX + 1];
	int code = rf_merged_find(&view->stack, path, &folder, name);

	if (code == 0)
		code = name[0] ? copy_out(&folder, name, -1) : -EINVAL;
	rf_merged_done(&folder);
	return code < 0 ? fail_at(err, code, path) : 0;
}

static int cat(const struct rf_worksite *site, struct rf_err *err)
{
	struct view view;
	int code;

	if (site->count == 0) {
		rf_fail_say(err, -EINVAL, "which file?");
		return rf_fail_hint(err, "for example: ringfort file cat src/main.c");
	}
	code = open_view(site, &view, err);
	for (int i = 0; i < site->count && code == 0; i++)
		code = print_file(&view, site->words[i], err);
	view_done(&view);
	return code;
}

/* ------------------------------------------------------------- ls and stat */

static const char *type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "folder";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

/* Something with the name that it is told under. */
struct thing {
	const char *path;
	const struct rf_merged *in;
	const char *name;
	struct rf_merged_entry entry;
};

/* Where a link leads, or "". */
static void target_of(const struct thing *thing, char *target, size_t size)
{
	ssize_t len = S_ISLNK(thing->entry.st.st_mode)
			      ? readlinkat(thing->in->dirs[thing->entry.at], thing->name, target,
					   size - 1)
			      : 0;

	target[len > 0 ? len : 0] = '\0';
}

static void format_thing(struct rf_json *json, const struct thing *thing)
{
	const struct stat *st = &thing->entry.st;
	char text[64], target[PATH_MAX];

	rf_json_open_object(json, NULL);
	rf_json_string(json, "path", thing->path);
	if (!rf_json_is_utf8(thing->path, strlen(thing->path)))
		rf_json_base64(json, "path_base64", thing->path, strlen(thing->path));
	rf_json_string(json, "type", type_of(st->st_mode));
	snprintf(text, sizeof(text), "%06o", st->st_mode);
	rf_json_string(json, "mode", text);
	rf_json_int(json, "size", st->st_size);
	rf_json_int(json, "uid", st->st_uid);
	rf_json_int(json, "gid", st->st_gid);
	rf_json_int(json, "modified", st->st_mtim.tv_sec);
	if (S_ISLNK(st->st_mode)) {
		target_of(thing, target, sizeof(target));
		rf_json_string(json, "target", target);
	}
	rf_json_close_object(json);
}

/* When something was changed, as a box may have set it: in years that no calendar has, too. */
static void put_time(time_t at, struct rf_buf *out)
{
	char when[32];
	struct tm tm;

	if (!localtime_r(&at, &tm) || !strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm))
		rf_buf_printf(out, "@%-18lld", (long long)at);
	else
		rf_buf_puts(out, when);
}

static void put_thing(const struct thing *thing, bool is_long, struct rf_buf *out)
{
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	const struct stat *st = &thing->entry.st;
	char target[PATH_MAX];

	if (is_long) {
		rf_buf_printf(out, "%-6s %04o %10lld  ", type_of(st->st_mode), st->st_mode & 07777,
			      (long long)st->st_size);
		put_time(st->st_mtim.tv_sec, out);
		rf_buf_puts(out, "  ");
	}
	rf_style_put(style, S_ISDIR(st->st_mode) ? RF_STYLE_NAME : RF_STYLE_PLAIN, thing->path, 0,
		     out);
	rf_buf_puts(out, S_ISDIR(st->st_mode) ? "/" : "");
	target_of(thing, target, sizeof(target));
	if (is_long && target[0]) {
		rf_buf_puts(out, " -> ");
		rf_style_put(style, RF_STYLE_PLAIN, target, 0, out);
	}
	rf_buf_puts(out, "\n");
}

static void tell(const struct rf_worksite *site, const struct thing *thing, struct rf_json *json,
		 struct rf_buf *out)
{
	if (site->is_json)
		format_thing(json, thing);
	else
		put_thing(thing, site->is_long, out);
}

/* All that is in a folder. */
static int tell_folder(const struct rf_worksite *site, const struct rf_merged *folder,
		       struct rf_json *json, struct rf_buf *out)
{
	struct rf_merged_names names;
	int code = rf_merged_list(folder, &names);

	for (size_t i = 0; i < names.count && code == 0; i++) {
		struct thing thing = { .path = names.items[i],
				       .in = folder,
				       .name = names.items[i] };

		code = rf_merged_look(folder, names.items[i], &thing.entry);
		if (code == 0)
			tell(site, &thing, json, out);
	}
	rf_merged_names_done(&names);
	return code;
}

/* One path: `opens_folders`: a folder is told by what is in it. */
static int tell_path(const struct rf_worksite *site, const struct view *view, const char *path,
		     bool opens_folders, struct rf_json *json, struct rf_buf *out)
{
	struct rf_merged folder = { 0 }, inner = { 0 };
	char name[NAME_MAX + 1];
	struct thing thing = { .path = path, .in = &folder };
	int code = rf_merged_find(&view->stack, path, &folder, name);

	thing.name = name[0] ? name : ".";
	if (code == 0)
		code = rf_merged_look(&folder, thing.name, &thing.entry);
	if (code == 0 && opens_folders && S_ISDIR(thing.entry.st.st_mode)) {
		code = name[0] ? rf_merged_enter(&folder, name, &inner) : 0;
		if (code == 0)
			code = tell_folder(site, name[0] ? &inner : &folder, json, out);
	} else if (code == 0) {
		tell(site, &thing, json, out);
	}
	rf_merged_done(&inner);
	rf_merged_done(&folder);
	return code;
}

static int tell_all(const struct rf_worksite *site, bool opens_folders, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;
	struct view view;
	int code = open_view(site, &view, err);

	rf_buf_init(&out, RF_MAX_JSON);
	rf_json_init(&json, &out, true);
	if (site->is_json)
		rf_json_open_array(&json, NULL);
	for (int i = 0; code == 0 && (i < site->count || i == 0); i++) {
		const char *path = site->count ? site->words[i] : ".";

		code = tell_path(site, &view, path, opens_folders, &json, &out);
		if (code < 0)
			fail_at(err, code, path);
	}
	if (site->is_json) {
		rf_json_close_array(&json);
		rf_buf_puts(&out, "\n");
	}
	view_done(&view);
	return code == 0 && rf_cmd_print(&out) ? -EIO : code;
}

static int ls(const struct rf_worksite *site, struct rf_err *err)
{
	return tell_all(site, true, err);
}

static int stat_it(const struct rf_worksite *site, struct rf_err *err)
{
	struct rf_worksite whole = *site;

	whole.is_long = true;
	return tell_all(&whole, false, err);
}

/* ------------------------------------------------------------- find */

struct finding {
	const struct rf_worksite *site;
	struct rf_json json;
	struct rf_buf *out;
};

static int put_found(void *data, const struct rf_search_hit *hit)
{
	struct finding *finding = data;
	const struct rf_style style = rf_style_of(STDOUT_FILENO);
	struct rf_json *json = &finding->json;
	char text[SHOWN + 1];
	size_t len = hit->len < SHOWN ? hit->len : SHOWN;

	memcpy(text, hit->text ? hit->text : "", hit->text ? len : 0);
	text[hit->text ? len : 0] = '\0';
	if (finding->site->is_json) {
		rf_json_open_object(json, NULL);
		rf_json_string(json, "path", hit->path);
		if (!rf_json_is_utf8(hit->path, strlen(hit->path)))
			rf_json_base64(json, "path_base64", hit->path, strlen(hit->path));
		rf_json_string(json, "type", type_of(hit->st->st_mode));
		rf_json_int(json, "size", hit->st->st_size);
		if (hit->line)
			rf_json_int(json, "line", (int64_t)hit->line);
		if (hit->line)
			rf_json_string(json, "text", hit->text ? text : NULL);
		rf_json_close_object(json);
		return 0;
	}
	rf_style_put(style, RF_STYLE_PLAIN, hit->path, 0, finding->out);
	rf_buf_puts(finding->out, S_ISDIR(hit->st->st_mode) ? "/" : "");
	if (hit->line && hit->text) {
		rf_buf_printf(finding->out, ":%llu: ", (unsigned long long)hit->line);
		rf_style_put(style, RF_STYLE_PLAIN, text, 0, finding->out);
	} else if (hit->line) {
		rf_buf_puts(finding->out, ": no text, and has it");
	}
	rf_buf_puts(finding->out, "\n");
	return 0;
}

static int find(const struct rf_worksite *site, struct rf_err *err)
{
	const struct rf_search search = { site->name,
					  site->content && *site->content ? site->content : NULL };
	RF_AUTO_BUF struct rf_buf out;
	struct finding finding = { .site = site, .out = &out };
	struct view view;
	size_t skipped = 0;
	int code = open_view(site, &view, err);

	rf_buf_init(&out, RF_MAX_JSON);
	rf_json_init(&finding.json, &out, true);
	if (site->is_json)
		rf_json_open_array(&finding.json, NULL);
	if (code == 0)
		code = rf_search(&view.stack, site->count ? site->words[0] : ".", &search,
				 put_found, &finding, &skipped, err);
	if (site->is_json) {
		rf_json_close_array(&finding.json);
		rf_buf_puts(&out, "\n");
	}
	view_done(&view);
	if (code == 0 && skipped)
		rf_cmd_remark("%zu files and folders were not looked into: too long, or closed",
			      skipped);
	return code == 0 && rf_cmd_print(&out) ? -EIO : code;
}

/* ------------------------------------------------------------- cp and rm */

/* What was done becomes a point, and is told to the watcher. */
static int keep(struct rf_edit *edit, const char *command, struct rf_err *err)
{
	struct rf_move move = { .kind = RF_AUDIT_CHECKPOINT,
				.workspace = edit->visit.kept.ledger.name,
				.by = "hand" };
	struct rf_delta delta = { 0 };
	int code = rf_edit_keep(edit, command, &delta, err);

	for (size_t i = 0; i < delta.count; i++) {
		move.added += delta.changes[i].kind == RF_CHANGE_ADDED;
		move.deleted += delta.changes[i].kind == RF_CHANGE_DELETED;
	}
	move.modified = delta.count - move.added - move.deleted;
	move.point = edit->visit.kept.ledger.head;
	if (code == 0 && delta.count > 0) {
		rf_cmd_remark("workspace %s is at @%u; `ringfort undo` takes it back",
			      move.workspace, move.point);
		rf_worksite_tell(&move, 1);
	} else if (code == 0) {
		rf_cmd_remark("workspace %s had it so already", move.workspace);
	}
	rf_delta_done(&delta);
	return code;
}

/* Opens a file of this machine, or standard input. */
static int open_source(const char *path, mode_t *ret_mode, struct rf_err *err)
{
	RF_AUTO_FD int file = strcmp(path, "-") == 0 ? rf_fd_copy(STDIN_FILENO, 3)
						     : rf_fd_open(path, O_RDONLY | O_NOCTTY);
	struct stat st;

	if (file < 0 || fstat(file, &st) < 0)
		return rf_fail(err, -errno, "open %.200s", path);
	if (S_ISDIR(st.st_mode)) {
		rf_fail(err, -EISDIR, "%.200s", path);
		return rf_fail_hint(err, "files are copied one by one");
	}
	*ret_mode = S_ISREG(st.st_mode) ? st.st_mode : 0644;
	return rf_fd_take(&file);
}

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* True if `path` is a folder of the workspace, or written as one. */
static bool is_folder(const struct rf_stack *stack, const char *path)
{
	struct rf_merged folder = { 0 };
	struct rf_merged_entry entry;
	char name[NAME_MAX + 1];
	size_t len = strlen(path);
	bool is_one = len == 0 || path[len - 1] == '/';

	if (!is_one && rf_merged_find(stack, path, &folder, name) == 0)
		is_one = !name[0] ||
			 (rf_merged_look(&folder, name, &entry) == 0 && S_ISDIR(entry.st.st_mode));
	rf_merged_done(&folder);
	return is_one;
}

/* A path in a folder is the name of what is copied there, too. */
static char *full_path(bool is_in_folder, const char *folder, const char *from)
{
	char *path = NULL;

	if (!is_in_folder)
		return strdup(folder);
	return asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", last_of(from)) < 0 ? NULL
											: path;
}

static int copy_in(const struct rf_worksite *site, const char *workspace, const char *from,
		   const char *to, struct rf_err *err)
{
	mode_t mode = 0;
	RF_AUTO_FD int source = open_source(from, &mode, err);
	struct rf_worksite there = *site;
	char name[RF_LEDGER_NAME], command[256];
	struct rf_edit edit;
	char *path;
	int code;

	there.workspace = workspace ? workspace : site->workspace;
	if (source < 0 || rf_worksite_name(&there, name, err) < 0 ||
	    rf_edit_open(name, &edit, err) < 0)
		return err->code;
	edit.most_bytes = site->max_bytes ? site->max_bytes : rf_limit_table[RF_LIMIT_DISK].for_run;
	path = full_path(strcmp(from, "-") != 0 && is_folder(&edit.stack, to), to, from);
	code = path ? rf_edit_put(&edit, path, source, mode, err)
		    : rf_fail(err, -ENOMEM, "copy %.200s", from);
	if (code == -EDQUOT)
		rf_fail_hint(err, "a box may write as much by default; --max-bytes allows more");
	snprintf(command, sizeof(command), "file cp %s :%s", from, path ? path : "");
	if (code == 0)
		code = keep(&edit, command, err);
	free(path);
	rf_edit_close(&edit);
	return code;
}

/* Writes beside the place and moves it there: a link in the place is replaced and not followed. */
static int write_out(const struct rf_merged *folder, const char *name, const char *to, mode_t mode)
{
	char *temp = NULL;
	RF_AUTO_FD int file = -1;
	int code;

	if (asprintf(&temp, "%.*s.ringfort-XXXXXX", (int)(last_of(to) - to), to) < 0)
		return -ENOMEM;
	file = mkostemp(temp, O_CLOEXEC);
	code = file < 0 ? -errno : copy_out(folder, name, file);
	if (code == 0 && fchmod(file, mode & 0777) < 0)
		code = -errno;
	if (code == 0 && rename(temp, to) < 0)
		code = -errno;
	if (code < 0 && file >= 0)
		unlink(temp);
	free(temp);
	return code;
}

static int copy_from(const struct rf_worksite *site, const char *workspace, const char *from,
		     const char *to, struct rf_err *err)
{
	struct rf_worksite there = *site;
	struct rf_merged folder = { 0 };
	struct rf_merged_entry entry = { 0 };
	char name[NAME_MAX + 1], *path;
	struct view view;
	struct stat st;
	int code;

	there.workspace = workspace ? workspace : site->workspace;
	if (open_view(&there, &view, err) < 0) {
		view_done(&view);
		return err->code;
	}
	code = rf_merged_find(&view.stack, from, &folder, name);
	if (code == 0)
		code = name[0] ? rf_merged_look(&folder, name, &entry) : -EINVAL;
	if (code == 0 && !S_ISREG(entry.st.st_mode))
		code = -EINVAL;
	path = full_path(stat(to, &st) == 0 && S_ISDIR(st.st_mode), to, from);
	if (code < 0)
		fail_at(err, code, from);
	else if (strcmp(to, "-") == 0)
		code = copy_out(&folder, name, -1);
	else
		code = path ? write_out(&folder, name, path, entry.st.st_mode) : -ENOMEM;
	if (code < 0 && !err->code)
		rf_fail(err, code, "copy to %.200s", to);
	free(path);
	rf_merged_done(&folder);
	view_done(&view);
	return code;
}

/* Takes "[NAME]:PATH" apart.  False for a path of this machine: `./a:b` is one. */
static bool is_inside(const char *word, char name[RF_LEDGER_NAME], const char **ret_path)
{
	size_t len = strcspn(word, ":/");

	if (word[len] != ':' || len >= RF_LEDGER_NAME)
		return false;
	memcpy(name, word, len);
	name[len] = '\0';
	*ret_path = word + len + 1;
	return len == 0 || rf_ledger_is_name(name);
}

static int cp(const struct rf_worksite *site, struct rf_err *err)
{
	char names[2][RF_LEDGER_NAME];
	const char *paths[2] = { NULL, NULL };
	bool inside[2] = { false, false };

	for (int i = 0; i < site->count; i++)
		inside[i] = is_inside(site->words[i], names[i], &paths[i]);
	if (site->count != 2 || inside[0] == inside[1]) {
		rf_fail_say(err, -EINVAL, "cp needs a path of this machine and one of a workspace");
		return rf_fail_hint(err, "a colon stands before the latter: ringfort file cp "
					 "./notes :docs/notes");
	}
	if (inside[1] && site->at) {
		rf_fail_say(err, -EINVAL, "only where a workspace is can it be written to");
		return rf_fail_hint(err, "without --at; `ringfort undo` goes to another point");
	}
	if (inside[0])
		return copy_from(site, names[0][0] ? names[0] : NULL, paths[0], site->words[1],
				 err);
	return copy_in(site, names[1][0] ? names[1] : NULL, site->words[0], paths[1], err);
}

static int rm(const struct rf_worksite *site, struct rf_err *err)
{
	char name[RF_LEDGER_NAME], command[256];
	struct rf_edit edit;
	int code = 0;

	if (site->count == 0) {
		rf_fail_say(err, -EINVAL, "which file?");
		return rf_fail_hint(err, "for example: ringfort file rm -w fix-bug core");
	}
	if (rf_worksite_name(site, name, err) < 0 || rf_edit_open(name, &edit, err) < 0)
		return err->code;
	for (int i = 0; i < site->count && code == 0; i++)
		code = rf_edit_remove(&edit, site->words[i], site->is_recursive, err);
	snprintf(command, sizeof(command), "file rm %s%s", site->words[0],
		 site->count > 1 ? " ..." : "");
	if (code == 0)
		code = keep(&edit, command, err);
	rf_edit_close(&edit);
	return code;
}

/* ------------------------------------------------------------- the commands */

int rf_cmd_file_cat(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_FILE_CAT, RF_WORKSITE_WORDS, cat, argc, argv);
}

int rf_cmd_file_ls(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_FILE_LS, RF_WORKSITE_WORDS, ls, argc, argv);
}

int rf_cmd_file_stat(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_FILE_STAT, RF_WORKSITE_WORDS, stat_it, argc, argv);
}

int rf_cmd_file_find(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_FILE_FIND, 1, find, argc, argv);
}

int rf_cmd_file_cp(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_FILE_CP, 2, cp, argc, argv);
}

int rf_cmd_file_rm(int argc, char **argv)
{
	return rf_worksite_run(RF_CMD_FILE_RM, RF_WORKSITE_WORDS, rm, argc, argv);
}
