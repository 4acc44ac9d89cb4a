/* A project quota: see project.h. */
#include "workspace/project.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"

#define BLOCK 1024 /* what limits are counted in */
#define TRIES 8
#define OWN_IDS                                                                                    \
	0x40000000u /* above what people give by hand, and no more than a signed number holds */
#define OWN 8 /* folders of a layer that are not the box's: its top, and overlayfs's workshop */

static const char *const folders[] = { "up", "work" };

static int ask(int fs, unsigned command, uint32_t id, void *data)
{
	return syscall(RF_NR_QUOTACTL_FD, fs, QCMD(command, PRJQUOTA), id, data) < 0 ? -errno : 0;
}

/* Counting alone is not enough. */
static bool is_enforced(int fs)
{
	struct fs_quota_stat state = { 0 };

	return ask(fs, Q_XGETQSTAT, 0, &state) == 0 && state.qs_flags & FS_QUOTA_PDQ_ENFD;
}

/* A number that nobody has used: nothing lies in it, and it has no limit. */
static int find_free(int fs, uint32_t *ret_id)
{
	for (int tries = 0; tries < TRIES; tries++) {
		struct if_dqblk used = { 0 };
		uint32_t id;
		int code;

		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			return -EIO;
		id = OWN_IDS | (id & (OWN_IDS - 1));
		code = ask(fs, Q_GETQUOTA, id, &used);
		if (code < 0 && code != -ENOENT && code != -ESRCH)
			return code;
		if (used.dqb_curspace || used.dqb_curinodes || used.dqb_bhardlimit ||
		    used.dqb_ihardlimit)
			continue;
		*ret_id = id;
		return 0;
	}
	return -EBUSY;
}

static int set_limits(int fs, uint32_t id, uint64_t bytes, uint64_t inodes)
{
	struct if_dqblk limits = { .dqb_bhardlimit = bytes / BLOCK,
				   .dqb_ihardlimit = inodes,
				   .dqb_valid = QIF_LIMITS };

	return ask(fs, Q_SETQUOTA, id, &limits);
}

static int open_folder(int layer, const char *name)
{
	return openat(layer, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What is made in the folder belongs to its project from now on. */
static int join(int layer, const char *name, uint32_t id)
{
	RF_AUTO_FD int folder = open_folder(layer, name);
	struct fsxattr look;

	if (folder < 0 || ioctl(folder, FS_IOC_FSGETXATTR, &look) < 0)
		return -errno;
	look.fsx_projid = id;
	look.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(folder, FS_IOC_FSSETXATTR, &look) < 0 ? -errno : 0;
}

int rf_project_begin(int layer, uint64_t bytes, uint64_t inodes)
{
	uint32_t id = 0;
	int code;

	if (!is_enforced(layer))
		return -EOPNOTSUPP;
	code = find_free(layer, &id);
	for (size_t i = 0; code == 0 && i < RF_LEN(folders); i++)
		code = join(layer, folders[i], id);
	return code < 0 ? code : set_limits(layer, id, bytes, inodes + OWN);
}

void rf_project_end(int layer)
{
	RF_AUTO_FD int up = open_folder(layer, folders[0]);
	struct fsxattr look;

	if (up >= 0 && ioctl(up, FS_IOC_FSGETXATTR, &look) == 0 && look.fsx_projid >= OWN_IDS)
		set_limits(layer, look.fsx_projid, 0, 0);
}
