/*
 * What only a box without namespaces has to fear: files and processes of the same user in plain sight,
 * and calls that Landlock does not know.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack.h"

static const struct timespec long_ago[2] = { { 1000000, 0 }, { 1000000, 0 } };

static int mode_by_descriptor(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : attack_result(fchmod(fd, 0600));
}

/* A descriptor that was opened for nothing but its name. */
static int mode_by_name_only(char **args)
{
	int fd = open(args[0], O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno
		      : attack_result(syscall(452 /* fchmodat2 */, fd, "", 0600, AT_EMPTY_PATH));
}

/* A link that a writable directory holds, to a file that is none of ours. */
static int mode_by_link(char **args)
{
	unlink("link");
	if (symlink(args[0], "link") < 0)
		return -errno;
	return attack_result(chmod("link", 0600));
}

/* Swaps a file of ours for a link to the other's all the time, and hopes that it is looked at once. */
static int mode_by_race(char **args)
{
	struct stat before, after;
	pid_t pid;

	unlink("link");
	unlink("file");
	close(open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	if (stat(args[0], &before) < 0 || symlink(args[0], "link") < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		for (;;)
			syscall(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, "link",
				2 /* EXCHANGE */);
	for (int i = 0; i < 2000; i++)
		chmod(i & 1 ? "file" : "link", 0600);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (stat(args[0], &after) < 0)
		return -errno;
	return before.st_mode == after.st_mode ? -EPERM : 0;
}

static int times_by_path(char **args)
{
	return attack_result(utimensat(AT_FDCWD, args[0], long_ago, 0));
}

static int times_by_descriptor(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : attack_result(futimens(fd, long_ago));
}

static int owner(char **args)
{
	return attack_result(lchown(args[0], (uid_t)-1, getgid()));
}

static int attribute(char **args)
{
	return attack_result(setxattr(args[0], "user.planted", "1", 1, 0));
}

static int attribute_by_descriptor(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : attack_result(fsetxattr(fd, "user.planted", "1", 1, 0));
}

static int flags_by_descriptor(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC), flags = FS_NODUMP_FL;

	return fd < 0 ? -errno : attack_result(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static int empty_by_reading(char **args)
{
	return attack_result(open(args[0], O_RDONLY | O_TRUNC | O_CLOEXEC));
}

static int list(char **args)
{
	DIR *dir = opendir(args[0]);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			attack_loot(entry->d_name);
			return 0;
		}
	return dir ? -ENODATA : -errno;
}

static int look(char **args)
{
	struct stat st;
	char text[32];

	if (stat(args[0], &st) < 0)
		return -errno;
	snprintf(text, sizeof(text), "%lld", (long long)st.st_size);
	attack_loot(text);
	return 0;
}

static int watch(char **args)
{
	int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? -errno : attack_result(inotify_add_watch(fd, args[0], IN_ALL_EVENTS));
}

static int limit_other(char **args)
{
	struct rlimit limit = { 3, 3 };

	return attack_result(prlimit(atoi(args[0]), RLIMIT_NOFILE, &limit, NULL));
}

static int nice_other(char **args)
{
	return attack_result(setpriority(PRIO_PROCESS, (id_t)atoi(args[0]), 15));
}

static int nice_user(char **args)
{
	(void)args;
	return attack_result(setpriority(PRIO_USER, 0, getpriority(PRIO_PROCESS, 0) + 1));
}

static int bind_other(char **args)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	return attack_result(sched_setaffinity(atoi(args[0]), sizeof(one), &one));
}

static int schedule_other(char **args)
{
	struct sched_param none = { 0 };

	return attack_result(sched_setscheduler(atoi(args[0]), SCHED_IDLE, &none));
}

/* Whoever started us: pid 1 of a box, which must not be ended before the box is. */
static int signal_starter(char **args)
{
	(void)args;
	return attack_result(kill(attack_starter, 0));
}

static int signal_by_pidfd(char **args)
{
	int fd = (int)syscall(SYS_pidfd_open, atoi(args[0]), 0);

	return fd < 0 ? -errno
		      : attack_result(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0));
}

/* The kernel sends it, to whom we name. */
static int signal_by_owner(char **args)
{
	int ends[2];

	if (pipe(ends) < 0 || fcntl(ends[0], F_SETOWN, atoi(args[0])) < 0 ||
	    fcntl(ends[0], F_SETSIG, SIGKILL) < 0 ||
	    fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
		return -errno;
	if (write(ends[1], "x", 1) != 1)
		return -errno;
	usleep(50000);
	/* Who may be signalled at all was; whether it is dead is seen from outside. */
	return attack_result(kill(atoi(args[0]), 0));
}

const struct attack attack_alone[] = {
	{ "mode-by-descriptor", mode_by_descriptor },
	{ "mode-by-name-only", mode_by_name_only },
	{ "mode-by-link", mode_by_link },
	{ "mode-by-race", mode_by_race },
	{ "times-by-path", times_by_path },
	{ "times-by-descriptor", times_by_descriptor },
	{ "owner", owner },
	{ "attribute", attribute },
	{ "attribute-by-descriptor", attribute_by_descriptor },
	{ "flags-by-descriptor", flags_by_descriptor },
	{ "empty-by-reading", empty_by_reading },
	{ "list", list },
	{ "look", look },
	{ "watch", watch },
	{ "limit-other", limit_other },
	{ "nice-other", nice_other },
	{ "nice-user", nice_user },
	{ "bind-other", bind_other },
	{ "schedule-other", schedule_other },
	{ "signal-starter", signal_starter },
	{ "signal-by-pidfd", signal_by_pidfd },
	{ "signal-by-owner", signal_by_owner },
	{ 0 },
};
