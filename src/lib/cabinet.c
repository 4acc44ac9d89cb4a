/*
 * The files of a workspace, for libringfort.
 *
 * The same code as behind `ringfort file`: each name is opened beneath the folder before it, without following links.  Nothing
 * is asked of a warden, nothing is started, and this process stays who it is: what its owner closed to himself (rf_closed_allow)
 * stays closed here.
 */
#include <errno.h>
#include <ringfort/ringfort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audit/moves.h"
#include "base/fd.h"
#include "lib/fort.h"
#include "policy/limit.h"
#include "workspace/edit.h"
#include "workspace/merged.h"
#include "workspace/search.h"

#define PERMISSIONS 07777
#define LEAST       sizeof(struct ringfort_file) /* what the first header has */

/* ------------------------------------------------------------- reading */

/* A workspace at one of its points, held and not locked. */
static int open_stack(const char *workspace, const char *at, struct rf_stack *ret_stack,
		      struct rf_err *err)
{
	struct rf_workspace kept;
	uint32_t point;
	int code;

	*ret_stack = (struct rf_stack){ 0 };
	if (!workspace)
		return rf_fail_say(err, -EINVAL, "which workspace?");
	if (rf_workspace_open(workspace, &kept, err) < 0)
		return err->code;
	point = kept.ledger.head;
	code = at ? rf_ledger_find_point(&kept.ledger, at, &point, err) : 0;
	if (code == 0)
		code = rf_workspace_open_stack(&kept, point, ret_stack, err);
	if (code == 0)
		code = rf_stack_hold(ret_stack, err);
	rf_workspace_close(&kept);
	return code;
}

static int fail_at(struct rf_err *err, int code, const char *path)
{
	if (err->code)
		return err->code;
	rf_fail(err, code, "%.200s", path);
	if (code == -EINVAL)
		return rf_fail_hint(err, "a path counts from the workspace's top, and has no `..` "
					 "in it; only files have content");
	if (code == -ELOOP)
		return rf_fail_hint(err, "it leads through a link, and links are not followed");
	return code;
}

static enum ringfort_file_type type_of(mode_t mode)
{
	if (S_ISREG(mode))
		return RINGFORT_FILE;
	if (S_ISDIR(mode))
		return RINGFORT_FOLDER;
	return S_ISLNK(mode) ? RINGFORT_LINK : RINGFORT_OTHER;
}

static void describe(struct ringfort_file *file, const char *path, const struct stat *st)
{
	*file = (struct ringfort_file){
		.size = sizeof(*file),
		.path = path,
		.type = type_of(st->st_mode),
		.mode = st->st_mode & PERMISSIONS,
		.bytes = (uint64_t)st->st_size,
		.modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	};
}

/* What a name in a folder is; `path` is how it is told. */
static int look(const struct rf_merged *in, const char *name, const char *path,
		struct ringfort_file *file)
{
	struct rf_merged_entry entry;
	int code = rf_merged_look(in, name, &entry);
	ssize_t len;

	if (code < 0)
		return code;
	describe(file, path, &entry.st);
	len = file->type == RINGFORT_LINK
		      ? readlinkat(in->dirs[entry.at], name, file->target, sizeof(file->target) - 1)
		      : 0;
	file->target[len > 0 ? len : 0] = '\0';
	return 0;
}

int ringfort_file_open(const char *workspace, const char *at, const char *path,
		       struct ringfort_error *error)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_merged folder = { 0 };
	char name[NAME_MAX + 1];
	struct rf_stack stack;
	int code = open_stack(workspace, at, &stack, &err), file = -1;

	if (code == 0)
		code = path ? rf_merged_find(&stack, path, &folder, name) : -EINVAL;
	if (code == 0) {
		file = name[0] ? rf_merged_open(&folder, name) : -EINVAL;
		code = file < 0 ? file : 0;
	}
	rf_merged_done(&folder);
	rf_stack_done(&stack);
	if (code == 0)
		return file;
	fail_at(&err, code, path ? path : "");
	return rf_fort_tell(error, &err);
}

int ringfort_file_stat(const char *workspace, const char *at, const char *path,
		       struct ringfort_file *ret_file, struct ringfort_error *error)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_merged folder = { 0 };
	char name[NAME_MAX + 1];
	struct ringfort_file file;
	struct rf_stack stack;
	int code = open_stack(workspace, at, &stack, &err);

	if (code == 0)
		code = path && ret_file && ret_file->size >= LEAST
			       ? rf_merged_find(&stack, path, &folder, name)
			       : -EINVAL;
	if (code == 0)
		code = look(&folder, name[0] ? name : ".", path, &file);
	rf_merged_done(&folder);
	rf_stack_done(&stack);
	if (code < 0) {
		fail_at(&err, code, path ? path : "");
		return rf_fort_tell(error, &err);
	}
	file.size = ret_file->size < sizeof(file) ? ret_file->size : sizeof(file);
	memcpy(ret_file, &file, file.size);
	return 0;
}

/* Tells each name of a folder.  Returns how many, what the function returned, or a negative errno. */
static int tell_folder(const struct rf_merged *folder, ringfort_file_fn *fn, void *data)
{
	struct rf_merged_names names;
	struct ringfort_file file;
	int code = rf_merged_list(folder, &names), count = 0;

	for (size_t i = 0; i < names.count && code == 0; i++) {
		code = look(folder, names.items[i], names.items[i], &file);
		if (code == -ENOENT) { /* of the directory, and gone meanwhile */
			code = 0;
			continue;
		}
		if (code == 0)
			code = fn(data, &file);
		count++;
	}
	rf_merged_names_done(&names);
	return code ? code : count;
}

int ringfort_file_list(const char *workspace, const char *at, const char *path,
		       ringfort_file_fn *fn, void *data, struct ringfort_error *error)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_merged folder = { 0 }, inner = { 0 };
	char name[NAME_MAX + 1];
	struct rf_stack stack;
	int code = open_stack(workspace, at, &stack, &err);

	if (code == 0)
		code = fn && path ? rf_merged_find(&stack, path, &folder, name) : -EINVAL;
	if (code == 0 && name[0])
		code = rf_merged_enter(&folder, name, &inner);
	if (code == 0)
		code = tell_folder(name[0] ? &inner : &folder, fn, data);
	rf_merged_done(&inner);
	rf_merged_done(&folder);
	rf_stack_done(&stack);
	if (code >= 0)
		return code;
	fail_at(&err, code, path ? path : "");
	return rf_fort_tell(error, &err);
}

/* A search under way. */
struct finding {
	ringfort_file_fn *fn;
	void *data;
	int count;
};

static int on_hit(void *data, const struct rf_search_hit *hit)
{
	struct finding *finding = data;
	struct ringfort_file file;

	describe(&file, hit->path, hit->st);
	file.line = hit->line;
	file.text = hit->text;
	file.text_len = hit->text ? hit->len : 0;
	finding->count++;
	return finding->fn(finding->data, &file);
}

int ringfort_file_search(const char *workspace, const char *at, const char *path, const char *name,
			 const char *content, ringfort_file_fn *fn, void *data,
			 struct ringfort_error *error)
{
	const struct rf_search search = { name, content && *content ? content : NULL };
	struct finding finding = { fn, data, 0 };
	struct rf_err err = RF_ERR_INIT;
	struct rf_stack stack;
	size_t skipped;
	int code = open_stack(workspace, at, &stack, &err);

	if (code == 0 && (!fn || !path))
		code = rf_fail_say(&err, -EINVAL, "a search needs a path and a function");
	if (code == 0)
		code = rf_search(&stack, path, &search, on_hit, &finding, &skipped, &err);
	rf_stack_done(&stack);
	if (code < 0) {
		fail_at(&err, code, path ? path : "");
		return rf_fort_tell(error, &err);
	}
	return code ? code : finding.count;
}

/* ------------------------------------------------------------- writing */

/* What was done becomes a point, and is told to the watcher, if one stands. */
static int keep(struct rf_edit *edit, const char *deed, const char *path, struct rf_err *err)
{
	struct rf_move move = { .kind = RF_AUDIT_CHECKPOINT,
				.workspace = edit->visit.kept.ledger.name,
				.by = "hand" };
	struct rf_delta delta = { 0 };
	struct rf_err ignored;
	char command[256];
	int code;

	snprintf(command, sizeof(command), "library: %s %s", deed, path);
	code = rf_edit_keep(edit, command, &delta, err);
	for (size_t i = 0; i < delta.count; i++) {
		move.added += delta.changes[i].kind == RF_CHANGE_ADDED;
		move.deleted += delta.changes[i].kind == RF_CHANGE_DELETED;
	}
	move.modified = delta.count - move.added - move.deleted;
	move.point = edit->visit.kept.ledger.head;
	if (code == 0 && delta.count > 0)
		rf_moves_tell(&move, 1, &ignored); /* it is done, recorded or not */
	rf_delta_done(&delta);
	return code;
}

int ringfort_file_put(const char *workspace, const char *path, int source, uint64_t most,
		      unsigned mode, struct ringfort_error *error)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_edit edit;

	if (!workspace || !path || source < 0) {
		rf_fail_say(&err, -EINVAL, "a workspace, a path and a descriptor are needed");
		return rf_fort_tell(error, &err);
	}
	if (rf_edit_open(workspace, &edit, &err) < 0)
		return rf_fort_tell(error, &err);
	edit.most_bytes = most ? most : rf_limit_table[RF_LIMIT_DISK].for_run;
	if (rf_edit_put(&edit, path, source, mode, &err) == 0)
		keep(&edit, "write", path, &err);
	rf_edit_close(&edit);
	return err.code ? rf_fort_tell(error, &err) : 0;
}

int ringfort_file_write(const char *workspace, const char *path, const void *bytes, size_t len,
			unsigned mode, struct ringfort_error *error)
{
	RF_AUTO_FD int file = memfd_create("ringfort", MFD_CLOEXEC);
	struct rf_err err = RF_ERR_INIT;
	int code = file < 0 ? -errno : bytes || len == 0 ? 0 : -EINVAL;

	if (code == 0 && len > 0)
		code = rf_fd_write(file, bytes, len);
	if (code == 0 && lseek(file, 0, SEEK_SET) < 0)
		code = -errno;
	if (code == 0)
		return ringfort_file_put(workspace, path, file, len ? len : 1, mode, error);
	rf_fail(&err, code, "take what is to be written");
	return rf_fort_tell(error, &err);
}

int ringfort_file_remove(const char *workspace, const char *path, int with_content,
			 struct ringfort_error *error)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_edit edit;

	if (!workspace || !path) {
		rf_fail_say(&err, -EINVAL, "a workspace and a path are needed");
		return rf_fort_tell(error, &err);
	}
	if (rf_edit_open(workspace, &edit, &err) < 0)
		return rf_fort_tell(error, &err);
	if (rf_edit_remove(&edit, path, with_content, &err) == 0)
		keep(&edit, "remove", path, &err);
	rf_edit_close(&edit);
	return err.code ? rf_fort_tell(error, &err) : 0;
}
