/* One file, link or empty folder, copied: see copy.h. */
#include "workspace/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/attributes.h"
#include "workspace/closed.h"

#define NOTES     "user.overlay." /* overlayfs's own attributes */
#define LIST_MAX  (64 * 1024)     /* what xattr(7) allows, for names and for a value */
#define PIECE     ((size_t)1 << 20)
#define PERMITTED 0777
#define ALL_BITS  07777
/* Who makes something in such a folder gives it the folder's group: what a box can't set, but take over. */
#define HANDED_DOWN (S_ISGID | S_ISVTX)

int rf_copy_open_parent(int top, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return rf_path_open_within(top, ".", O_RDONLY | O_DIRECTORY);
	if ((size_t)(slash - path) >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, path, (size_t)(slash - path));
	folder[slash - path] = '\0';
	return rf_path_open_within(top, folder, O_RDONLY | O_DIRECTORY);
}

mode_t rf_copy_mode(mode_t mode)
{
	return mode & (S_ISDIR(mode) ? PERMITTED | HANDED_DOWN : PERMITTED);
}

static int copy_range(int from, int to, off_t at, off_t end, char *piece, size_t room)
{
	while (at < end) {
		size_t wanted = (size_t)(end - at) < room ? (size_t)(end - at) : room;
		ssize_t n = pread(from, piece, wanted, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0; /* it shrank meanwhile */
		for (ssize_t done = 0, m; done < n; done += m) {
			m = pwrite(to, piece + done, (size_t)(n - done), at + done);
			if (m < 0 && errno == EINTR)
				m = 0;
			else if (m < 0)
				return -errno;
		}
		at += n;
	}
	return 0;
}

static int copy_data(int from, int to, off_t size, char *piece, size_t room)
{
	off_t at = 0;

	while (at < size) {
		off_t data = lseek(from, at, SEEK_DATA), end;
		int code;

		if (data < 0 && errno == ENXIO)
			return 0; /* only a hole is left */
		if (data < 0)
			data = at; /* a file system that does not tell */
		end = lseek(from, data, SEEK_HOLE);
		code = copy_range(from, to, data, end > data ? end : size, piece, room);
		if (code < 0)
			return code;
		at = end > data ? end : size;
	}
	return 0;
}

/* Data where there is data, and holes where there are holes; the very blocks where the file system can share them. */
static int copy_content(int from, int to, off_t size)
{
	size_t room = size < (off_t)PIECE ? (size_t)size : PIECE;
	char *piece;
	int code;

	if (size > 0 && ioctl(to, FICLONE, from) == 0)
		return 0;
	if (ftruncate(to, size) < 0)
		return -errno;
	if (size == 0)
		return 0;
	piece = malloc(room);
	code = piece ? copy_data(from, to, size, piece, room) : -ENOMEM;
	free(piece);
	return code;
}

/* A pipe says nothing of its length: it is counted as it comes. */
static int copy_pipe_content(int from, int to, uint64_t most)
{
	char *piece = malloc(PIECE);
	ssize_t n = piece ? 0 : -ENOMEM;
	int code = 0;

	while (piece && code == 0 && (n = rf_fd_read(from, piece, PIECE)) > 0) {
		code = (uint64_t)n > most ? -EDQUOT : rf_fd_write(to, piece, (size_t)n);
		most -= code == 0 ? (uint64_t)n : 0;
	}
	free(piece);
	return n < 0 ? (int)n : code;
}

int rf_copy_stream(int from, int to, uint64_t most)
{
	struct stat st;

	if (fstat(from, &st) < 0)
		return -errno;
	/* One that was read from before goes on there. */
	if (!S_ISREG(st.st_mode) || lseek(from, 0, SEEK_CUR) != 0)
		return copy_pipe_content(from, to, most);
	if ((uint64_t)st.st_size > most && (uint64_t)st.st_blocks * 512 > most)
		return -EDQUOT;
	return copy_content(from, to, st.st_size);
}

/* What can't be set on the other side (a namespace that is not ours, a file system without) is left out. */
static int copy_attributes(int from, int to)
{
	char *names = malloc(LIST_MAX), *value = malloc(LIST_MAX);
	ssize_t len = names && value ? flistxattr(from, names, LIST_MAX) : -1;

	for (char *name = names; len > 0 && name < names + len; name += strlen(name) + 1) {
		ssize_t size = strncmp(name, NOTES, sizeof(NOTES) - 1) == 0 ||
					       strncmp(name, "user.", 5) != 0
				       ? -1
				       : fgetxattr(from, name, value, LIST_MAX);

		if (size >= 0)
			fsetxattr(to, name, value, (size_t)size, 0);
	}
	free(names);
	free(value);
	return 0;
}

/* With a list, the mode's group bits are the most that any name on it has, and not the group's own. */
static int copy_lists(int from, int to, mode_t mode)
{
	static const char *const lists[] = { "system.posix_acl_access",
					     "system.posix_acl_default" };
	char *value = malloc(LIST_MAX);
	int code = value ? 0 : -ENOMEM;

	for (size_t i = 0; i < RF_LEN(lists) && code == 0; i++) {
		ssize_t size = fgetxattr(from, lists[i], value, LIST_MAX);

		if (size > 0 && fsetxattr(to, lists[i], value, (size_t)size, 0) < 0 && i == 0)
			code = fchmod(to, mode & ~(mode_t)S_IRWXG) < 0 ? -errno : 0;
	}
	free(value);
	return code;
}

static int finish(int from, int to, const struct stat *st, bool is_exact)
{
	const mode_t mode = is_exact ? st->st_mode & ALL_BITS : rf_copy_mode(st->st_mode);
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	int code;

	copy_attributes(from, to);
	if (geteuid() == 0 && fchown(to, st->st_uid, st->st_gid) < 0)
		return -errno;
	if (fchmod(to, mode) < 0)
		return -errno;
	code = copy_lists(from, to, mode);
	return code == 0 && futimens(to, times) < 0 ? -errno : code;
}

int rf_copy_look(int from, int to)
{
	struct stat st;

	return fstat(from, &st) < 0 ? -errno : finish(from, to, &st, true);
}

static int copy_file(int from, const char *name, int to, const char *as, const struct stat *seen,
		     bool is_exact)
{
	RF_AUTO_FD int in = rf_closed_open(from, name, O_RDONLY | O_NONBLOCK);
	RF_AUTO_FD int out = -1;
	struct stat st;
	int code;

	if (in < 0 || fstat(in, &st) < 0)
		return in < 0 ? in : -errno;
	if (st.st_ino != seen->st_ino || !S_ISREG(st.st_mode))
		return -EAGAIN; /* replaced meanwhile */
	out = openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	code = copy_content(in, out, st.st_size);
	if (code == 0)
		code = finish(in, out, &st, is_exact);
	if (code < 0)
		unlinkat(to, as, 0);
	return code;
}

static int copy_folder(int from, const char *name, int to, const char *as, bool is_exact)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	RF_AUTO_FD int in = rf_closed_open(from, name, O_RDONLY | O_DIRECTORY);
	RF_AUTO_FD int out = -1;
	struct stat st;
	int code;

	if (in < 0 || fstat(in, &st) < 0 || mkdirat(to, as, 0700) < 0)
		return in < 0 ? in : -errno;
	out = openat(to, as, flags);
	code = out < 0 ? -errno : finish(in, out, &st, is_exact);
	if (code < 0)
		unlinkat(to, as, AT_REMOVEDIR);
	return code;
}

static int copy_link(int from, const char *name, int to, const char *as, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	char target[PATH_MAX];
	ssize_t len = readlinkat(from, name, target, sizeof(target) - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	if (symlinkat(target, to, as) < 0)
		return -errno;
	if (geteuid() == 0)
		fchownat(to, as, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW);
	utimensat(to, as, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

int rf_copy_attributes(int from, const char *name, int to, const char *as)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	RF_AUTO_FD int in = openat(from, name, flags);
	RF_AUTO_FD int out = in < 0 ? -1 : openat(to, as, flags);
	struct rf_attributes attributes;
	int code;

	if (in < 0 || out < 0)
		return -errno;
	code = rf_attributes_read(in, &attributes);
	if (code == 0)
		code = rf_attributes_write(out, &attributes);
	rf_attributes_done(&attributes);
	return code;
}

/* A pipe in a file system is a name and a mode; what is in it belongs to those who have it open. */
static int copy_pipe(int to, const char *as, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	char link[32];
	RF_AUTO_FD int there = -1;

	if (mknodat(to, as, S_IFIFO | 0600, 0) < 0)
		return -errno;
	there = openat(to, as, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", there);
	if (geteuid() == 0)
		fchownat(to, as, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW);
	if (there < 0 || chmod(link, st->st_mode & ALL_BITS) < 0) {
		unlinkat(to, as, 0);
		return -errno;
	}
	utimensat(to, as, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

static int copy(int from, const char *name, int to, const char *as, bool is_exact)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return copy_file(from, name, to, as, &st, is_exact);
	case S_IFDIR:
		return copy_folder(from, name, to, as, is_exact);
	case S_IFLNK:
		return copy_link(from, name, to, as, &st);
	case S_IFIFO:
		return is_exact ? copy_pipe(to, as, &st) : -EOPNOTSUPP;
	default:
		return -EOPNOTSUPP; /* a socket or a device has no place in a directory */
	}
}

int rf_copy(int from, const char *name, int to, const char *as)
{
	return copy(from, name, to, as, false);
}

int rf_copy_exactly(int from, const char *name, int to, const char *as)
{
	return copy(from, name, to, as, true);
}
