/*
 * What an ordinary user closed to himself: see closed.h.
 *
 * A namespace is entered for good, and half of one (no map, or no capability, as some machines have it) would leave a
 * process that is nobody.  So a child tries all of it first, with the very name that was denied.
 */
#include "workspace/closed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define OPENING (O_NOFOLLOW | O_CLOEXEC)

static bool is_allowed, is_wide;

static int write_text(const char *path, const char *text)
{
	RF_AUTO_FD int file = rf_fd_open(path, O_WRONLY);

	return file < 0 ? -errno : rf_fd_write(file, text, strlen(text));
}

/* The same user and group as outside; other groups count as before, and have no name here. */
static int map(uid_t uid, gid_t gid)
{
	char text[64];
	int code;

	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	code = write_text("/proc/self/uid_map", text);
	if (code == 0)
		code = write_text("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return code == 0 ? write_text("/proc/self/gid_map", text) : code;
}

static int widen(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int code = unshare(CLONE_NEWUSER) < 0 ? -errno : map(uid, gid);

	sets[0].effective = sets[0].permitted = 1u << CAP_DAC_READ_SEARCH;
	return code == 0 && syscall(SYS_capset, &header, sets) < 0 ? -errno : code;
}

static int open_plainly(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | OPENING);

	return fd < 0 ? -errno : fd;
}

/* True if a child that widens its sight sees what is called so. */
static bool would_help(int dir, const char *name, int flags)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(widen() == 0 && open_plainly(dir, name, flags) >= 0 ? 0 : 1);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool rf_closed_is(unsigned mode)
{
	unsigned needed = S_ISDIR(mode) ? S_IRUSR | S_IXUSR : S_IRUSR;

	return (mode & needed) != needed;
}

void rf_closed_allow(void)
{
	is_allowed = true;
}

int rf_closed_open(int dir, const char *name, int flags)
{
	int fd = open_plainly(dir, name, flags);
	struct stat st;

	if (fd >= 0 && flags & O_DIRECTORY && faccessat(fd, ".", X_OK, AT_EACCESS) < 0)
		rf_fd_done(&fd); /* its names could be listed, and nothing be known of them */
	else if (fd != -EACCES)
		return fd;
	if (!is_allowed || is_wide || geteuid() == 0 ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_uid != geteuid() ||
	    !would_help(dir, name, flags))
		return -EACCES;
	is_wide = true;
	if (widen() < 0)
		return -EACCES;
	return open_plainly(dir, name, flags);
}
