/* Changes to a workspace from outside: see edit.h. */
#include "workspace/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/clear.h"
#include "workspace/copy.h"
#include "workspace/merged.h"

#define OPAQUE      "user.overlay.opaque"
#define PIECE       ((size_t)256 << 10)
#define PERMITTED   0777
#define FOLDER_MODE 0755 /* of one that is made on the way */

/* ------------------------------------------------------------- where it goes */

/* A place for something: the folder of the workspace, the same in the layer that is edited, and the name in both. */
struct place {
	struct rf_merged folder;
	int upper;
	char name[NAME_MAX + 1];
};

static void place_done(struct place *place)
{
	rf_merged_done(&place->folder);
	rf_fd_done(&place->upper);
}

static int fail_at(struct rf_err *err, int code, const char *path)
{
	static const struct {
		int code;
		const char *hint;
	} hints[] = {
		{ -EINVAL, "a path counts from the workspace's top, and has no `..` in it" },
		{ -ELOOP, "it is a link, or leads through one, and links are not followed" },
		{ -ENOTDIR, "a part of the path is no folder" },
		{ -EISDIR, "it is a folder" },
		{ -ENOTEMPTY,
		  "it is a folder with something in it: --recursive takes that away too" },
		{ -EXDEV, "another file system is mounted there" },
		{ -EEXIST, "something is there already" },
	};

	rf_fail(err, code, "%.200s", path);
	for (size_t i = 0; i < RF_LEN(hints); i++)
		if (hints[i].code == code)
			rf_fail_hint(err, "%s", hints[i].hint);
	return code;
}

/* What is new belongs to whom the directory belongs to. */
static int give_to_owner(const struct rf_edit *edit, int file)
{
	struct stat top;

	if (geteuid() != 0)
		return 0;
	if (fstat(edit->stack.layers[edit->stack.count - 1], &top) < 0 ||
	    fchown(file, top.st_uid, top.st_gid) < 0)
		return -errno;
	return 0;
}

/* Makes a folder that is new in the layer; one that was taken away before does not show through. */
static int make_folder(struct rf_edit *edit, int upper, const char *name, mode_t mode)
{
	RF_AUTO_FD int dir = -1;
	bool was_removed = unlinkat(upper, name, 0) == 0;
	int code;

	if (mkdirat(upper, name, 0700) < 0)
		return -errno;
	dir = openat(upper, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || (was_removed && fsetxattr(dir, OPAQUE, "y", 1, 0) < 0))
		return -errno;
	code = give_to_owner(edit, dir);
	return code == 0 && fchmod(dir, mode & PERMITTED) < 0 ? -errno : code;
}

/* Makes sure that the layer has the folder `name` of `in`, as the workspace shows it or as a new one. */
static int have_folder(struct rf_edit *edit, const struct rf_merged *in, int upper,
		       const char *name)
{
	struct rf_merged_entry entry;
	int code = rf_merged_look(in, name, &entry);

	if (code == -ENOENT)
		return make_folder(edit, upper, name, FOLDER_MODE);
	if (code < 0)
		return code;
	if (!S_ISDIR(entry.st.st_mode))
		return S_ISLNK(entry.st.st_mode) ? -ELOOP : -ENOTDIR;
	if (in->which[entry.at] == 0)
		return 0; /* it has it */
	return rf_copy(in->dirs[entry.at], name, upper, name);
}

/* Opens the place of `path`, with the folders on the way to it in the layer. */
static int open_place(struct rf_edit *edit, const char *path, struct place *ret_place)
{
	char next[NAME_MAX + 1];
	int more;

	*ret_place = (struct place){ .upper = rf_fd_copy(edit->stack.layers[0], 3) };
	if (*path == '/')
		return -EINVAL;
	more = ret_place->upper < 0 ? -EMFILE
				    : rf_merged_open_top(&edit->stack, &ret_place->folder);
	if (more == 0)
		more = rf_merged_next(&path, ret_place->name);
	if (more == 0)
		return -EISDIR; /* the top */
	while (more > 0 && (more = rf_merged_next(&path, next)) > 0) {
		struct rf_merged below = { 0 };
		int code = have_folder(edit, &ret_place->folder, ret_place->upper, ret_place->name),
		    upper;

		if (code < 0)
			return code;
		upper = openat(ret_place->upper, ret_place->name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (upper < 0)
			return -errno;
		close(ret_place->upper);
		ret_place->upper = upper;
		code = rf_merged_enter(&ret_place->folder, ret_place->name, &below);
		rf_merged_done(&ret_place->folder);
		ret_place->folder = below;
		if (code < 0)
			return code;
		memcpy(ret_place->name, next, sizeof(next));
	}
	return more;
}

/* ------------------------------------------------------------- putting */

static int put(struct rf_edit *edit, const struct place *place, int source, mode_t mode)
{
	struct rf_merged_entry old;
	RF_AUTO_FD int file = -1;
	int code = rf_merged_look(&place->folder, place->name, &old);
	bool is_there = code == 0;

	if (code < 0 && code != -ENOENT)
		return code;
	if (is_there && !S_ISREG(old.st.st_mode))
		return S_ISDIR(old.st.st_mode)   ? -EISDIR
		       : S_ISLNK(old.st.st_mode) ? -ELOOP
						 : -EEXIST;
	if (unlinkat(place->upper, place->name, 0) < 0 && errno != ENOENT)
		return -errno;
	file = openat(place->upper, place->name,
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	code = rf_copy_stream(source, file, edit->most_bytes ? edit->most_bytes : UINT64_MAX);
	if (code == 0)
		code = give_to_owner(edit, file);
	if (code == 0 && is_there && geteuid() == 0 &&
	    fchown(file, old.st.st_uid, old.st.st_gid) < 0)
		code = -errno;
	if (code == 0 && fchmod(file, (is_there ? old.st.st_mode : mode) & PERMITTED) < 0)
		code = -errno;
	return code;
}

int rf_edit_put(struct rf_edit *edit, const char *path, int source, mode_t mode, struct rf_err *err)
{
	struct place place;
	int code = open_place(edit, path, &place);

	if (code == 0)
		code = put(edit, &place, source, mode);
	place_done(&place);
	return code < 0 ? fail_at(err, code, path) : 0;
}

int rf_edit_make_folder(struct rf_edit *edit, const char *path, mode_t mode, struct rf_err *err)
{
	struct rf_merged_entry old;
	struct place place;
	int code = open_place(edit, path, &place);

	if (code == 0) {
		code = rf_merged_look(&place.folder, place.name, &old);
		if (code == -ENOENT)
			code = make_folder(edit, place.upper, place.name, mode);
		else if (code == 0 && !S_ISDIR(old.st.st_mode))
			code = -EEXIST;
	}
	place_done(&place);
	return code < 0 ? fail_at(err, code, path) : 0;
}

static int make_link(const struct rf_edit *edit, const struct place *place, const char *target)
{
	struct rf_merged_entry old;
	struct stat top;
	int code = rf_merged_look(&place->folder, place->name, &old);

	if (code != -ENOENT)
		return code < 0 ? code : -EEXIST;
	unlinkat(place->upper, place->name, 0); /* a whiteout */
	if (symlinkat(target, place->upper, place->name) < 0 ||
	    fstat(edit->stack.layers[edit->stack.count - 1], &top) < 0)
		return -errno;
	if (geteuid() == 0 &&
	    fchownat(place->upper, place->name, top.st_uid, top.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

int rf_edit_make_link(struct rf_edit *edit, const char *path, const char *target,
		      struct rf_err *err)
{
	struct place place;
	int code = open_place(edit, path, &place);

	if (code == 0)
		code = make_link(edit, &place, target);
	place_done(&place);
	return code < 0 ? fail_at(err, code, path) : 0;
}

/* ------------------------------------------------------------- taking away */

static int is_empty(const struct rf_merged *in, const char *name)
{
	struct rf_merged_names names = { 0 };
	struct rf_merged folder;
	int code = rf_merged_enter(in, name, &folder);

	if (code == 0)
		code = rf_merged_list(&folder, &names);
	if (code == 0)
		code = names.count == 0;
	rf_merged_names_done(&names);
	rf_merged_done(&folder);
	return code;
}

static int take_away(const struct place *place, bool with_content)
{
	struct rf_merged_entry old;
	int code = rf_merged_look(&place->folder, place->name, &old);

	if (code == 0 && S_ISDIR(old.st.st_mode) && !with_content) {
		code = is_empty(&place->folder, place->name);
		code = code == 0 ? -ENOTEMPTY : code > 0 ? 0 : code;
	}
	if (code < 0)
		return code;
	code = rf_clear(place->upper, place->name);
	if (code < 0 && code != -ENOENT)
		return code;
	/* Is there something in a layer beneath that would show now? */
	code = rf_merged_look(&place->folder, place->name, &old);
	if (code == -ENOENT)
		return 0;
	if (code == 0 && mknodat(place->upper, place->name, S_IFCHR | 0600, makedev(0, 0)) < 0)
		return -errno;
	return code;
}

int rf_edit_remove(struct rf_edit *edit, const char *path, bool with_content, struct rf_err *err)
{
	struct rf_merged folder = { 0 };
	struct rf_merged_entry old;
	char name[NAME_MAX + 1];
	struct place place;
	int code = rf_merged_find(&edit->stack, path, &folder, name);

	/* Looked for first: on the way to what is not there no folder is made. */
	if (code == 0)
		code = name[0] ? rf_merged_look(&folder, name, &old) : -EISDIR;
	rf_merged_done(&folder);
	if (code < 0)
		return fail_at(err, code, path);
	code = open_place(edit, path, &place);
	if (code == 0)
		code = take_away(&place, with_content);
	place_done(&place);
	return code < 0 ? fail_at(err, code, path) : 0;
}

/* ------------------------------------------------------------- whatever is there */

/* Makes room: true if what is there is of this type and may stay. */
static int make_room(const struct place *place, mode_t type)
{
	struct rf_merged_entry old;
	int code = rf_merged_look(&place->folder, place->name, &old);

	if (code == -ENOENT)
		return 0;
	if (code < 0)
		return code;
	return (old.st.st_mode & S_IFMT) == type ? 1 : take_away(place, true);
}

static int make_file(struct rf_edit *edit, const struct place *place)
{
	RF_AUTO_FD int file = -1;
	int code = make_room(place, S_IFREG);

	if (code < 0)
		return code;
	if (unlinkat(place->upper, place->name, 0) < 0 && errno != ENOENT)
		return -errno;
	file = openat(place->upper, place->name,
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	code = give_to_owner(edit, file);
	return code < 0 ? code : rf_fd_take(&file);
}

int rf_edit_make_file(struct rf_edit *edit, const char *path, struct rf_err *err)
{
	struct place place;
	int code = open_place(edit, path, &place);

	if (code == 0)
		code = make_file(edit, &place);
	place_done(&place);
	return code < 0 ? fail_at(err, code, path) : code;
}

int rf_edit_open_folder(struct rf_edit *edit, const char *path, struct rf_err *err)
{
	struct place place;
	int code = open_place(edit, path, &place);

	if (code == 0)
		code = make_room(&place, S_IFDIR);
	if (code >= 0)
		code = have_folder(edit, &place.folder, place.upper, place.name);
	if (code == 0) {
		code = openat(place.upper, place.name,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		code = code < 0 ? -errno : code;
	}
	place_done(&place);
	return code < 0 ? fail_at(err, code, path) : code;
}

int rf_edit_clear(struct rf_edit *edit, const char *path, struct rf_err *err)
{
	struct place place;
	int code = open_place(edit, path, &place);

	if (code == 0)
		code = make_room(&place, 0);
	place_done(&place);
	return code < 0 ? fail_at(err, code, path) : 0;
}

/* ------------------------------------------------------------- the whole */

int rf_edit_open(const char *name, struct rf_edit *ret_edit, struct rf_err *err)
{
	*ret_edit = (struct rf_edit){ 0 };
	if (rf_visit_open(name, NULL, &ret_edit->visit, err) < 0)
		return err->code;
	if (rf_visit_begin(&ret_edit->visit, NULL, err) == 0 &&
	    rf_visit_open_stack(&ret_edit->visit, &ret_edit->stack, err) == 0)
		return 0;
	rf_edit_close(ret_edit);
	return err->code;
}

int rf_edit_keep(struct rf_edit *edit, const char *command, struct rf_delta *ret_delta,
		 struct rf_err *err)
{
	const struct rf_visit_note note = { .command = command, .status = "ok" };

	if (rf_visit_changes(&edit->visit, ret_delta, err) < 0)
		return err->code;
	return ret_delta->count > 0 ? rf_visit_keep(&edit->visit, ret_delta, &note, err) : 0;
}

void rf_edit_close(struct rf_edit *edit)
{
	rf_stack_done(&edit->stack);
	rf_visit_close(&edit->visit);
}
