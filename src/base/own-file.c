/* Files that speak for the caller: see own-file.h. */
#include "base/own-file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/slurp.h"

#define MAX_LINKS 40 /* as the kernel has it: path_resolution(7) */

/* Where the walk stands: everything up to `at` was found trustworthy. */
struct walk {
	int at;              /* the folder reached so far */
	char rest[PATH_MAX]; /* what is still to be walked, from there */
	char seen[PATH_MAX]; /* the names walked so far, for errors */
	int links;
	struct rf_err *err;
};

static bool is_mine(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Judges one thing on the way.  Links have no mode of their own: whoever owns one decides. */
static int judge(const struct walk *walk, const struct stat *st)
{
	bool is_shared = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (!is_mine(st)) {
		rf_fail_say(walk->err, -EPERM,
			    "%.160s belongs to uid %u, neither to you nor to root", walk->seen,
			    (unsigned)st->st_uid);
		return rf_fail_hint(walk->err, "read it, then make it yours: chown %u %.120s",
				    (unsigned)geteuid(), walk->seen);
	}
	if (!S_ISLNK(st->st_mode) && st->st_mode & (S_IWGRP | S_IWOTH) && !is_shared) {
		rf_fail_say(walk->err, -EPERM, "%.160s can be written by others (mode %04o)",
			    walk->seen, (unsigned)st->st_mode & 07777);
		return rf_fail_hint(walk->err, "chmod go-w %.150s", walk->seen);
	}
	return 0;
}

/* Takes the next name off the rest; false at the end.  Double slashes and `.` are passed over. */
static bool take_name(struct walk *walk, char name[NAME_MAX + 1], int *ret_code)
{
	const char *from = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(from, "/");

	*ret_code = len > NAME_MAX ? -ENAMETOOLONG : 0;
	if (len == 0 || len > NAME_MAX)
		return false;
	memcpy(name, from, len);
	name[len] = '\0';
	memmove(walk->rest, from + len, strlen(from + len) + 1);
	return true;
}

/* Notes where the walk is, for a person to read. */
static void note(struct walk *walk, const char *name)
{
	size_t len = strlen(walk->seen);

	if (strcmp(name, "..") == 0) {
		char *slash = strrchr(walk->seen, '/');

		if (slash)
			*slash = '\0';
	} else if (strcmp(name, ".") != 0) {
		snprintf(walk->seen + len, sizeof(walk->seen) - len, "/%s", name);
	}
}

/* Puts a link's target before the rest of the way. */
static int follow(struct walk *walk, int link)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t len = readlinkat(link, "", target, sizeof(target) - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	if (++walk->links > MAX_LINKS)
		return -ELOOP;
	if (snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, strlen(rest) + 1);
	note(walk, "..");
	if (target[0] != '/')
		return 0;
	rf_fd_done(&walk->at);
	walk->seen[0] = '\0';
	walk->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return walk->at < 0 ? -errno : 0;
}

/*
 * Walks to the file and gives its descriptor.  Each name is opened as itself and judged by that
 * descriptor, so a link that is put in its place meanwhile changes nothing.
 */
static int walk_to(struct walk *walk)
{
	char name[NAME_MAX + 1];
	int code;

	while (take_name(walk, name, &code)) {
		RF_AUTO_FD int next = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		note(walk, name);
		if (next < 0 || fstat(next, &st) < 0)
			return rf_fail(walk->err, -errno, "%.160s", walk->seen);
		if (judge(walk, &st) < 0)
			return walk->err->code;
		if (S_ISLNK(st.st_mode)) {
			code = follow(walk, next);
			if (code < 0)
				return rf_fail(walk->err, code, "follow %.160s", walk->seen);
			continue;
		}
		rf_fd_done(&walk->at);
		walk->at = rf_fd_take(&next);
	}
	return code < 0 ? rf_fail(walk->err, code, "%.160s", walk->seen) : 0;
}

/* Opens for reading what the walk arrived at: the same file, not its name again. */
static int open_reached(const struct walk *walk)
{
	struct stat st;
	char link[32];
	int fd;

	if (fstat(walk->at, &st) < 0)
		return rf_fail(walk->err, -errno, "%.160s", walk->seen);
	if (!S_ISREG(st.st_mode)) {
		rf_fail_say(walk->err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
			    "%.160s is not a plain file", walk->seen);
		return rf_fail_hint(walk->err, "move it away, or put a file there");
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", walk->at);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? rf_fail(walk->err, -errno, "can't read %.160s", walk->seen) : fd;
}

int rf_own_file_read(const char *path, size_t max, struct rf_buf *text, struct rf_err *err)
{
	struct walk walk = { .at = -1, .err = err };
	RF_AUTO_FD int fd = -1;
	int code;

	rf_buf_init(text, max);
	if (path[0] != '/')
		return rf_fail_say(err, -EINVAL, "%.160s is not an absolute path", path);
	if (strlen(path) >= sizeof(walk.rest))
		return rf_fail_say(err, -ENAMETOOLONG, "%.100s... is too long for a path", path);
	if (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return rf_fail_say(err, -ENOENT, "there is no %.160s", path);
	memcpy(walk.rest, path, strlen(path) + 1);
	/* The root itself is beyond doubt: who owns it, owns this program as well. */
	walk.at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	code = walk.at < 0 ? rf_fail(err, -errno, "/") : walk_to(&walk);
	if (code == 0)
		code = fd = open_reached(&walk);
	rf_fd_done(&walk.at);
	if (code < 0)
		return code;
	if (rf_slurp_fd(fd, max, text, err) < 0)
		return rf_fail_in(err, "%.160s", path);
	return 0;
}
