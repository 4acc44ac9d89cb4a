/*
 * The probe's checks of mounts: made as the mount wall makes them (mount.c), in a mount namespace
 * that ends with the check.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "jail/mount.h"
#include "jail/probe-check.h"
#include "jail/userns.h"

#define SAFE (RF_MOUNT_ATTR_NOSUID | RF_MOUNT_ATTR_NODEV)

/* Clones /usr, makes the clone read-only and hangs it somewhere, as every box does. */
void rf_probe_mount_api(struct rf_probe_trial *trial)
{
	const struct rf_kernel_mount_attr attr = { .attr_set = RF_MOUNT_ATTR_RDONLY | SAFE };
	RF_AUTO_FD int mnt = rf_kernel_open_tree(
		AT_FDCWD, "/usr", RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | RF_AT_RECURSIVE);
	struct statvfs seen;

	if (mnt < 0)
		rf_probe_failed(trial, -errno, "open_tree");
	else if (rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH | RF_AT_RECURSIVE, &attr) < 0)
		rf_probe_failed(trial, -errno, "mount_setattr");
	else if (rf_kernel_move_mount(mnt, "", AT_FDCWD, "/tmp", RF_MOVE_MOUNT_F_EMPTY_PATH) < 0)
		rf_probe_failed(trial, -errno, "move_mount");
	else if (statvfs("/tmp", &seen) < 0 || !(seen.f_flag & ST_RDONLY))
		rf_probe_absent(trial, "a clone could not be made read-only");
	else
		rf_probe_granted(trial);
}

/* The file systems of a box and the options it gives them; see mount.c. */
/* clang-format off */
static const struct {
	const char *type;
	const char *options[7];
	const char *detail;
} fresh[] = {
	{ "tmpfs",  { "size", "65536", "nr_inodes", "16", "mode", "0755" }, "with a size limit" },
	{ "proc",   { "hidepid", "2" },                                     "with hidepid" },
	{ "devpts", { "ptmxmode", "0666", "mode", "0620" },                 "" },
};
/* clang-format on */

void rf_probe_mount_fresh(struct rf_probe_trial *trial)
{
	for (size_t i = 0; i < RF_LEN(fresh); i++) {
		RF_AUTO_FD int mnt = -1;

		if (strcmp(fresh[i].type, trial->check->what) != 0)
			continue;
		mnt = rf_mount_new(fresh[i].type, fresh[i].options, RF_MOUNT_ATTR_NOSUID);
		if (mnt < 0) {
			rf_probe_failed(trial, mnt, "mount");
			return;
		}
		if (rf_kernel_move_mount(mnt, "", AT_FDCWD, "/tmp", RF_MOVE_MOUNT_F_EMPTY_PATH) < 0)
			rf_probe_failed(trial, -errno, "attach");
		else
			rf_probe_present(trial, "%s", fresh[i].detail);
	}
}

/* ------------------------------------------------------------- for root: trees that are mapped */

/* Maps the owner of the tree at `path`, as source.c does.  0 or a negative errno. */
static int map_tree(struct rf_probe_stage *stage, const char *path)
{
	struct rf_kernel_mount_attr attr = { .attr_set = SAFE | RF_MOUNT_ATTR_IDMAP };
	RF_AUTO_FD int mnt = rf_kernel_open_tree(
		AT_FDCWD, path, RF_OPEN_TREE_CLONE | RF_OPEN_TREE_CLOEXEC | RF_AT_RECURSIVE);
	RF_AUTO_FD int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	RF_AUTO_FD int ns = -1;
	struct stat st;

	if (mnt < 0 || proc < 0 || fstat(mnt, &st) < 0)
		return -errno;
	if (rf_userns_make(proc, st.st_uid, st.st_gid, &stage->box, &ns, &stage->err) < 0)
		return stage->err.code;
	attr.userns_fd = (uint64_t)ns;
	return rf_kernel_mount_setattr(mnt, "", AT_EMPTY_PATH | RF_AT_RECURSIVE, &attr) < 0 ? -errno
											    : 0;
}

void rf_probe_mount_idmap(struct rf_probe_trial *trial)
{
	struct rf_probe_stage stage;
	char cwd[96];
	int here, tmp;

	if (!trial->report->is_root) {
		rf_probe_unneeded(trial, "an ordinary user's box is the user outside");
		return;
	}
	rf_probe_stage_init(&stage);
	if (!getcwd(cwd, sizeof(cwd)))
		snprintf(cwd, sizeof(cwd), "the current directory");
	here = map_tree(&stage, ".");
	tmp = map_tree(&stage, "/tmp");
	if (here == 0 && tmp == 0)
		rf_probe_present(trial, "%s, /tmp", cwd);
	else if (here == 0 || tmp == 0)
		rf_probe_partial(trial, "%s, not %s: %s", here == 0 ? cwd : "/tmp",
				 here == 0 ? "/tmp" : cwd, strerror(here == 0 ? -tmp : -here));
	else
		rf_probe_failed(trial, here, "%s and /tmp", cwd);
}

/* ------------------------------------------------------------- workspaces */

/*
 * A layer on a tmpfs.  A directory that is removed and made again must be opaque, which needs an
 * extended attribute that a user namespace may write: the reason for userxattr.
 */
void rf_probe_mount_overlay(struct rf_probe_trial *trial)
{
	static const char *const folders[] = { "low", "low/d", "up", "work", "all" };

	if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1M") < 0 ||
	    chdir("/tmp") < 0) {
		rf_probe_failed(trial, -errno, "tmpfs");
		return;
	}
	for (size_t i = 0; i < RF_LEN(folders); i++)
		if (mkdir(folders[i], 0700) < 0) {
			rf_probe_failed(trial, -errno, "make a layer");
			return;
		}
	if (mount("overlay", "all", "overlay", MS_NOSUID | MS_NODEV,
		  "userxattr,lowerdir=low,upperdir=up,workdir=work") < 0)
		rf_probe_failed(trial, -errno, "mount");
	else if (mkdir("all/new", 0700) < 0)
		rf_probe_failed(trial, -errno, "write");
	else if (rmdir("all/d") < 0 || mkdir("all/d", 0700) < 0)
		rf_probe_partial(trial, "userxattr; on tmpfs a directory can't be replaced: %s",
				 strerror(errno));
	else
		rf_probe_present(trial, "userxattr, tried on tmpfs");
}
