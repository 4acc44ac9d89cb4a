/*
 * Covers what a box must not see (jail/hidden.h).
 *
 * A file is covered by an empty one of ours and a folder by an empty one, both without any
 * permission and on a read-only mount, so that opening them gives EACCES and chmod EROFS.  A mount
 * point can't be removed, renamed or replaced from inside; the folders between it and the top of a
 * writable tree become mount points too, or one of them could be renamed and another put in its place.
 *
 * Other processes of the host may change the tree meanwhile.  So each name is looked up once, without
 * following links, and what is found there is what gets covered, by its descriptor.  A name that is
 * gone needs no cover; a link where a folder was is an error.
 */
#include "jail/mask.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "jail/mount.h"

#define ATTRS                                                                                      \
	(RF_MOUNT_ATTR_RDONLY | RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NODEV | RF_MOUNT_ATTR_NOEXEC)

/* Our two covers, in the folder of the root that is ours. */
struct covers {
	int folder;
};

static int clone_at(int dir, const char *name, unsigned flags)
{
	int mnt = rf_kernel_open_tree(dir, name, RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | flags);

	return mnt < 0 ? -errno : mnt;
}

/* Puts a detached mount over exactly what `at` is. */
static int move_onto(int mnt, int at)
{
	return rf_kernel_move_mount(mnt, "", at, "",
				    RF_MOVE_MOUNT_F_EMPTY_PATH | RF_MOVE_MOUNT_T_EMPTY_PATH) < 0
		       ? -errno
		       : 0;
}

/* Makes one cover a read-only mount of its own, so that its clones need nothing more. */
static int lock(int folder, const char *name)
{
	static const struct rf_kernel_mount_attr attr = { .attr_set = ATTRS };
	RF_AUTO_FD int mnt = clone_at(folder, name, AT_SYMLINK_NOFOLLOW);
	RF_AUTO_FD int at = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (mnt < 0)
		return mnt;
	if (at < 0 || rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH, &attr) < 0)
		return -errno;
	return move_onto(mnt, at);
}

static int make_covers(int root, struct covers *ret_covers, struct rf_err *err)
{
	RF_AUTO_FD int folder = rf_path_open_beneath(root, RF_OWN_DIR, O_PATH | O_DIRECTORY);
	int code;

	if (folder < 0)
		return rf_fail(err, folder, "open " RF_OWN_DIR);
	if (mkdirat(folder, "folder", 0) < 0 || mknodat(folder, "file", S_IFREG, 0) < 0)
		return rf_fail(err, -errno, "make covers");
	code = lock(folder, "folder");
	if (code == 0)
		code = lock(folder, "file");
	if (code < 0)
		return rf_fail(err, code, "lock covers");
	ret_covers->folder = rf_fd_take(&folder);
	return 0;
}

static int fail_changed(const char *path, int code, struct rf_err *err)
{
	rf_fail(err, code, "hide %s", path);
	if (code != -ELOOP && code != -ENOTDIR)
		return code;
	return rf_fail_hint(err, "it was changed while the box was being made; try again");
}

/* Gone, or closed to whoever raises an ordinary user's walls and may go wherever that user can. */
static bool is_out_of_reach(const struct rf_box *box, int code)
{
	return code == -ENOENT || (code == -EACCES && !box->is_root);
}

/* Makes the folder a mount point that shows what it shows. */
static int pin(const struct rf_box *box, int root, const char *path, struct rf_err *err)
{
	RF_AUTO_FD int dir = rf_path_open_beneath(root, path, O_PATH | O_DIRECTORY);
	RF_AUTO_FD int mnt = -1;
	int code;

	if (is_out_of_reach(box, dir))
		return 0;
	if (dir < 0)
		return fail_changed(path, dir, err);
	mnt = clone_at(dir, "", RF_AT_RECURSIVE | AT_EMPTY_PATH);
	code = mnt < 0 ? mnt : move_onto(mnt, dir);
	return code < 0 ? rf_fail(err, code, "pin %s", path) : 0;
}

/*
 * Pins the folders above `path` down to the top of its tree, but for those that `before` has in
 * common with it: in sorted order these have been pinned already.
 */
static int pin_parents(const struct rf_box *box, int root, const char *path, const char *top,
		       const char *before, struct rf_err *err)
{
	char folder[PATH_MAX];

	if (strlen(path) >= sizeof(folder))
		return rf_fail(err, -ENAMETOOLONG, "pin the folders above %.80s", path);
	for (const char *at = path + strlen(top) + 1; (at = strchr(at, '/')); at++) {
		size_t len = (size_t)(at - path);

		if (strncmp(path, before, len + 1) == 0)
			continue;
		memcpy(folder, path, len);
		folder[len] = '\0';
		if (pin(box, root, folder, err) < 0)
			return err->code;
	}
	return 0;
}

static int cover(const struct rf_box *box, int root, const struct covers *covers, const char *path,
		 struct rf_err *err)
{
	RF_AUTO_FD int at = rf_path_open_beneath(root, path, O_PATH);
	RF_AUTO_FD int mnt = -1;
	struct stat st;
	int code;

	if (is_out_of_reach(box, at))
		return 0;
	if (at < 0)
		return fail_changed(path, at, err);
	if (fstat(at, &st) < 0)
		return rf_fail(err, -errno, "hide %s", path);
	mnt = clone_at(covers->folder, S_ISDIR(st.st_mode) ? "folder" : "file",
		       AT_SYMLINK_NOFOLLOW);
	code = mnt < 0 ? mnt : move_onto(mnt, at);
	return code < 0 ? rf_fail(err, code, "hide %s", path) : 0;
}

/* The place of a mask that the plan itself put: the tree that it lies in. */
static const struct rf_place *tree_of(const struct rf_box *box, const struct rf_hidden *item)
{
	const struct rf_plan *plan = box->plan;
	const struct rf_place *place = &plan->places[item->place], *found = place;

	if (place->kind != RF_PLACE_HIDE)
		return place;
	for (const struct rf_place *p = plan->places; p < plan->places + plan->place_count; p++)
		if (p->kind == RF_PLACE_HOST && rf_path_is_beneath(item->path, p->path))
			found = p;
	return found;
}

int rf_mask_cover(const struct rf_box *box, int root, struct rf_err *err)
{
	const struct rf_hidden_list *hidden = &box->hidden;
	struct covers covers = { -1 };
	const char *before = "";
	int code = 0;

	if (hidden->count == 0)
		return 0;
	if (make_covers(root, &covers, err) < 0)
		return err->code;
	for (size_t i = 0; i < hidden->count && code == 0; i++) {
		const struct rf_hidden *item = &hidden->items[i];
		const struct rf_place *tree = tree_of(box, item);

		if (tree->rights & RF_RIGHT_WRITE) {
			code = pin_parents(box, root, item->path, tree->path, before, err);
			before = item->path;
		}
		if (code == 0)
			code = cover(box, root, &covers, item->path, err);
	}
	rf_fd_done(&covers.folder);
	return code;
}
