/*
 * A tree of the host with layers over it: what a workspace is to its box.
 *
 * The tree itself is only read.  Overlayfs shows it beneath layers of earlier runs, and puts what this run changes
 * into one more, so that afterwards the change can be looked at, kept, or thrown away.
 *
 * Mounted by whoever raises the box's walls, for an ordinary user in the box's own user namespace.  With `userxattr`:
 * its notes are then user attributes, which overlayfs does not let a program in the box set, and it follows none that
 * would lead elsewhere (redirects, and data of another file).  Root's layers are mapped as the tree is: what the box
 * makes belongs to the tree's owner.
 *
 * With `volatile`: what is to outlive a loss of power is synced by who keeps it.  Otherwise the end of each box would wait
 * until all that anybody ever wrote to that file system is on the disk.
 *
 * Overlayfs takes names, and these are ours: tree and pool hang in a folder of ours while it is mounted, and are
 * detached again before anything else happens.
 */
#include "jail/layered.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/ration.h"
#include "jail/wall.h"

#define BIT(capability) ((uint64_t)1 << (capability))
/* What overlayfs needs of who mounts it, to be used for the box from then on; the last for the mount alone. */
#define FOR_OVERLAYFS                                                                              \
	(BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) |     \
	 BIT(CAP_FSETID) | BIT(CAP_SYS_ADMIN))

#define OPTIONS_MAX 4096 /* a page, which is what mount(2) takes */
#define LAYERS_MAX  500  /* what overlayfs takes, with the tree */
#define LAYER_PATH  64   /* bytes of "pool/ID/work" */

int rf_layered_open_pool(const struct rf_place *place, int owners, struct rf_err *err)
{
	struct rf_kernel_mount_attr attr = { .attr_set = RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NODEV,
					     .propagation = MS_PRIVATE };
	RF_AUTO_FD int mnt = rf_kernel_open_tree(AT_FDCWD, place->layers->pool,
						 RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC |
							 AT_SYMLINK_NOFOLLOW);

	if (mnt < 0)
		return rf_fail(err, -errno, "open the layers in %s", place->layers->pool);
	if (owners >= 0) {
		attr.attr_set |= RF_MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)owners;
	}
	if (rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH, &attr) < 0) {
		rf_fail(err, -errno, "map the layers in %s", place->layers->pool);
		if (owners >= 0 && err->code == -EINVAL)
			rf_fail_hint(
				err,
				"their file system can't be idmapped; ext4, xfs and btrfs can");
		return err->code;
	}
	return rf_fd_take(&mnt);
}

static bool is_in_memory(const struct rf_layers *layers)
{
	return layers->room && layers->room->kind == RF_ROOM_MEMORY;
}

/* Says which layers, by names in the folder that we work in.  Returns 0 or -E2BIG. */
static int list_layers(const struct rf_layers *layers, char *text, size_t size)
{
	int len = is_in_memory(layers)
			  ? snprintf(text, size,
				     "userxattr,volatile,xino=on,upperdir=top/up,workdir=top/work,"
				     "lowerdir=")
			  : snprintf(text, size,
				     "userxattr,volatile,upperdir=pool/%s/up,workdir=pool/%s/work,"
				     "lowerdir=",
				     layers->upper, layers->upper);

	for (const char *const *l = layers->lowers; *l && (size_t)len < size; l++)
		len += snprintf(text + len, size - (size_t)len, "pool/%s/up:", *l);
	if ((size_t)len < size)
		len += snprintf(text + len, size - (size_t)len, "tree");
	return (size_t)len < size ? 0 : -E2BIG;
}

static int hang(int mnt, int own, const char *name, struct rf_err *err)
{
	if (mkdirat(own, name, 0700) < 0 && errno != EEXIST)
		return rf_fail(err, -errno, "make a folder for the layers");
	if (rf_kernel_move_mount(mnt, "", own, name, RF_MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return rf_fail(err, -errno, "hang up the layers");
	return 0;
}

static int fail_mount(const struct rf_place *place, int code, struct rf_err *err)
{
	rf_fail(err, code, "put layers over %s", place->source);
	if (code == -ELOOP)
		return rf_fail_hint(err, "the layers themselves lie in it (%.120s)",
				    place->layers->pool);
	if (code == -EINVAL)
		return rf_fail_hint(
			err,
			"does it hold mounts of other file systems? `ringfort doctor` says what "
			"overlayfs can do here");
	if (code == -ENODEV || code == -EPERM)
		return rf_fail_hint(
			err, "this kernel does not let us mount overlayfs: see `ringfort doctor`");
	return code;
}

/* Where overlayfs could not use its layer it turns read-only and only tells the kernel's log. */
static int refuse_read_only(const struct rf_place *place, int mnt, struct rf_err *err)
{
	struct statvfs fs;

	if (fstatvfs(mnt, &fs) < 0)
		return rf_fail(err, -errno, "look at %s", place->path);
	if (!(fs.f_flag & ST_RDONLY))
		return 0;
	rf_fail_say(err, -EROFS, "%s could only be mounted read-only", place->path);
	return rf_fail_hint(err, "the file system of %.100s can't take layers",
			    place->layers->pool);
}

/*
 * Overlayfs does all it does as who mounted it, also where it makes its workshop; and in mapped layers only the box's
 * uid can make anything.  To leave uid 0 for files alone takes the capabilities over files from the effective ones, so
 * they are set anew: to `few` of those that are permitted.
 */
static int work_as(uid_t uid, gid_t gid, uint64_t few, struct rf_err *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];

	setfsgid(gid);
	setfsuid(uid);
	if ((uid_t)setfsuid((uid_t)-1) != uid || (gid_t)setfsgid((gid_t)-1) != gid)
		return rf_fail_say(err, -EPERM, "the layers can't be worked on as uid %u", uid);
	if (syscall(SYS_capget, &header, sets) < 0)
		return rf_fail(err, -errno, "look at our capabilities");
	for (size_t i = 0; i < RF_LEN(sets); i++)
		sets[i].effective = sets[i].permitted & (uint32_t)(few >> (32 * i));
	return syscall(SYS_capset, &header, sets) < 0
		       ? rf_fail(err, -errno, "keep our capabilities")
		       : 0;
}

static int fail_count(const struct rf_place *place, struct rf_err *err)
{
	rf_fail_say(err, -E2BIG, "%s has more layers than can be mounted", place->path);
	return rf_fail_hint(err, "`ringfort gc` merges those without a name; or apply it, and go "
				 "on in a new workspace");
}

/* One option of overlayfs: a folder of a layer in the pool. */
static int set_folder(int fs, const char *key, const char *layer, const char *folder)
{
	char path[LAYER_PATH];

	if (snprintf(path, sizeof(path), "pool/%s/%s", layer, folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return rf_kernel_fsconfig(fs, RF_FSCONFIG_SET_STRING, key, path) < 0 ? -errno : 0;
}

/*
 * The layer that takes the changes.  In memory it lies on another file system than the tree, and without `xino` files
 * would be on another device than their folders: whoever keeps to one file system would leave them out.
 */
static int set_upper(int fs, const struct rf_layers *layers)
{
	int code;

	if (!is_in_memory(layers)) {
		code = set_folder(fs, "upperdir", layers->upper, "up");
		return code == 0 ? set_folder(fs, "workdir", layers->upper, "work") : code;
	}
	if (rf_kernel_fsconfig(fs, RF_FSCONFIG_SET_STRING, "upperdir", "top/up") < 0 ||
	    rf_kernel_fsconfig(fs, RF_FSCONFIG_SET_STRING, "workdir", "top/work") < 0 ||
	    rf_kernel_fsconfig(fs, RF_FSCONFIG_SET_STRING, "xino", "on") < 0)
		return -errno;
	return 0;
}

/* The tree and the layers over it, from the top down; the first that fails says whether the option is known. */
static int set_lowers(int fs, const char *const *lowers)
{
	const char *const *lower = lowers;
	int code = 0;

	for (; *lower && code == 0; lower++)
		code = set_folder(fs, "lowerdir+", *lower, "up");
	if (code == 0 && rf_kernel_fsconfig(fs, RF_FSCONFIG_SET_STRING, "lowerdir+", "tree") < 0)
		code = -errno;
	return code == -EINVAL ? -EOPNOTSUPP : code;
}

/*
 * Layer by layer, as Linux takes them from 6.7 on, up to 500.  Gives a mount; -EOPNOTSUPP where the kernel wants one text
 * with all of them, which has room for a third of that.
 */
static int mount_one_by_one(const struct rf_place *place)
{
	unsigned attrs = RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NODEV |
			 (place->rights & RF_RIGHT_INERT ? RF_MOUNT_ATTR_NOEXEC : 0);
	RF_AUTO_FD int fs = rf_kernel_fsopen("overlay", RF_FSOPEN_CLOEXEC);
	int mnt, code = fs < 0 ? -errno : set_lowers(fs, place->layers->lowers);

	if (code == 0)
		code = set_upper(fs, place->layers);
	if (code < 0)
		return code == -ENOSYS ? -EOPNOTSUPP : code;
	if (rf_kernel_fsconfig(fs, RF_FSCONFIG_SET_FLAG, "userxattr", NULL) < 0 ||
	    rf_kernel_fsconfig(fs, RF_FSCONFIG_SET_FLAG, "volatile", NULL) < 0 ||
	    rf_kernel_fsconfig(fs, RF_FSCONFIG_SET_STRING, "source", "overlay") < 0 ||
	    rf_kernel_fsconfig(fs, RF_FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		return -errno;
	mnt = rf_kernel_fsmount(fs, RF_FSMOUNT_CLOEXEC, attrs);
	return mnt < 0 ? -errno : mnt;
}

/* All of them in one text. */
static int mount_at_once(const struct rf_place *place, int own)
{
	char options[OPTIONS_MAX];
	unsigned long flags =
		MS_NOSUID | MS_NODEV | (place->rights & RF_RIGHT_INERT ? MS_NOEXEC : 0);
	int mnt;

	if (list_layers(place->layers, options, sizeof(options)) < 0)
		return -E2BIG;
	if ((mkdirat(own, "whole", 0700) < 0 && errno != EEXIST) ||
	    mount("overlay", "whole", "overlay", flags, options) < 0)
		return -errno;
	mnt = rf_kernel_open_tree(own, "whole", RF_OPEN_TREE_CLOEXEC);
	return mnt < 0 ? -errno : mnt;
}

static int mount_layers(const struct rf_box *box, const struct rf_place *place, int own,
			struct rf_err *err)
{
	RF_AUTO_FD int mnt = -1;
	size_t count = 0;

	while (place->layers->lowers[count])
		count++;
	if (count >= LAYERS_MAX)
		return fail_count(place, err);
	if (fchdir(own) < 0)
		return rf_fail(err, -errno, "enter the folder of the layers");
	mnt = rf_wall_is_left_out("overlay") ? -ENODEV : mount_one_by_one(place);
	if (mnt == -EOPNOTSUPP ||
	    mnt == -EINVAL) /* older kernels look at options only in the end */
		mnt = mount_at_once(place, own);
	if (mnt == -E2BIG)
		return fail_count(place, err);
	if (mnt < 0)
		fail_mount(place, mnt, err);
	else if (refuse_read_only(place, mnt, err) == 0)
		return rf_fd_take(&mnt);
	box->shared->lacks_overlay = err->code != -ELOOP; /* a copy would hold itself there */
	return err->code;
}

static bool is_copied(const struct rf_layers *layers)
{
	return layers->room && layers->room->kind == RF_ROOM_COPY;
}

/* Where overlayfs can't be had: the copy of all that it would show, mapped as the pool is. */
static int show_copy(const struct rf_place *place, int own, struct rf_err *err)
{
	struct rf_kernel_mount_attr attr = {
		.attr_set = RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NODEV |
			    (place->rights & RF_RIGHT_INERT ? RF_MOUNT_ATTR_NOEXEC : 0)
	};
	char path[LAYER_PATH];
	RF_AUTO_FD int mnt = -1;

	snprintf(path, sizeof(path), "pool/%s/whole", place->layers->upper);
	mnt = rf_kernel_open_tree(own, path,
				  RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (fchdir(own) < 0 || mnt < 0 ||
	    rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH, &attr) < 0)
		return rf_fail(err, -errno, "show the copy of %s", place->source);
	return rf_fd_take(&mnt);
}

/* Where it is mapped, it hangs there twice. */
static int drop_top(const struct rf_box *box)
{
	return (box->owners >= 0 && umount2("top", MNT_DETACH) < 0) ||
			       umount2("top", MNT_DETACH) < 0
		       ? -1
		       : 0;
}

int rf_layered_raise(struct rf_box *box, const struct rf_place *place, int tree, int own,
		     struct rf_err *err)
{
	bool is_mapped = box->pool >= 0 && !box->has_owner_uid;
	RF_AUTO_FD int base = tree;
	RF_AUTO_FD int pool =
		box->pool >= 0 ? rf_fd_take(&box->pool) : rf_layered_open_pool(place, -1, err);
	RF_AUTO_FD int mnt = -1;

	if (pool < 0)
		return err->code;
	if (hang(base, own, "tree", err) < 0 || hang(pool, own, "pool", err) < 0)
		return err->code;
	if (is_in_memory(place->layers) &&
	    rf_ration_mount(box, place->layers->room, box->owners, own, err) < 0)
		return err->code;
	if (is_mapped && work_as(box->host_uid, box->host_gid, FOR_OVERLAYFS, err) < 0)
		return err->code;
	mnt = is_copied(place->layers) ? show_copy(place, own, err)
				       : mount_layers(box, place, own, err);
	if (mnt < 0)
		return mnt;
	if (is_mapped && work_as(0, 0, UINT64_MAX, err) < 0)
		return err->code;
	if (umount2("pool", MNT_DETACH) < 0 || umount2("tree", MNT_DETACH) < 0 ||
	    (is_in_memory(place->layers) && drop_top(box) < 0))
		return rf_fail(err, -errno, "let go of the layers");
	return rf_fd_take(&mnt);
}
