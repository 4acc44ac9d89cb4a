/* A walk through a tree of the host: see tree-walk.h. */
#include "base/tree-walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h> /* base/limits.h would be found as <limits.h> here */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"

#define LISTING 32768 /* bytes of names at a time */

/* A folder yet to be looked into. */
struct folder {
	struct folder *next;
	size_t path_len;
	char bytes[]; /* the tag, then the path */
};

struct walker {
	struct rf_tree_walk *walk;
	int top;
	struct folder *first, **last;
	size_t bytes; /* of those folders */
	int dir;      /* the folder being looked into */
	const struct folder *at;
	char path[PATH_MAX];
};

/* What getdents64 gives; see getdents(2). */
struct entry {
	uint64_t ino;
	int64_t offset;
	unsigned short len;
	unsigned char type;
	char name[];
};

static const char *path_of(const struct walker *w, const struct folder *folder)
{
	return folder->bytes + w->walk->tag_size;
}

static size_t size_of(const struct walker *w, size_t path_len)
{
	return sizeof(struct folder) + w->walk->tag_size + path_len + 1;
}

static int add_folder(struct walker *w, const char *path, const void *tag)
{
	size_t len = strlen(path), tag_size = w->walk->tag_size, size = size_of(w, len);
	struct folder *folder;

	if (w->bytes + size > RF_MAX_WALK_BYTES)
		return -E2BIG;
	folder = malloc(size);
	if (!folder)
		return -ENOMEM;
	w->bytes += size;
	folder->next = NULL;
	folder->path_len = len;
	if (tag_size)
		memcpy(folder->bytes, tag, tag_size);
	memcpy(folder->bytes + tag_size, path, len + 1);
	*w->last = folder;
	w->last = &folder->next;
	return 0;
}

/* True for what a change by others during the walk leads to. */
static bool is_gone(int code)
{
	return code == -ENOENT || code == -ENOTDIR || code == -ELOOP || code == -ESRCH;
}

static int visit(struct walker *w, const char *name, mode_t type, void *tag)
{
	struct rf_tree_walk *walk = w->walk;
	struct rf_tree_walk_entry entry = {
		.dir = w->dir, .name = name, .path = w->path, .type = type, .tag = w->at->bytes
	};
	int len = snprintf(w->path, sizeof(w->path), "%s%s%s", path_of(w, w->at),
			   w->at->path_len ? "/" : "", name);
	int code;

	if (len >= (int)sizeof(w->path))
		return -ENAMETOOLONG;
	if (++walk->seen > walk->max)
		return -E2BIG;
	if (type == 0) {
		struct stat st;

		if (fstatat(w->dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
			return is_gone(-errno) || errno == EACCES ? 0 : -errno;
		entry.type = st.st_mode & S_IFMT;
	}
	code = walk->on_entry(walk->data, &entry, tag);
	return code > 0 ? add_folder(w, w->path, tag) : code;
}

/* Looks for the few names that matter. */
static int look_up(struct walker *w, void *tag)
{
	char name[NAME_MAX + 1];
	int code = 0;

	for (size_t i = 0; code >= 0 && w->walk->only(w->walk->data, path_of(w, w->at),
						      w->at->bytes, i, name) > 0;
	     i++)
		code = visit(w, name, 0, tag);
	return code;
}

static int list(struct walker *w, void *tag)
{
	static const mode_t types[] = {
		[DT_DIR] = S_IFDIR,   [DT_REG] = S_IFREG, [DT_LNK] = S_IFLNK, [DT_FIFO] = S_IFIFO,
		[DT_SOCK] = S_IFSOCK, [DT_CHR] = S_IFCHR, [DT_BLK] = S_IFBLK,
	};
	_Alignas(struct entry) char buffer[LISTING];
	long n;

	while ((n = syscall(SYS_getdents64, w->dir, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(buffer + at);
			int code = 0;

			at += e->len;
			if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
				code = visit(w, e->name,
					     e->type < RF_LEN(types) ? types[e->type] : 0, tag);
			if (code < 0)
				return code;
		}
	return n < 0 && !is_gone(-errno) ? -errno : 0;
}

bool rf_tree_walk_can_search(int dir)
{
	struct stat st;

	return fstatat(dir, ".", &st, AT_NO_AUTOMOUNT) == 0 || errno != EACCES;
}

static int look_into(struct walker *w, void *tag)
{
	struct rf_tree_walk *walk = w->walk;
	const char *path = path_of(w, w->at);
	char name[NAME_MAX + 1];
	bool is_listed = !walk->only || walk->only(walk->data, path, w->at->bytes, 0, name) < 0;
	RF_AUTO_FD int dir = rf_path_open_beneath(w->top, *path ? path : ".",
						  (is_listed ? O_RDONLY : O_PATH) | O_DIRECTORY);

	if (walk->on_closed && (dir == -EACCES || (dir >= 0 && !rf_tree_walk_can_search(dir))))
		return walk->on_closed(walk->data, path);
	if (dir < 0)
		return is_gone(dir) || dir == -EACCES ? 0 : dir;
	w->dir = dir;
	return (is_listed ? list : look_up)(w, tag);
}

int rf_tree_walk_run(struct rf_tree_walk *walk, int top)
{
	struct walker *w = calloc(1, sizeof(*w));
	void *tag = malloc(walk->tag_size + 1);
	int code = w && tag ? 0 : -ENOMEM;

	if (code == 0) {
		w->walk = walk;
		w->top = top;
		w->last = &w->first;
		code = add_folder(w, "", walk->tag);
	}
	while (w && w->first) {
		struct folder *folder = w->first;

		w->at = folder;
		if (code >= 0)
			code = look_into(w, tag);
		w->first = folder->next;
		w->bytes -= size_of(w, folder->path_len);
		if (!w->first)
			w->last = &w->first;
		free(folder);
	}
	free(tag);
	free(w);
	return code < 0 ? code : 0;
}
