/* The tree that a stack of layers shows: see merged.h. */
#include "workspace/merged.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "workspace/closed.h"

#define OPAQUE    "user.overlay.opaque"
#define NAMES_MAX ((size_t)4 << 20) /* in one folder */

/* ------------------------------------------------------------- one name */

/* One name beneath a folder; kernels and filters without openat2 know the link and not the mount. */
static int open_name(int dir, const char *name, int flags)
{
	struct rf_kernel_open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RF_RESOLVE_BENEATH | RF_RESOLVE_NO_SYMLINKS | RF_RESOLVE_NO_MAGICLINKS |
			   RF_RESOLVE_NO_XDEV,
	};
	int fd = rf_kernel_openat2(dir, name, &how);

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		return rf_closed_open(dir, name, flags);
	return fd < 0 ? -errno : fd;
}

static bool is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

static bool is_opaque(int folder)
{
	char value[2];

	return fgetxattr(folder, OPAQUE, value, sizeof(value)) == 1 && value[0] == 'y';
}

int rf_merged_look(const struct rf_merged *in, const char *name, struct rf_merged_entry *ret_entry)
{
	*ret_entry = (struct rf_merged_entry){ 0 };
	for (size_t i = 0; i < in->count; i++) {
		if (fstatat(in->dirs[i], name, &ret_entry->st, AT_SYMLINK_NOFOLLOW) == 0) {
			ret_entry->at = i;
			return is_whiteout(&ret_entry->st) ? -ENOENT : 0;
		}
		if (errno != ENOENT)
			return -errno;
	}
	return -ENOENT;
}

int rf_merged_open(const struct rf_merged *in, const char *name)
{
	struct rf_merged_entry entry;
	struct stat st;
	int code = rf_merged_look(in, name, &entry), file;

	if (code < 0)
		return code;
	if (!S_ISREG(entry.st.st_mode))
		return -EINVAL;
	file = open_name(in->dirs[entry.at], name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (file >= 0 && (fstat(file, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(file); /* replaced meanwhile */
		return -EINVAL;
	}
	return file;
}

/* ------------------------------------------------------------- folders */

static int make_room(struct rf_merged *folder, size_t count)
{
	*folder = (struct rf_merged){ .dirs = calloc(count + 1, sizeof(*folder->dirs)),
				      .which = calloc(count + 1, sizeof(*folder->which)) };
	return folder->dirs && folder->which ? 0 : -ENOMEM;
}

void rf_merged_done(struct rf_merged *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		close(folder->dirs[i]);
	free(folder->dirs);
	free(folder->which);
	*folder = (struct rf_merged){ 0 };
}

int rf_merged_open_top(const struct rf_stack *stack, struct rf_merged *ret_folder)
{
	int code = make_room(ret_folder, stack->count);

	for (size_t i = 0; i < stack->count && code == 0; i++) {
		int copy = rf_fd_copy(stack->layers[i], 3);

		if (copy < 0)
			return -EMFILE;
		ret_folder->dirs[ret_folder->count] = copy;
		ret_folder->which[ret_folder->count++] = i;
	}
	return code;
}

int rf_merged_enter(const struct rf_merged *in, const char *name, struct rf_merged *ret_folder)
{
	struct rf_merged_entry entry = { 0 };
	int code = make_room(ret_folder, in->count);

	if (code == 0)
		code = rf_merged_look(in, name, &entry);
	if (code == 0 && !S_ISDIR(entry.st.st_mode))
		code = S_ISLNK(entry.st.st_mode) ? -ELOOP : -ENOTDIR;
	for (size_t i = code == 0 ? entry.at : in->count; i < in->count; i++) {
		int dir = open_name(in->dirs[i], name, O_RDONLY | O_DIRECTORY);

		if (dir == -ENOENT)
			continue; /* not in this layer */
		if (dir == -ENOTDIR || dir == -ELOOP)
			return 0; /* deleted, or something else, further down */
		if (dir < 0)
			return dir;
		ret_folder->dirs[ret_folder->count] = dir;
		ret_folder->which[ret_folder->count++] = in->which[i];
		if (faccessat(dir, ".", X_OK, AT_EACCESS) < 0)
			return -errno; /* its names could be listed, and nothing be known of them */
		if (is_opaque(dir))
			return 0;
	}
	return code;
}

int rf_merged_reopen(const struct rf_stack *stack, const char *path, const size_t *which,
		     size_t count, struct rf_merged *ret_folder)
{
	int code = make_room(ret_folder, count);

	for (size_t i = 0; i < count && code == 0; i++) {
		int dir =
			rf_path_open_within(stack->layers[which[i]], path, O_RDONLY | O_DIRECTORY);

		if (dir < 0)
			return dir;
		ret_folder->dirs[ret_folder->count] = dir;
		ret_folder->which[ret_folder->count++] = which[i];
	}
	return code;
}

/* ------------------------------------------------------------- what is in them */

static int add(struct rf_merged_names *names, const char *name)
{
	if (names->count == names->room) {
		size_t room = names->room ? names->room * 2 : 32;
		char **more =
			room <= NAMES_MAX ? realloc(names->items, room * sizeof(*more)) : NULL;

		if (!more)
			return room <= NAMES_MAX ? -ENOMEM : -E2BIG;
		names->items = more;
		names->room = room;
	}
	names->items[names->count] = strdup(name);
	return names->items[names->count++] ? 0 : -ENOMEM;
}

static int list_layer(int folder, struct rf_merged_names *names)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);

	if (!stream) {
		code = -errno;
		rf_fd_done(&copy);
		return code;
	}
	for (struct dirent *entry; code == 0 && (entry = readdir(stream));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			code = add(names, entry->d_name);
	closedir(stream);
	return code;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* True for the first of equal names, if it is there. */
static bool is_shown(const struct rf_merged *in, const struct rf_merged_names *names, size_t i,
		     size_t kept)
{
	struct rf_merged_entry entry;

	if (kept > 0 && strcmp(names->items[kept - 1], names->items[i]) == 0)
		return false;
	return rf_merged_look(in, names->items[i], &entry) == 0;
}

int rf_merged_list(const struct rf_merged *in, struct rf_merged_names *ret_names)
{
	size_t kept = 0;
	int code = 0;

	*ret_names = (struct rf_merged_names){ 0 };
	for (size_t i = 0; i < in->count && code == 0; i++)
		code = list_layer(in->dirs[i], ret_names);
	if (ret_names->count > 1)
		qsort(ret_names->items, ret_names->count, sizeof(*ret_names->items), by_text);
	for (size_t i = 0; code == 0 && i < ret_names->count; i++) {
		if (is_shown(in, ret_names, i, kept))
			ret_names->items[kept++] = ret_names->items[i];
		else
			free(ret_names->items[i]);
	}
	if (code == 0)
		ret_names->count = kept;
	return code;
}

void rf_merged_names_done(struct rf_merged_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct rf_merged_names){ 0 };
}

/* ------------------------------------------------------------- paths */

int rf_merged_next(const char **path, char ret_name[NAME_MAX + 1])
{
	size_t len;

	do {
		*path += strspn(*path, "/");
		len = strcspn(*path, "/");
		if (len == 0) {
			ret_name[0] = '\0';
			return 0;
		}
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(ret_name, *path, len);
		ret_name[len] = '\0';
		*path += len;
		if (strcmp(ret_name, "..") == 0)
			return -EINVAL;
	} while (strcmp(ret_name, ".") == 0);
	return 1;
}

/* Goes from a folder to one in it. */
static int descend(struct rf_merged *folder, const char *name)
{
	struct rf_merged below;
	int code = rf_merged_enter(folder, name, &below);

	rf_merged_done(folder);
	folder->dirs = below.dirs;
	folder->which = below.which;
	folder->count = below.count;
	return code;
}

int rf_merged_find(const struct rf_stack *stack, const char *path, struct rf_merged *ret_folder,
		   char ret_name[NAME_MAX + 1])
{
	char next[NAME_MAX + 1];
	int code, more;

	*ret_folder = (struct rf_merged){ 0 };
	ret_name[0] = '\0';
	if (*path == '/')
		return -EINVAL;
	code = rf_merged_open_top(stack, ret_folder);
	more = code == 0 ? rf_merged_next(&path, ret_name) : code;
	while (more > 0 && (more = rf_merged_next(&path, next)) > 0) {
		code = descend(ret_folder, ret_name);
		if (code < 0)
			return code;
		memcpy(ret_name, next, sizeof(next));
	}
	return more;
}
