/* Attacks on the view: mounts, roots and namespaces. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

/* TYPE [OPTIONS]: a file system of this type over a directory of ours */
static int mount_type(char **args)
{
	mkdir("point", 0755);
	return attack_result(mount("none", "point", args[0], 0, args[1]));
}

/* PATH */
static int mount_bind(char **args)
{
	mkdir("point", 0755);
	return attack_result(mount(args[0], "point", NULL, MS_BIND, NULL));
}

/* DIRECTORY: a second, writable view of it (CVE-2023-0386 began so) */
static int mount_overlay(char **args)
{
	char options[4096];

	mkdir("point", 0755);
	mkdir("up", 0755);
	mkdir("work", 0755);
	snprintf(options, sizeof(options), "lowerdir=%s,upperdir=up,workdir=work,userxattr",
		 args[0]);
	return attack_reached(mount("overlay", "point", "overlay", 0, options));
}

/* The parts of the new mount API that follow fsopen, with descriptors that are none */
static int configure(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_fsconfig, -1, 6 /* create */, NULL, NULL, 0));
}

static int make_mount(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_fsmount, -1, 0, 0));
}

/* PATH: a copy of a mount with other attributes (Linux 6.15) */
static int copy_tree_with(char **args)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	return attack_result(syscall(467 /* open_tree_attr */, AT_FDCWD, args[0],
				     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE, &attr,
				     sizeof(attr)));
}

/* The mounts, by number (Linux 6.8) */
static int list_mounts(char **args)
{
	const struct {
		uint32_t size, spare;
		uint64_t mount, parameter, space;
	} ask = { 24, 0, ~0ull /* LSMT_ROOT */, 0, 0 };
	uint64_t found[8];

	(void)args;
	return attack_result(syscall(458 /* listmount */, &ask, found, 8, 0));
}

/* PATH: a read-only mount made writable again (CVE-2026-46695) */
static int remount(char **args)
{
	if (mount(NULL, args[0], NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) < 0)
		return -errno;
	return attack_result(mknodat(AT_FDCWD, "remounted", S_IFREG | 0644, 0));
}

/* PATH: the same, by the newer call */
static int set_attributes(char **args)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	return attack_result(syscall(SYS_mount_setattr, AT_FDCWD, args[0], 0, &attr, sizeof(attr)));
}

/* PATH */
static int unmount(char **args)
{
	return attack_result(umount2(args[0], MNT_DETACH));
}

static int open_file_system(char **args)
{
	(void)args;
	return attack_result(syscall(SYS_fsopen, "tmpfs", 0));
}

/* PATH: a copy of a mount, without what lies over it */
static int copy_tree(char **args)
{
	return attack_result(syscall(SYS_open_tree, AT_FDCWD, args[0],
				     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
}

/* Names that are not there: the kernel says so to whoever may move mounts. */
static int move_tree(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_move_mount, AT_FDCWD, "no-such", AT_FDCWD, "no-such", 0));
}

static int pick_mount(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_fspick, AT_FDCWD, "no-such", 0));
}

static int pivot(char **args)
{
	(void)args;
	return attack_reached(syscall(SYS_pivot_root, "no-such", "no-such"));
}

static int change_root(char **args)
{
	(void)args;
	return attack_result(chroot("."));
}

/* PATH: the way out of a chroot, for whoever may make a second one */
static int chroot_twice(char **args)
{
	int here = open("/", O_RDONLY | O_DIRECTORY);

	mkdir("cage", 0755);
	if (here < 0 || chroot("cage") < 0 || fchdir(here) < 0)
		return -errno;
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return -errno;
	if (chroot(".") < 0)
		return -errno;
	return attack_read(open(args[0], O_RDONLY));
}

static int unshare_user(char **args)
{
	(void)args;
	return attack_result(unshare(CLONE_NEWUSER));
}

static int unshare_mounts(char **args)
{
	(void)args;
	return attack_result(unshare(CLONE_NEWNS));
}

static int reap(long pid)
{
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(0);
	waitpid((pid_t)pid, NULL, 0);
	return 0;
}

static int clone_user(char **args)
{
	(void)args;
	return reap(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

static int clone3_user(char **args)
{
	uint64_t clone_args[8] = { [0] = CLONE_NEWUSER, [4] = SIGCHLD };

	(void)args;
	return reap(syscall(SYS_clone3, clone_args, sizeof(clone_args)));
}

/* Into a namespace of pid 1, by its process */
static int enter_init(char **args)
{
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	(void)args;
	return pidfd < 0 ? -errno : attack_result(setns(pidfd, CLONE_NEWUTS));
}

/* The same, by a file in /proc */
static int enter_init_by_name(char **args)
{
	int ns = open("/proc/1/ns/uts", O_RDONLY);

	(void)args;
	return ns < 0 ? -errno : attack_result(setns(ns, CLONE_NEWUTS));
}

const struct attack attack_mounts[] = {
	{ "mount", mount_type },
	{ "mount-bind", mount_bind },
	{ "mount-overlay", mount_overlay },
	{ "fsconfig", configure },
	{ "fsmount", make_mount },
	{ "open-tree-attr", copy_tree_with },
	{ "listmount", list_mounts },
	{ "remount", remount },
	{ "mount-setattr", set_attributes },
	{ "umount", unmount },
	{ "fsopen", open_file_system },
	{ "open-tree", copy_tree },
	{ "move-mount", move_tree },
	{ "fspick", pick_mount },
	{ "pivot-root", pivot },
	{ "chroot", change_root },
	{ "chroot-twice", chroot_twice },
	{ "unshare-user", unshare_user },
	{ "unshare-mounts", unshare_mounts },
	{ "clone-user", clone_user },
	{ "clone3-user", clone3_user },
	{ "setns-pidfd", enter_init },
	{ "setns-proc", enter_init_by_name },
	{ NULL, NULL },
};
