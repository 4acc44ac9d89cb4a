/*
 * The mount wall: a root directory of the box's own.
 *
 * Takes away: every file of the host that the plan does not name.
 * Raised: after the namespaces, while the building privilege is still there.
 * Assumes: a mount namespace of our own.
 * From inside: ENOENT for the host's files, EROFS where the plan gives no writing.
 *
 * The root is one small tmpfs.  The plan's skeleton is made on it; host trees are bound into it; the
 * scratch places are directories of the same tmpfs, bound over themselves, so that they stay
 * writable when the root becomes read-only and share its size limit.  Nothing is ever made in a
 * host tree: a mount point that is not there is an error.  From a mold (mold.h) the root is there
 * already, the same for many boxes; the scratch places are then on a tmpfs of the box's own.  Mounts are built from descriptors with
 * the new mount API, so no name is looked up twice (CVE-2025-31133 and its family).
 */
#include "jail/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "jail/hands.h"
#include "jail/hidden.h"
#include "jail/layered.h"
#include "jail/mask.h"
#include "jail/parts.h"
#include "jail/rack.h"
#include "jail/source.h"
#include "jail/written.h"

#define SAFE      (RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NODEV)
#define EMPTY_DIR RF_OWN_DIR "/empty"

#define SKELETON_BYTES ((size_t)4 << 20) /* of the root, besides the texts */

/* The root under construction. */
struct builder {
	struct rf_box *box;
	int root;               /* the tmpfs */
	int scratch;            /* that of the scratch places, where it is another; or -1 */
	dev_t dev, scratch_dev; /* their devices: what lies on another one is not ours to change */
	/* The directory of the last place, kept open because neighbours follow each other. */
	int parent;
	const char *parent_path; /* the first parent_len bytes name it */
	size_t parent_len;
	bool parent_is_ours;
};

/* ------------------------------------------------------------- small steps */

int rf_mount_new(const char *type, const char *const *options, unsigned attrs)
{
	RF_AUTO_FD int fs = rf_kernel_fsopen(type, RF_FSOPEN_CLOEXEC);
	int mnt;

	if (fs < 0)
		return -errno;
	for (; *options; options += 2)
		if (rf_kernel_fsconfig(fs, RF_FSCONFIG_SET_STRING, options[0], options[1]) < 0)
			return -errno;
	if (rf_kernel_fsconfig(fs, RF_FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		return -errno;
	mnt = rf_kernel_fsmount(fs, RF_FSMOUNT_CLOEXEC, attrs);
	return mnt < 0 ? -errno : mnt;
}

/*
 * Opens directory `path` of the root, making what is missing as long as that is ours to make.
 * Returns a descriptor or a negative errno.
 */
static int make_directory(const struct builder *b, const char *path, size_t len, bool *ret_is_ours)
{
	RF_AUTO_FD int held = -1;
	int at = b->root;
	char name[256];
	bool is_ours = true, is_boxs = false;
	struct stat st = { 0 };

	for (const char *end = path + len; path < end;) {
		size_t n = strcspn(++path, "/"); /* behind the slash */
		int next;

		if (path + n > end)
			n = (size_t)(end - path);
		if (n >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
		if (next < 0 && errno == ENOENT && is_ours && mkdirat(at, name, 0755) == 0) {
			next = openat(at, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
			/* On the way to a place beneath scratch: scratch, too. */
			if (is_boxs && fchownat(at, name, st.st_uid, st.st_gid, 0) < 0)
				return -errno;
		}
		if (next < 0)
			return -errno;
		rf_fd_done(&held);
		held = at = next;
		if (fstat(at, &st) < 0)
			return -errno;
		is_ours = st.st_dev == b->dev || st.st_dev == b->scratch_dev;
		is_boxs = is_ours && st.st_uid != 0 && b->box->is_root;
		path += n;
	}
	*ret_is_ours = is_ours;
	return held >= 0 ? rf_fd_take(&held) : rf_fd_copy(b->root, 3);
}

/* Leaves the place's directory in b->parent and gives its last name, or NULL with an error. */
static const char *enter_parent(struct builder *b, const char *path, struct rf_err *err)
{
	const char *slash = strrchr(path, '/');
	size_t len = (size_t)(slash - path);

	if (b->parent < 0 || len != b->parent_len || strncmp(path, b->parent_path, len) != 0) {
		rf_fd_done(&b->parent);
		b->parent = make_directory(b, path, len, &b->parent_is_ours);
		if (b->parent < 0) {
			rf_fail(err, b->parent, "make the directory of %s", path);
			rf_fail_hint(err, "a place inside a host directory must exist there");
			b->parent = -1;
			return NULL;
		}
		b->parent_len = len;
		b->parent_path = path;
	}
	return slash + 1;
}

/* Puts `mount` (takes) at `path`, on a file or directory that is made to fit where that is ours. */
static int attach(struct builder *b, int mount, bool is_directory, const char *path,
		  struct rf_err *err)
{
	RF_AUTO_FD int mnt = mount;
	const char *name = enter_parent(b, path, err);

	if (!name)
		return err->code;
	if (b->parent_is_ours &&
	    (is_directory ? mkdirat(b->parent, name, 0755)
			  : mknodat(b->parent, name, S_IFREG | 0444, 0)) < 0 &&
	    errno != EEXIST)
		return rf_fail(err, -errno, "make %s", path);
	if (rf_kernel_move_mount(mnt, "", b->parent, name, RF_MOVE_MOUNT_F_EMPTY_PATH) < 0) {
		rf_fail(err, -errno, "mount %s", path);
		if (err->code == -ENOENT)
			rf_fail_hint(err, "a place inside a host directory must exist there");
		return err->code;
	}
	return 0;
}

static int clone_at(int dir, const char *path, unsigned attrs)
{
	struct rf_kernel_mount_attr attr = { .attr_set = attrs };
	RF_AUTO_FD int mnt = rf_kernel_open_tree(
		dir, path, RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	if (mnt < 0 || (attrs && rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH, &attr) < 0))
		return -errno;
	return rf_fd_take(&mnt);
}

/* ------------------------------------------------------------- one function a kind of place */

static int make_link(struct builder *b, const char *target, const char *path, struct rf_err *err)
{
	const char *name = enter_parent(b, path, err);

	if (!name)
		return err->code;
	if (symlinkat(target, b->parent, name) < 0)
		return rf_fail(err, -errno, "link %s", path);
	return 0;
}

/* The innermost writable host tree that `place` lies in, or NULL. */
static const struct rf_place *writable_around(const struct builder *b, const struct rf_place *place)
{
	const struct rf_place *found = NULL;

	for (const struct rf_place *p = b->box->plan->places; p < place; p++)
		if (p->kind == RF_PLACE_HOST && p->rights & RF_RIGHT_WRITE &&
		    strcmp(p->path, place->path) != 0 && rf_path_is_beneath(place->path, p->path))
			found = p;
	return found;
}

/* True if an earlier place lies at or beneath `path`, so that it is a mount point already. */
static bool is_pinned(const struct builder *b, const struct rf_place *place, const char *path)
{
	for (const struct rf_place *p = b->box->plan->places; p < place; p++)
		if (p->kind == RF_PLACE_HOST && rf_path_is_beneath(p->path, path))
			return true;
	return false;
}

/*
 * Makes every directory between a writable tree and a place in it a mount point of its own.  A mount
 * point can't be renamed; its parents could, and another directory put where the place was.
 */
static int pin_parents(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	const struct rf_place *around = writable_around(b, place);
	char path[PATH_MAX];

	if (!around || strlen(place->path) >= sizeof(path))
		return 0;
	for (const char *at = place->path + strlen(around->path) + 1; (at = strchr(at, '/'));
	     at++) {
		size_t len = (size_t)(at - place->path);
		RF_AUTO_FD int dir = -1;
		int mnt;

		memcpy(path, place->path, len);
		path[len] = '\0';
		if (is_pinned(b, place, path))
			continue;
		dir = rf_path_open_beneath(b->root, path, O_PATH | O_DIRECTORY);
		if (dir < 0) {
			rf_fail(err, dir, "pin %s", path);
			return rf_fail_hint(err,
					    "a place inside a host directory must exist there");
		}
		mnt = rf_kernel_open_tree(dir, "",
					  RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC |
						  RF_AT_RECURSIVE | AT_EMPTY_PATH);
		if (mnt < 0)
			return rf_fail(err, -errno, "pin %s", path);
		b->parent_len = SIZE_MAX; /* what was opened before lies beneath the pin */
		if (attach(b, mnt, true, path, err) < 0)
			return err->code;
		b->parent_len = SIZE_MAX;
	}
	return 0;
}

static int put_layers(struct builder *b, const struct rf_place *place, int tree, struct rf_err *err)
{
	RF_AUTO_FD int base = tree;
	bool is_ours;
	RF_AUTO_FD int own = make_directory(b, RF_OWN_DIR, strlen(RF_OWN_DIR), &is_ours);

	if (own < 0)
		return rf_fail(err, own, "make " RF_OWN_DIR);
	return rf_layered_raise(b->box, place, rf_fd_take(&base), own, err);
}

static int put_host(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	size_t index = (size_t)(place - b->box->plan->places);
	RF_AUTO_FD int mnt = b->box->trees[index]; /* the launcher closes its own */
	struct stat st;

	if (mnt < 0)
		mnt = rf_source_open(place, err);
	if (mnt == -ENOENT && place->is_optional) {
		*err = RF_ERR_INIT;
		return 0;
	}
	if (mnt < 0)
		return err->code;
	if (fstat(mnt, &st) < 0)
		return rf_fail(err, -errno, "look at %s", place->path);
	if (pin_parents(b, place, err) < 0)
		return err->code;
	if (place->layers) {
		mnt = put_layers(b, place, rf_fd_take(&mnt), err);
		if (mnt < 0)
			return err->code;
	}
	return attach(b, rf_fd_take(&mnt), S_ISDIR(st.st_mode), place->path, err);
}

/*
 * As the host has it: a link as a link, anything else bound.  Asked before anything is cloned: to
 * throw a clone away again makes the kernel wait for a grace period of RCU.
 */
static int put_system(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	static const struct rf_kernel_mount_attr attr = { .attr_set = RF_MOUNT_ATTR_RDONLY | SAFE };
	RF_AUTO_FD int mnt = -1;
	char target[4096];
	struct stat st;
	ssize_t len = readlink(place->source, target, sizeof(target) - 1);

	if (len < 0 && errno == ENOENT && place->is_optional)
		return 0;
	if (len < 0 && errno != EINVAL) /* which says that it is no link */
		return rf_fail(err, -errno, "look at %s", place->source);
	if (len >= 0) {
		target[len] = '\0';
		return make_link(b, target, place->path, err);
	}
	mnt = rf_kernel_open_tree(AT_FDCWD, place->source,
				  RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | RF_AT_RECURSIVE |
					  AT_SYMLINK_NOFOLLOW);
	if (mnt < 0 || fstat(mnt, &st) < 0)
		return rf_fail(err, -errno, "bind %s", place->source);
	if (rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH | RF_AT_RECURSIVE, &attr) < 0)
		return rf_fail(err, -errno, "protect %s", place->source);
	return attach(b, rf_fd_take(&mnt), S_ISDIR(st.st_mode), place->path, err);
}

/*
 * Puts a file of ours over one that a tree of the host shows.  It is made in the root, and its name removed as soon as there
 * is a mount of it.
 */
static int cover(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	static const char name[] = ".cover";
	int mnt;

	if (rf_written_put(b->root, name, place, err) < 0)
		return err->code;
	mnt = clone_at(b->root, name, RF_MOUNT_ATTR_RDONLY | SAFE | RF_MOUNT_ATTR_NOEXEC);
	if (mnt < 0)
		return rf_fail(err, mnt, "bind %s", place->path);
	if (attach(b, mnt, false, place->path, err) < 0)
		return err->code;
	/* Not before: what has no name any more can't be mounted. */
	return unlinkat(b->root, name, 0) < 0 ? rf_fail(err, -errno, "cover %s", place->path) : 0;
}

static int put_text(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	const char *name = enter_parent(b, place->path, err);

	if (!name)
		return err->code;
	return b->parent_is_ours ? rf_written_put(b->parent, name, place, err)
				 : cover(b, place, err);
}

static int put_link(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	return make_link(b, place->source, place->path, err);
}

static int put_directory(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	bool is_ours;
	RF_AUTO_FD int fd = make_directory(b, place->path, strlen(place->path), &is_ours);

	return fd < 0 ? rf_fail(err, fd, "make %s", place->path) : 0;
}

/* A directory for a scratch place.  Gives it (borrows) and its name in it. */
static int make_scratch(struct builder *b, const struct rf_place *place, char *name, size_t size,
			struct rf_err *err)
{
	if (b->scratch >= 0) {
		snprintf(name, size, "%zu", (size_t)(place - b->box->plan->places));
		return b->scratch;
	}
	if (snprintf(name, size, "%s", strrchr(place->path, '/') + 1) >= (int)size)
		return rf_fail(err, -ENAMETOOLONG, "make %s", place->path);
	return enter_parent(b, place->path, err) ? b->parent : err->code;
}

/* A directory of the root's own tmpfs, bound over itself: it stays writable. */
static int put_scratch(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	const struct rf_box *box = b->box;
	uid_t uid = box->is_root ? box->host_uid : box->plan->uid;
	gid_t gid = box->is_root ? box->host_gid : box->plan->gid;
	char name[256];
	int mnt, dir = make_scratch(b, place, name, sizeof(name), err);

	if (dir < 0)
		return err->code;
	if (mkdirat(dir, name, 0700) < 0 || fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
		return rf_fail(err, -errno, "make %s", place->path);
	mnt = clone_at(dir, name,
		       place->rights & RF_RIGHT_INERT ? SAFE | RF_MOUNT_ATTR_NOEXEC : SAFE);
	if (mnt < 0)
		return rf_fail(err, mnt, "bind %s", place->path);
	return attach(b, mnt, true, place->path, err);
}

static int put_device(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	struct stat st;
	int mnt = clone_at(AT_FDCWD, place->source, RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NOEXEC);

	if (mnt < 0)
		return rf_fail(err, mnt, "bind %s", place->source);
	if (fstat(mnt, &st) < 0 || !S_ISCHR(st.st_mode)) {
		close(mnt);
		return rf_fail_say(err, -ENODEV, "%s is not a character device", place->source);
	}
	return attach(b, mnt, false, place->path, err);
}

/*
 * Puts a box's own tmpfs where /proc is about to cover it: nobody can reach it there.  Left detached, it
 * would be dissolved with its descriptor, which makes the kernel wait for a grace period of RCU.
 */
static int bury_scratch(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	const char *name;

	if (b->scratch < 0)
		return 0;
	name = enter_parent(b, place->path, err);
	if (!name)
		return err->code;
	if (rf_kernel_move_mount(b->scratch, "", b->parent, name, RF_MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return rf_fail(err, -errno, "keep the scratch beneath %s", place->path);
	return 0;
}

static int put_proc(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	/* Processes that may not be looked at, pid 1 first of all, are not listed either. */
	static const char *const options[] = { "hidepid", "2", NULL };
	RF_AUTO_FD int mnt = rf_mount_new("proc", options, SAFE | RF_MOUNT_ATTR_NOEXEC);

	if (mnt < 0) {
		rf_fail(err, mnt, "mount a fresh /proc");
		if (mnt == -EPERM)
			rf_fail_hint(err, "parts of /proc are hidden here, as in Docker: give the "
					  "container --security-opt systempaths=unconfined");
		return err->code;
	}
	b->box->proc_sys = openat(mnt, "sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* Of this pid namespace alone, from Linux 6.3; where it can't be had, the filter looks. */
	b->box->seals_memfds =
		b->box->programs && rf_fd_write_text(b->box->proc_sys, "vm/memfd_noexec", "2") == 0;
	return bury_scratch(b, place, err) < 0
		       ? err->code
		       : attach(b, rf_fd_take(&mnt), true, place->path, err);
}

static int put_pts(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	static const char *const options[] = {
		"ptmxmode", "0666", "mode", "0620", "max", "64", NULL
	};
	int mnt = rf_mount_new("devpts", options, RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NOEXEC);

	if (mnt < 0)
		return rf_fail(err, mnt, "mount a fresh devpts");
	return attach(b, mnt, true, place->path, err);
}

static int put_lock(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	const char *name = enter_parent(b, place->path, err);
	int mnt;

	if (!name)
		return err->code;
	mnt = clone_at(b->parent, name, RF_MOUNT_ATTR_RDONLY | SAFE | RF_MOUNT_ATTR_NOEXEC);
	if (mnt < 0)
		return rf_fail(err, mnt, "lock %s", place->path);
	return attach(b, mnt, true, place->path, err);
}

/*
 * Hides a file behind /dev/null or a directory behind an empty one; what is absent is hidden.  Done
 * by name, because it happens in the finished root, where every name on the way
 * is ours and nobody else is there yet.
 */
static int put_mask(const struct rf_place *place, uid_t host_uid, struct rf_err *err)
{
	struct stat st;

	if (lstat(place->path, &st) < 0)
		return errno == ENOENT ? 0 : rf_fail(err, -errno, "look at %s", place->path);
	/* What only root may touch is closed to a box by its uid, unless that is root's (a weaker box). */
	if (!(st.st_mode & S_IRWXO) && host_uid != 0)
		return 0;
	if (mount(S_ISDIR(st.st_mode) ? EMPTY_DIR : "/dev/null", place->path, NULL, MS_BIND, NULL) <
	    0)
		return rf_fail(err, -errno, "mask %s", place->path);
	return 0;
}

typedef int put_fn(struct builder *b, const struct rf_place *place, struct rf_err *err);

/* clang-format off */
static put_fn *const put[] = {
	[RF_PLACE_HOST]    = put_host,
	[RF_PLACE_SYSTEM]  = put_system,
	[RF_PLACE_TEXT]    = put_text,
	[RF_PLACE_DATA]    = put_text,
	[RF_PLACE_LINK]    = put_link,
	[RF_PLACE_DIR]     = put_directory,
	[RF_PLACE_SCRATCH] = put_scratch,
	[RF_PLACE_DEVICE]  = put_device,
	[RF_PLACE_PROC]    = put_proc,
	[RF_PLACE_PTS]     = put_pts,
	[RF_PLACE_MASK]    = NULL, /* at the end, in the finished root */
	[RF_PLACE_LOCK]    = put_lock,
};
/* clang-format on */

/* ------------------------------------------------------------- the whole */

static int open_root(struct builder *b, struct rf_err *err)
{
	/* Room for the skeleton only; the scratch gets its own in limit_scratch(). */
	const char *options[] = { "size", NULL, "nr_inodes", "4096", "mode", "0755", NULL };
	struct stat st;
	char size[24];

	snprintf(size, sizeof(size), "%zu", SKELETON_BYTES + rf_written_bytes(b->box->plan));
	options[1] = size;
	b->root = rf_mount_new("tmpfs", options, SAFE);
	if (b->root < 0)
		return rf_fail(err, b->root, "mount the root");
	if (fstat(b->root, &st) < 0)
		return rf_fail(err, -errno, "look at the root");
	b->dev = st.st_dev;
	/* Over the old root: names are still looked up beneath it, until pivot_root(). */
	if (rf_kernel_move_mount(b->root, "", AT_FDCWD, "/", RF_MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return rf_fail(err, -errno, "attach the root");
	return 0;
}

/* The few things of our own: what masks directories, and the Landlock wall's sentinel. */
static int make_own(struct builder *b, struct rf_err *err)
{
	bool is_ours;
	RF_AUTO_FD int dir = make_directory(b, EMPTY_DIR, strlen(EMPTY_DIR), &is_ours);
	RF_AUTO_FD int sentinel = -1;

	if (dir < 0)
		return rf_fail(err, dir, "make " EMPTY_DIR);
	sentinel = openat(b->root, &RF_SENTINEL[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	return sentinel < 0 ? rf_fail(err, -errno, "make the sentinel") : 0;
}

/* What the skeleton takes is not the program's: its limits count from here. */
static int limit_scratch(const struct builder *b, struct rf_err *err)
{
	const uint64_t *limits = b->box->plan->limits;
	struct statfs fs;
	char options[96];

	if (fstatfs(b->root, &fs) < 0)
		return rf_fail(err, -errno, "look at the root");
	snprintf(options, sizeof(options), "size=%" PRIu64 ",nr_inodes=%" PRIu64,
		 limits[RF_LIMIT_DISK] + (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize,
		 limits[RF_LIMIT_INODES] + (fs.f_files - fs.f_ffree));
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, options) < 0)
		return rf_fail(err, -errno, "limit the scratch to %s", options);
	return 0;
}

static int move_in(struct builder *b, struct rf_err *err)
{
	struct rf_kernel_mount_attr attr = {
		.attr_set = RF_MOUNT_ATTR_RDONLY | SAFE | RF_MOUNT_ATTR_NOEXEC,
	};

	if (fchdir(b->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return rf_fail(err, -errno, "change the root");
	/* The old root now lies over the new one, which is where names begin; see pivot_root(2). */
	rf_hands_pivoted(b->box);
	if (limit_scratch(b, err) < 0)
		return err->code;
	if (rf_kernel_mount_setattr(AT_FDCWD, "/", 0, &attr) < 0)
		return rf_fail(err, -errno, "make the root read-only");
	return 0;
}

/* To detach a mount makes the kernel wait: it is done by others, if they have begun with it. */
static int leave_old_root(const struct builder *b, struct rf_err *err)
{
	if (rf_hands_leave_root(b->box))
		return 0;
	if (fchdir(b->root) < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return rf_fail(err, -errno, "leave the old root");
	return 0;
}

static int put_masks(const struct builder *b, struct rf_err *err)
{
	const struct rf_plan *plan = b->box->plan;

	for (size_t i = 0; i < plan->place_count; i++)
		if (plan->places[i].kind == RF_PLACE_MASK &&
		    put_mask(&plan->places[i], b->box->host_uid, err) < 0)
			return err->code;
	return 0;
}

static int build(struct builder *b, struct rf_err *err)
{
	const struct rf_plan *plan = b->box->plan;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return rf_fail(err, -errno, "leave the host's mount events");
	if (open_root(b, err) < 0 || make_own(b, err) < 0)
		return err->code;
	for (size_t i = 0; i < plan->place_count; i++)
		if (put[plan->places[i].kind] &&
		    put[plan->places[i].kind](b, &plan->places[i], err) < 0)
			return err->code;
	if (rf_rack_raise(b->box, b->root, err) < 0 || rf_mask_cover(b->box, b->root, err) < 0 ||
	    move_in(b, err) < 0 || put_masks(b, err) < 0)
		return err->code;
	return leave_old_root(b, err);
}

/* ------------------------------------------------------------- from a mold */

/* True for what is the same in every box of a plan, whoever it is for. */
static bool is_common(const struct rf_place *place)
{
	switch (place->kind) {
	case RF_PLACE_SYSTEM:
	case RF_PLACE_TEXT:
	case RF_PLACE_DATA:
	case RF_PLACE_LINK:
	case RF_PLACE_DIR:
	case RF_PLACE_DEVICE:
		return true;
	case RF_PLACE_HOST:
		return !rf_source_is_named(place);
	default:
		return false;
	}
}

/* True if the place lies in something that each box has to itself. */
static bool is_within_own(const struct rf_plan *plan, const struct rf_place *place)
{
	for (const struct rf_place *p = plan->places; p < place; p++)
		if (!is_common(p) && p->kind != RF_PLACE_HIDE &&
		    rf_path_is_beneath(place->path, p->path))
			return true;
	return false;
}

/* Where a box's own will be mounted. */
static int make_mount_point(struct builder *b, const struct rf_place *place, struct rf_err *err)
{
	const char *name = enter_parent(b, place->path, err);
	bool is_directory = true;
	struct stat st;

	if (!name)
		return err->code;
	if (place->kind == RF_PLACE_HOST) {
		if (lstat(place->source, &st) < 0)
			return rf_fail(err, -errno, "%s: %s", place->rule, place->source);
		is_directory = S_ISDIR(st.st_mode);
	}
	if ((is_directory ? mkdirat(b->parent, name, 0755)
			  : mknodat(b->parent, name, S_IFREG | 0444, 0)) < 0 &&
	    errno != EEXIST)
		return rf_fail(err, -errno, "make %s", place->path);
	return 0;
}

static int build_common(struct builder *b, struct rf_err *err)
{
	const struct rf_plan *plan = b->box->plan;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return rf_fail(err, -errno, "leave the host's mount events");
	if (open_root(b, err) < 0 || make_own(b, err) < 0)
		return err->code;
	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];

		if (!put[place->kind] || is_within_own(plan, place))
			continue;
		if ((is_common(place) ? put[place->kind](b, place, err)
				      : make_mount_point(b, place, err)) < 0)
			return err->code;
	}
	return move_in(b, err) < 0 ? err->code : leave_old_root(b, err);
}

/* How many directories and mount points trees of the host need in scratch places that they lie in. */
static uint64_t ways_in_scratch(const struct rf_plan *plan)
{
	uint64_t count = 0;

	for (size_t i = 0; i < plan->place_count; i++)
		for (size_t j = 0; j < i; j++) {
			const struct rf_place *tree = &plan->places[i], *scratch = &plan->places[j];

			if (tree->kind != RF_PLACE_HOST || scratch->kind != RF_PLACE_SCRATCH ||
			    !rf_path_is_beneath(tree->path, scratch->path))
				continue;
			for (const char *at = tree->path + strlen(scratch->path); *at; at++)
				count += *at == '/';
		}
	return count;
}

/* A tmpfs for the scratch places of one box, which alone count against its limits. */
static int open_scratch(struct builder *b, struct rf_err *err)
{
	const struct rf_plan *plan = b->box->plan;
	const uint64_t *limits = plan->limits;
	uint64_t own = 1 + ways_in_scratch(plan); /* its root, and a directory for each place */
	char size[24], inodes[24];
	const char *options[] = { "size", size, "nr_inodes", inodes, "mode", "0755", NULL };
	struct stat st;

	snprintf(size, sizeof(size), "%" PRIu64, limits[RF_LIMIT_DISK]);
	for (size_t i = 0; i < plan->place_count; i++)
		own += plan->places[i].kind == RF_PLACE_SCRATCH;
	snprintf(inodes, sizeof(inodes), "%" PRIu64, limits[RF_LIMIT_INODES] + own);
	b->scratch = rf_mount_new("tmpfs", options, SAFE);
	if (b->scratch < 0)
		return rf_fail(err, b->scratch, "mount the scratch");
	if (fstat(b->scratch, &st) < 0)
		return rf_fail(err, -errno, "look at the scratch");
	b->scratch_dev = st.st_dev;
	return 0;
}

/* The box was born in a copy of the mold: what it has to itself is all that is missing. */
static int build_from_mold(struct builder *b, struct rf_err *err)
{
	const struct rf_plan *plan = b->box->plan;

	b->root = rf_fd_open("/", O_PATH | O_DIRECTORY);
	if (b->root < 0)
		return rf_fail(err, -errno, "open the root");
	if (open_scratch(b, err) < 0)
		return err->code;
	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];

		if (put[place->kind] && (!is_common(place) || is_within_own(plan, place)) &&
		    put[place->kind](b, place, err) < 0)
			return err->code;
	}
	return put_masks(b, err);
}

/* ------------------------------------------------------------- the wall */

static int raise_root(struct rf_box *box, int (*how)(struct builder *b, struct rf_err *err),
		      struct rf_err *err)
{
	struct builder b = { .box = box, .root = -1, .scratch = -1, .parent = -1 };
	mode_t umask_before = umask(0);
	int code = how(&b, err);

	umask(umask_before);
	rf_fd_done(&b.root);
	rf_fd_done(&b.scratch);
	rf_fd_done(&b.parent);
	return code;
}

int rf_mount_raise(struct rf_box *box, struct rf_err *err)
{
	return raise_root(box, rf_parts_has_mold(box) ? build_from_mold : build, err);
}

static int no_trees(struct rf_box *box, struct rf_err *err)
{
	box->trees = malloc(box->plan->place_count * sizeof(*box->trees));
	if (!box->trees)
		return rf_fail(err, -ENOMEM, "open the plan's trees");
	for (size_t i = 0; i < box->plan->place_count; i++)
		box->trees[i] = -1;
	return 0;
}

int rf_mount_cast(const struct rf_plan *plan, struct rf_err *err)
{
	struct rf_box box;
	int code;

	rf_box_init(&box, plan);
	code = no_trees(&box, err) < 0 ? err->code : raise_root(&box, build_common, err);
	free(box.trees);
	return code;
}

int rf_mount_open(struct rf_box *box, struct rf_err *err)
{
	if (no_trees(box, err) < 0 || (box->is_root && rf_source_open_owned(box, err) < 0))
		return err->code;
	return rf_hidden_find(box, err);
}
