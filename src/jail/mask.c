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
 *
 * A mount point holds its file only against this mount namespace.  Who renames another file over it outside, as
 * editors do to save, takes the mount away with the old file (detach_mounts() in the kernel); who renames the file or a
 * folder above it takes the mount along to the new name.  Neither can be prevented from here.  So the launcher looks
 * through the box's root before anything is started in it: what stands under a hidden name must be a cover, or nothing.
 * The same goes for a place within a tree of the host: without its mount the box would have the tree's rights there.
 */
#include "jail/mask.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "jail/mount.h"
#include "jail/source.h"
#include "jail/wall.h"

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

/* Puts a detached mount over exactly what `at` is; -ESTALE if that was removed or replaced since it was looked up. */
static int move_onto(int mnt, int at)
{
	if (rf_kernel_move_mount(mnt, "", at, "",
				 RF_MOVE_MOUNT_F_EMPTY_PATH | RF_MOVE_MOUNT_T_EMPTY_PATH) == 0)
		return 0;
	return errno == ENOENT ? -ESTALE : -errno;
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
	if (code != -ELOOP && code != -ENOTDIR && code != -ESTALE)
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
	return code < 0 ? fail_changed(path, code, err) : 0;
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

/* ------------------------------------------------------------- before a start */

/* Which files the covers are: of this box's own root, so that no other file can be taken for one. */
struct cover_ids {
	dev_t dev;
	ino_t file, folder;
};

static int fail_replaced(const char *path, const char *what, struct rf_err *err)
{
	rf_fail_say(err, -ESTALE, "%.150s was replaced since the box was made, and %s", path, what);
	return rf_fail_hint(err, "try again: a new box has it as it is now");
}

static int find_covers(int root, struct cover_ids *ret_ids, struct rf_err *err)
{
	struct stat file, folder;

	if (fstatat(root, &RF_OWN_DIR "/file"[1], &file, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(root, &RF_OWN_DIR "/folder"[1], &folder, AT_SYMLINK_NOFOLLOW) < 0)
		return rf_fail(err, -errno, "look at the covers in " RF_OWN_DIR);
	*ret_ids = (struct cover_ids){ file.st_dev, file.st_ino, folder.st_ino };
	return 0;
}

static int check_cover(const struct rf_box *box, int root, const struct cover_ids *ids,
		       const char *path, struct rf_err *err)
{
	RF_AUTO_FD int at = rf_path_open_beneath(root, path, O_PATH);
	struct stat st;

	/* What is not there, or in no reach of this user's, shows nothing: see cover(). */
	if (is_out_of_reach(box, at) || at == -ENOTDIR)
		return 0;
	if (at < 0 && at != -ELOOP) /* a link is no cover */
		return rf_fail(err, at, "look at %s in the box", path);
	if (at < 0 || fstat(at, &st) < 0 || st.st_dev != ids->dev ||
	    (st.st_ino != ids->file && st.st_ino != ids->folder))
		return fail_replaced(path, "would no longer be hidden", err);
	return 0;
}

/* True for a place whose mount point is a name in a tree of the host, which others may change. */
static bool is_within_tree(const struct rf_plan *plan, const struct rf_place *place)
{
	const struct rf_place *around = NULL;

	if ((place->kind != RF_PLACE_HOST || place->is_optional) && place->kind != RF_PLACE_TEXT &&
	    place->kind != RF_PLACE_DATA)
		return false;
	for (const struct rf_place *p = plan->places; p < place; p++)
		if (p->kind != RF_PLACE_HIDE && rf_path_is_beneath(place->path, p->path) &&
		    (!around || strlen(p->path) >= strlen(around->path)))
			around = p;
	return around && around->kind == RF_PLACE_HOST && rf_source_is_named(around);
}

static bool is_hidden(const struct rf_hidden_list *hidden, const char *path)
{
	for (size_t i = 0; i < hidden->count; i++)
		if (rf_path_is_beneath(path, hidden->items[i].path))
			return true;
	return false;
}

/* Looks whether something is mounted at `path`, unless a cover lies over it. */
static int check_mount(const struct rf_box *box, int root, const char *path, const char *what,
		       struct rf_err *err)
{
	const char *name = strrchr(path, '/') + 1;
	RF_AUTO_FD int parent = -1, at = -1;
	char folder[PATH_MAX];

	if (is_hidden(&box->hidden, path))
		return 0;
	if (snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path) >=
	    (int)sizeof(folder))
		return rf_fail(err, -ENAMETOOLONG, "look at %.80s in the box", path);
	parent = rf_path_open_beneath(root, folder, O_PATH | O_DIRECTORY);
	if (parent == -EACCES && !box->is_root)
		return 0;
	/* A way that may not cross into another mount ends where one is, and else leads to the tree's own file. */
	at = parent < 0 ? parent : rf_path_open_within(parent, name, O_PATH);
	return at == -EXDEV ? 0 : fail_replaced(path, what, err);
}

static int check_mounts(const struct rf_box *box, int root, struct rf_err *err)
{
	const struct rf_program_set *set = box->programs;
	const struct rf_plan *plan = box->plan;

	for (size_t i = 0; i < plan->place_count; i++)
		if (is_within_tree(plan, &plan->places[i]) &&
		    check_mount(box, root, plan->places[i].path,
				"what the policy puts there is gone", err) < 0)
			return err->code;
	for (size_t i = 0; set && i < set->folder_count; i++)
		if (check_mount(box, root, set->folders[i],
				"would show programs that `commands` does not name", err) < 0)
			return err->code;
	return 0;
}

bool rf_mask_is_needed(const struct rf_box *box)
{
	const struct rf_plan *plan = box->plan;

	if (box->is_lesser || rf_wall_is_left_out("mounts"))
		return false; /* it has none */
	for (size_t i = 0; i < plan->place_count; i++)
		if (is_within_tree(plan, &plan->places[i]))
			return true;
	return box->hidden.count > 0 || box->programs;
}

int rf_mask_check(const struct rf_box *box, struct rf_err *err)
{
	struct cover_ids ids = { 0 };
	RF_AUTO_FD int root = -1;
	char path[32];

	if (!rf_mask_is_needed(box))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)box->pid);
	root = rf_fd_open(path, O_PATH | O_DIRECTORY);
	if (root < 0)
		return rf_fail(err, -errno, "look through the root of the box");
	if (box->hidden.count > 0 && find_covers(root, &ids, err) < 0)
		return err->code;
	for (size_t i = 0; i < box->hidden.count; i++)
		if (check_cover(box, root, &ids, box->hidden.items[i].path, err) < 0)
			return err->code;
	return check_mounts(box, root, err);
}
