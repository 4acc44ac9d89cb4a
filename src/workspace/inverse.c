/* The inverse of an apply: see inverse.h. */
#include "workspace/inverse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/copy.h"
#include "workspace/seen.h"

/* Copies a name; a folder of it can be written to until all is done, whatever its mode will be. */
static int copy(int from, const char *name, int to)
{
	RF_AUTO_FD int folder = -1;
	struct stat st;
	int code = rf_copy_exactly(from, name, to, name);

	if (code < 0 || fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
	    (st.st_mode & S_IRWXU) == S_IRWXU)
		return code;
	folder = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return folder < 0 || fchmod(folder, st.st_mode | S_IRWXU) < 0 ? -errno : 0;
}

/* How much of a path are folders that lie above the other, too, with their slash. */
static size_t shared(const char *path, const char *other)
{
	size_t len = 0;

	for (size_t i = 0; path[i] && path[i] == other[i]; i++)
		if (path[i] == '/')
			len = i + 1;
	return len;
}

/*
 * Gives the folder `path` and those above it what the directory's have, from the depth up.  Those that are above `next`, too,
 * are left to that one (NULL: none).
 */
static int finish_folders(int base, int inverse, const char *path, const char *next)
{
	size_t left = next ? shared(path, next) : 0;
	char at[PATH_MAX];
	char *slash;

	if (strlen(path) >= sizeof(at))
		return -ENAMETOOLONG;
	memcpy(at, path, strlen(path) + 1);
	do {
		RF_AUTO_FD int from = rf_path_open_within(base, at, O_RDONLY | O_DIRECTORY);
		RF_AUTO_FD int to = rf_path_open_within(inverse, at, O_RDONLY | O_DIRECTORY);
		int code = from >= 0 && to >= 0 ? rf_copy_look(from, to) : 0;

		if (code < 0)
			return code;
		slash = strrchr(at, '/');
		if (slash)
			*slash = '\0';
	} while (slash && (size_t)(slash - at) >= left);
	return next ? 0 : rf_copy_look(base, inverse);
}

/*
 * Makes the folders above `path` in the inverse, as the directory has them.  Those above `last`, for which that was done
 * before, are there.
 */
static int make_way(int base, int inverse, const char *path, const char *last)
{
	char folder[PATH_MAX];

	for (const char *slash = strchr(path + shared(path, last), '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		const char *name;
		RF_AUTO_FD int from = -1;
		RF_AUTO_FD int to = -1;
		struct stat st;
		int code;

		if ((size_t)(slash - path) >= sizeof(folder))
			return -ENAMETOOLONG;
		memcpy(folder, path, (size_t)(slash - path));
		folder[slash - path] = '\0';
		from = rf_copy_open_parent(base, folder, &name);
		to = rf_copy_open_parent(inverse, folder, &name);
		if (from == -ENOENT || from == -ENOTDIR || from == -ELOOP)
			return 0;
		if (from < 0 || to < 0)
			return from < 0 ? from : to;
		if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
			return 0;
		code = copy(from, name, to);
		if (code == -ENOENT)
			return 0; /* the folder itself is new, and a whiteout stands for it */
		if (code < 0 && code != -EEXIST)
			return code;
	}
	return 0;
}

static int keep_old(int base, int inverse, const char *path, const char *last)
{
	const char *name;
	RF_AUTO_FD int from = rf_copy_open_parent(base, path, &name);
	RF_AUTO_FD int to = -1;
	int code = make_way(base, inverse, path, last);

	if (code < 0)
		return code;
	to = rf_copy_open_parent(inverse, path, &name);
	if (to == -ENOENT || to == -ENOTDIR || to == -ELOOP)
		return 0; /* beneath a folder that is new itself, perhaps where a link was */
	if (to < 0)
		return to;
	code = from < 0 ? -ENOENT : copy(from, name, to);
	if (code == -ENOENT && mknodat(to, name, S_IFCHR | 0600, makedev(0, 0)) < 0)
		return -errno;
	return code == -ENOENT || code == -EEXIST ? 0 : code;
}

/* True if the change before the i-th is made in the same folder, which is finished with that one. */
static bool is_sibling(const struct rf_apply *apply, size_t i)
{
	const char *path = apply->delta.changes[i].path, *before, *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;

	if (i == 0 || S_ISDIR(apply->delta.changes[i].before.mode) ||
	    apply->stays[i - 1] != RF_APPLY_MADE)
		return false;
	before = apply->delta.changes[i - 1].path;
	return strncmp(before, path, len) == 0 && !strchr(before + len, '/');
}

/* The path of the nearest change before the i-th that is made, or NULL. */
static const char *made_before(const struct rf_apply *apply, size_t i)
{
	while (i-- > 0)
		if (apply->stays[i] == RF_APPLY_MADE)
			return apply->delta.changes[i].path;
	return NULL;
}

int rf_inverse_make(int pool, int base, const struct rf_apply *apply, bool is_durable,
		    char id[RF_LAYER_ID], struct rf_err *err)
{
	RF_AUTO_FD int held = -1;
	RF_AUTO_FD int inverse = -1;
	const char *last = "";
	struct rf_err ignored;
	struct stat st;
	int code = 0;

	if (rf_pool_name(id) < 0 || fstat(base, &st) < 0)
		return rf_fail(err, -EIO, "name a layer");
	held = rf_pool_make(pool, id, &st, err);
	inverse = held < 0 ? -1 : rf_pool_open_layer(pool, id);
	if (held < 0 || inverse < 0)
		return err->code ? err->code : rf_fail(err, inverse, "open a layer");
	if (fchmod(inverse, S_IRWXU) < 0)
		code = rf_fail(err, -errno, "open a layer");
	for (size_t i = 0; i < apply->delta.count && code == 0; i++) {
		const char *path = apply->delta.changes[i].path;

		if (apply->stays[i] == RF_APPLY_MADE) {
			code = keep_old(base, inverse, path, last);
			last = path;
		}
		if (code < 0)
			rf_fail(err, code, "keep %.100s", path);
	}
	for (size_t i = apply->delta.count; i-- > 0 && code == 0;) {
		const char *path = apply->delta.changes[i].path;

		if (apply->stays[i] == RF_APPLY_MADE && !is_sibling(apply, i))
			code = finish_folders(base, inverse, path, made_before(apply, i));
		if (code < 0)
			rf_fail(err, code, "keep the folders of %.100s", path);
	}
	if (code == 0 && is_durable && syncfs(inverse) < 0)
		code = rf_fail(err, -errno, "keep what will be overwritten");
	if (code == 0) {
		rf_pool_close(pool, id);
		return rf_fd_take(&held);
	}
	rf_pool_remove(pool, id, &ignored);
	return code;
}

int rf_inverse_has(int inverse, const char *path)
{
	char at[PATH_MAX];

	if (strlen(path) >= sizeof(at))
		return -ENAMETOOLONG;
	memcpy(at, path, strlen(path) + 1);
	for (;;) {
		struct rf_seen old;
		char *slash = strrchr(at, '/');
		int code = rf_seen_glance(inverse, at, &old);

		if (code < 0)
			return code;
		if (old.mode)
			return strcmp(at, path) == 0 || S_ISCHR(old.mode);
		if (!slash)
			return 0;
		*slash = '\0';
	}
}
