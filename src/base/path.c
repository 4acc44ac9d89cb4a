/* Paths beneath a directory descriptor: see path.h. */
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/kernel.h"

/* Opens what was checked, not the name again. */
static int reopen(int fd, int flags)
{
	char link[32];
	int fresh;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	fresh = open(link, flags | O_CLOEXEC);
	return fresh < 0 ? -errno : fresh;
}

/*
 * The same as openat2 would do, for kernels and filters without it.  A mount it knows by its device; one of the same
 * file system it does not notice.
 */
static int walk(int dir, const char *path, int flags, bool stays_within)
{
	RF_AUTO_FD int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[256];
	struct stat st, top;

	if (at < 0 || fstat(at, &top) < 0)
		return -errno;
	while (at >= 0) {
		size_t len = strcspn(path, "/");
		const char *rest = path + len + strspn(path + len, "/");
		bool is_last = *rest == '\0';
		int next;

		if (len >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		next = openat(at, len ? name : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC);
		rf_fd_done(&at);
		at = next;
		if (at < 0 || fstat(at, &st) < 0)
			return -errno;
		if (S_ISLNK(st.st_mode))
			return -ELOOP;
		if (stays_within && st.st_dev != top.st_dev)
			return -EXDEV;
		if (path[len] == '/' && !S_ISDIR(st.st_mode))
			return -ENOTDIR;
		if (is_last && flags & O_PATH)
			return rf_fd_take(&at);
		if (is_last)
			return reopen(at, flags);
		path = rest;
	}
	return -errno;
}

/* openat2 would follow a `..` that stays beneath; here a path is a list of names. */
static bool has_dots(const char *path)
{
	for (; *path; path += strcspn(path, "/"), path += strspn(path, "/"))
		if (strncmp(path, "..", 2) == 0 && (path[2] == '/' || path[2] == '\0'))
			return true;
	return false;
}

static int open_it(int dir, const char *path, int flags, bool stays_within)
{
	struct rf_kernel_open_how how = {
		.flags = (uint64_t)((flags & ~O_NOFOLLOW) | O_CLOEXEC),
		.resolve = RF_RESOLVE_BENEATH | RF_RESOLVE_NO_SYMLINKS | RF_RESOLVE_NO_MAGICLINKS |
			   (stays_within ? RF_RESOLVE_NO_XDEV : 0),
	};
	int fd;

	path += strspn(path, "/");
	if (has_dots(path))
		return -EXDEV;
	fd = rf_kernel_openat2(dir, *path ? path : ".", &how);
	if (fd >= 0)
		return fd;
	if (errno == ENOSYS || errno == EPERM)
		return walk(dir, *path ? path : ".", flags & ~O_NOFOLLOW, stays_within);
	return -errno;
}

int rf_path_open_beneath(int dir, const char *path, int flags)
{
	return open_it(dir, path, flags, false);
}

int rf_path_open_within(int dir, const char *path, int flags)
{
	return open_it(dir, path, flags, true);
}

int rf_path_is_beneath(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (strcmp(top, "/") == 0)
		return 1;
	return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/');
}
