/* The host's trees that a plan shows: see source.h. */
#include "jail/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "jail/layered.h"
#include "jail/record.h"
#include "jail/userns.h"

static uint64_t attrs_of(const struct rf_place *place)
{
	return RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NODEV |
	       (place->rights & RF_RIGHT_WRITE && !place->layers ? 0 : RF_MOUNT_ATTR_RDONLY) |
	       (place->rights & RF_RIGHT_INERT ? RF_MOUNT_ATTR_NOEXEC : 0);
}

bool rf_source_is_named(const struct rf_place *place)
{
	return strcmp(place->rule, "default") != 0 && strcmp(place->rule, "network.link") != 0;
}

static int open_named(const char *path)
{
	RF_AUTO_FD int root = rf_fd_open("/", O_PATH | O_DIRECTORY);

	return root < 0 ? -errno : rf_path_open_beneath(root, path, O_PATH);
}

/*
 * Opens the source.  What the policy names must be there under that very name: a link on the way
 * could have been planted by an earlier run and lead anywhere, into /proc too.
 */
static int open_source(const struct rf_place *place, struct rf_err *err)
{
	char real[PATH_MAX];
	int file;

	/* The host's own may be a link, as /etc/resolv.conf mostly is; no name of it is a stranger's. */
	if (rf_source_is_named(place))
		file = open_named(place->source);
	else
		file = realpath(place->source, real) ? open_named(real) : -errno;
	if (file >= 0)
		return file;
	rf_fail(err, file, "%s: %s", place->rule, place->source);
	if (file == -ENOENT)
		return rf_fail_hint(err, "make it first, or take it out of %s", place->rule);
	/*
	 * Where it leads, and whether anything is there, is not said: who laid the link could ask
	 * about any path so.
	 */
	if (file == -ELOOP) {
		rf_fail_say(err, -ELOOP, "%s: %s leads through a symbolic link", place->rule,
			    place->source);
		return rf_fail_hint(err, "name what it leads to, as `readlink -f` prints it");
	}
	return err->code;
}

/* File systems that are the kernel's own and not files; a bind mount may have put them anywhere. */
static bool is_kernels_own(int file)
{
	/* clang-format off */
	static const unsigned long types[] = {
		0x9fa0 /* proc */, 0x62656572 /* sysfs */, 0x27e0eb /* cgroup */, 0x63677270 /* cgroup2 */,
		0x64626720 /* debugfs */, 0x74726163 /* tracefs */, 0x73636673 /* securityfs */,
		0x1cd1 /* devpts */, 0xcafe4a11 /* bpf */, 0x62656570 /* configfs */,
		0x6e736673 /* nsfs */,
	};
	/* clang-format on */
	struct statfs fs;

	if (fstatfs(file, &fs) < 0)
		return true;
	for (size_t i = 0; i < RF_LEN(types); i++)
		if ((unsigned long)fs.f_type == types[i])
			return true;
	return false;
}

int rf_source_find(const struct rf_place *place, struct rf_err *err)
{
	RF_AUTO_FD int file = open_source(place, err);
	struct stat st;

	if (file < 0)
		return err->code;
	if (fstat(file, &st) < 0)
		return rf_fail(err, -errno, "%s: %s", place->rule, place->source);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
		rf_fail_say(err, -EINVAL, "%s: %s is neither a file nor a directory", place->rule,
			    place->source);
		return rf_fail_hint(err, "sockets, pipes and devices are not shown in a box");
	}
	if (rf_source_is_named(place) && is_kernels_own(file)) {
		rf_fail_say(err, -EACCES, "%s: %s is the kernel's own", place->rule, place->source);
		return rf_fail_hint(err, "/proc, /sys and their like are not shown in a box");
	}
	if (rf_source_is_named(place) && !place->is_site && rf_record_is_ours(file)) {
		rf_fail_say(err, -EACCES, "%s: %s would show Ringfort's own state", place->rule,
			    place->source);
		return rf_fail_hint(err, "name a directory that does not hold it");
	}
	return rf_fd_take(&file);
}

/* Clones the tree, with no attributes changed yet. */
static int clone_tree(const struct rf_place *place, struct stat *ret_st, struct rf_err *err)
{
	RF_AUTO_FD int file = rf_source_find(place, err);
	int mnt;

	if (file < 0)
		return err->code;
	if (fstat(file, ret_st) < 0)
		return rf_fail(err, -errno, "%s: %s", place->rule, place->source);
	mnt = rf_kernel_open_tree(file, "",
				  RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | RF_AT_RECURSIVE |
					  AT_EMPTY_PATH);
	return mnt < 0 ? rf_fail(err, -errno, "%s: clone %s", place->rule, place->source) : mnt;
}

int rf_source_open(const struct rf_place *place, struct rf_err *err)
{
	struct rf_kernel_mount_attr attr = { .attr_set = attrs_of(place),
					     .propagation = MS_PRIVATE };
	struct stat st;
	RF_AUTO_FD int mnt = clone_tree(place, &st, err);

	if (mnt < 0)
		return mnt;
	if (rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH | RF_AT_RECURSIVE, &attr) < 0)
		return rf_fail(err, -errno, "%s: protect %s", place->rule, place->source);
	return rf_fd_take(&mnt);
}

/* The namespaces made so far for idmapped mounts, by owner; boxes have one or two. */
struct owners {
	struct {
		uid_t uid;
		gid_t gid;
		int ns;
	} of[8];
	size_t count;
	int proc;
};

static int owner_ns(struct owners *owners, struct rf_box *box, const struct stat *st,
		    struct rf_err *err)
{
	size_t i;

	for (i = 0; i < owners->count; i++)
		if (owners->of[i].uid == st->st_uid && owners->of[i].gid == st->st_gid)
			return owners->of[i].ns;
	if (i == RF_LEN(owners->of))
		return rf_fail_say(err, -E2BIG, "the plan's trees have more than %zu owners", i);
	if (rf_userns_make(owners->proc, st->st_uid, st->st_gid, box, &owners->of[i].ns, err) < 0)
		return err->code;
	owners->of[i].uid = st->st_uid;
	owners->of[i].gid = st->st_gid;
	owners->count++;
	return owners->of[i].ns;
}

/* A tree that can't be mapped: the box takes its owner's uid, if it must write and may. */
static int take_owner(struct rf_box *box, const struct rf_place *place, const struct stat *st,
		      struct rf_err *err)
{
	if (!(place->rights & RF_RIGHT_WRITE))
		return 0;
	if (st->st_uid == 0 && !box->has_owner_uid &&
	    rf_box_lacks(box, "idmapped mounts, on a file system whose files root owns",
			 "give the directory to an ordinary user, or keep it on ext4, xfs or btrfs "
			 "(tmpfs: from Linux 6.3)",
			 err) < 0)
		return rf_fail_in(err, "%s: %s", place->rule, place->source);
	if (box->has_owner_uid && box->host_uid != st->st_uid) {
		rf_fail_say(err, -EINVAL, "%s: %s and another tree have different owners",
			    place->rule, place->source);
		return rf_fail_hint(err, "their file systems can't be idmapped; write to one");
	}
	box->has_owner_uid = true;
	box->host_uid = st->st_uid;
	box->host_gid = st->st_gid;
	return 0;
}

static int open_owned(struct rf_box *box, size_t index, struct owners *owners, struct rf_err *err)
{
	const struct rf_place *place = &box->plan->places[index];
	/*
	 * Private: a clone of a shared mount is its peer, as everything is where systemd runs, and what
	 * the box mounts on its tree (a mask, a tree within) would be mounted on the host's as well.
	 */
	struct rf_kernel_mount_attr attr = { .attr_set = attrs_of(place) | RF_MOUNT_ATTR_IDMAP,
					     .propagation = MS_PRIVATE };
	struct stat st = { 0 };
	RF_AUTO_FD int mnt = clone_tree(place, &st, err);
	int ns = mnt < 0 ? mnt : owner_ns(owners, box, &st, err);

	if (mnt < 0 || ns < 0)
		return err->code;
	attr.userns_fd = (uint64_t)ns;
	if (rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH | RF_AT_RECURSIVE, &attr) < 0) {
		if (errno != EINVAL && errno != EPERM)
			return rf_fail(err, -errno, "%s: protect %s", place->rule, place->source);
		if (take_owner(box, place, &st, err) < 0)
			return err->code;
		attr.attr_set &= ~(uint64_t)RF_MOUNT_ATTR_IDMAP;
		ns = -1;
		if (rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH | RF_AT_RECURSIVE, &attr) < 0)
			return rf_fail(err, -errno, "%s: protect %s", place->rule, place->source);
	}
	if (place->layers) {
		rf_fd_done(&box->pool);
		box->pool = rf_layered_open_pool(place, ns, err);
		if (box->pool < 0)
			return err->code;
		rf_fd_done(&box->owners);
		if (ns >= 0)
			box->owners = rf_fd_copy(ns, 3);
	}
	box->trees[index] = rf_fd_take(&mnt);
	return 0;
}

static int open_all_owned(struct rf_box *box, struct rf_err *err)
{
	RF_AUTO_FD int proc = rf_fd_open("/proc", O_PATH | O_DIRECTORY);
	struct owners owners = { .proc = proc };
	int code = proc < 0 ? rf_fail(err, -errno, "open /proc") : 0;

	for (size_t i = 0; code == 0 && i < box->plan->place_count; i++)
		if (box->plan->places[i].kind == RF_PLACE_HOST &&
		    rf_source_is_named(&box->plan->places[i]))
			code = open_owned(box, i, &owners, err);
	for (size_t i = 0; i < owners.count; i++)
		close(owners.of[i].ns);
	return code;
}

int rf_source_open_owned(struct rf_box *box, struct rf_err *err)
{
	uid_t uid = box->host_uid;
	int code = open_all_owned(box, err);

	if (code < 0 || box->host_uid == uid)
		return code;
	/* The box took an owner's uid on the way: what was mapped before was mapped to another. */
	for (size_t i = 0; i < box->plan->place_count; i++)
		rf_fd_done(&box->trees[i]);
	return open_all_owned(box, err);
}
