/* The root of bench/floor's boxes: see floor.h. */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define ROOT                                                                                       \
	"/proc" /* a directory that every machine has; the host's own is held by a descriptor */

static const char *const directories[] = {
	"usr", "etc",  "dev",      "dev/pts", "dev/shm", "proc", "sys",   "tmp",
	"run", "home", "home/box", "var",     "var/tmp", "work", "empty",
};
static const char *const links[] = { "bin", "sbin", "lib", "lib32", "lib64" };
static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };

static void put_link(const char *name)
{
	char from[32], to[48], target[256];
	ssize_t len;

	snprintf(from, sizeof(from), "/%s", name);
	snprintf(to, sizeof(to), ROOT "/%s", name);
	len = readlink(from, target, sizeof(target) - 1);
	if (len > 0) {
		target[len] = '\0';
		floor_must(symlink(target, to), to);
	} else if (errno != ENOENT) {
		floor_must(mkdir(to, 0755), to);
		floor_must(mount(from, to, NULL, MS_BIND | MS_REC, NULL), to);
	}
}

static void put_device(const char *name)
{
	char from[32], to[48];

	snprintf(from, sizeof(from), "/dev/%s", name);
	snprintf(to, sizeof(to), ROOT "/dev/%s", name);
	floor_must(mknod(to, S_IFREG | 0444, 0), to);
	floor_must(mount(from, to, NULL, MS_BIND, NULL), from);
}

void floor_root_build(bool has_work)
{
	const struct rf_kernel_mount_attr attr = { .attr_set = RF_MOUNT_ATTR_RDONLY |
							       RF_MOUNT_ATTR_NOSUID };
	char path[32];

	floor_must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL),
		   "leave the host's mount events");
	floor_must(mount("tmpfs", ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=0755"),
		   "the root");
	for (size_t i = 0; i < LEN(directories); i++) {
		snprintf(path, sizeof(path), ROOT "/%s", directories[i]);
		floor_must(mkdir(path, 0755), path);
	}
	floor_must(mount("/usr", ROOT "/usr", NULL, MS_BIND | MS_REC, NULL), "/usr");
	for (size_t i = 0; i < LEN(links); i++)
		put_link(links[i]);
	for (size_t i = 0; i < LEN(devices); i++)
		put_device(devices[i]);
	/* What each box has an idmapped copy of, which only this mount namespace can make. */
	if (has_work)
		floor_must(mount(".", ROOT FLOOR_WORK, NULL, MS_BIND, NULL),
			   "the current directory");
	floor_must(rf_kernel_mount_setattr(AT_FDCWD, ROOT, RF_AT_RECURSIVE, &attr),
		   "a read-only root");
	floor_must(chdir(ROOT), "the root");
	floor_must(syscall(SYS_pivot_root, ".", "."), "change the root");
	floor_must(umount2(".", MNT_DETACH), "leave the old root");
	floor_must(chdir("/"), "/");
}
