/* A layer copied as it is: see duplicate.h. */
#include "workspace/duplicate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/closed.h"
#include "workspace/copy.h"

#define OPAQUE   "user.overlay.opaque"
#define FOLDER   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PERMITS  07777
#define ENTRANCE 0700 /* what its owner needs to work in a folder */

/* A folder that is being copied: the names in it, of which those before `next` are done. */
struct level {
	char *names; /* each with its end */
	size_t len, size, next;
	size_t path_len; /* of the folder's own path */
	mode_t mode;
	bool was_opened; /* and is to be closed again */
};

/* A file with several names: where its copy is. */
struct linked {
	ino_t ino;
	char *path;
};

struct job {
	int top, from, to; /* the copy's top; the folders that we are in */
	bool with_sockets;
	struct level *levels;
	size_t depth, room;
	struct linked *linked; /* a hash table, by number */
	size_t slots, linked_count;
	char path[PATH_MAX + 1]; /* of the folder that we are in, with a slash behind it */
	bool is_nameless;        /* its path is longer than that */
};

/* ------------------------------------------------------------- names of one file */

/* The slot of a file: its own, or the empty one where it belongs. */
static struct linked *find_slot(const struct job *job, ino_t ino)
{
	size_t at = (size_t)(ino * 0x9e3779b97f4a7c15u >> 32) & (job->slots - 1);

	while (job->linked[at].path && job->linked[at].ino != ino)
		at = (at + 1) & (job->slots - 1);
	return &job->linked[at];
}

/* At least half of the slots are empty. */
static int grow(struct job *job)
{
	struct linked *old = job->linked;
	size_t count = job->slots;

	if (2 * (job->linked_count + 1) <= count)
		return 0;
	job->slots = count ? 2 * count : 64;
	job->linked = calloc(job->slots, sizeof(*job->linked));
	if (!job->linked) {
		job->linked = old;
		job->slots = count;
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		if (old[i].path)
			*find_slot(job, old[i].ino) = old[i];
	free(old);
	return 0;
}

/* Gives the copy of a file that has another name already.  1: it is done; 0: it is the first, or can't be found. */
static int join_names(struct job *job, const char *name, const struct stat *st)
{
	struct linked *slot;

	if (st->st_nlink < 2)
		return 0;
	if (grow(job) < 0)
		return -ENOMEM;
	slot = find_slot(job, st->st_ino);
	if (slot->path)
		return linkat(job->top, slot->path, job->to, name, 0) == 0;
	if (job->is_nameless)
		return 0;
	slot->ino = st->st_ino;
	if (asprintf(&slot->path, "%s%s", job->path, name) < 0) {
		slot->path = NULL;
		return -ENOMEM;
	}
	job->linked_count++;
	return 0;
}

/* ------------------------------------------------------------- one name */

/* Changes the mode of what is called so, which is no link, whatever its mode. */
static int set_mode(int dir, const char *name, mode_t mode)
{
	RF_AUTO_FD int there = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", there);
	return there < 0 || chmod(link, mode & PERMITS) < 0 ? -errno : 0;
}

/* A file that its owner may not read, for as long as it takes. */
static int copy_closed(struct job *job, const char *name, const struct stat *st)
{
	int code = set_mode(job->from, name, st->st_mode | S_IRUSR);

	if (code == 0)
		code = rf_copy_exactly(job->from, name, job->to, name);
	set_mode(job->from, name, st->st_mode);
	return code == 0 ? set_mode(job->to, name, st->st_mode) : code;
}

static int copy_file(struct job *job, const char *name, const struct stat *st)
{
	int code = join_names(job, name, st);

	if (code != 0)
		return code < 0 ? code : 0;
	code = rf_copy_exactly(job->from, name, job->to, name);
	return code == -EACCES && S_ISREG(st->st_mode) ? copy_closed(job, name, st) : code;
}

/* What has a number and no content: a whiteout, since no box makes other devices, or a socket. */
static int copy_node(struct job *job, const char *name, const struct stat *st)
{
	if (S_ISSOCK(st->st_mode) && !job->with_sockets)
		return 0;
	if (S_ISCHR(st->st_mode) && st->st_rdev != 0)
		return -EOPNOTSUPP;
	if (mknodat(job->to, name, (st->st_mode & S_IFMT) | 0600, makedev(0, 0)) < 0)
		return -errno;
	if (geteuid() == 0 &&
	    fchownat(job->to, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISSOCK(st->st_mode) ? set_mode(job->to, name, st->st_mode) : 0;
}

/* ------------------------------------------------------------- folders */

static int add_name(struct level *level, const char *name)
{
	size_t len = strlen(name) + 1;

	if (level->len + len > level->size) {
		size_t size = (level->len + len) * 2;
		char *names = realloc(level->names, size);

		if (!names)
			return -ENOMEM;
		level->names = names;
		level->size = size;
	}
	memcpy(level->names + level->len, name, len);
	level->len += len;
	return 0;
}

static int list_names(int folder, struct level *level)
{
	int listed = openat(folder, ".", FOLDER), code = 0;
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;

	if (!dir) {
		code = -errno;
		rf_fd_done(&listed);
		return code;
	}
	while (code == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			code = add_name(level, entry->d_name);
	closedir(dir);
	return code;
}

/* Lists the folder that we are in, of that mode, and goes on in it. */
static int push(struct job *job, mode_t mode, bool was_opened, size_t path_len)
{
	struct level *level;

	if (job->depth == job->room) {
		size_t room = job->room ? 2 * job->room : 16;
		struct level *levels = realloc(job->levels, room * sizeof(*levels));

		if (!levels)
			return -ENOMEM;
		job->levels = levels;
		job->room = room;
	}
	level = &job->levels[job->depth++];
	*level = (struct level){ .mode = mode, .was_opened = was_opened, .path_len = path_len };
	return list_names(job->from, level);
}

static size_t extend_path(struct job *job, size_t at, const char *name)
{
	size_t len = at + strlen(name) + 1;

	if (job->is_nameless || len > PATH_MAX) {
		job->is_nameless = true;
		return len;
	}
	memcpy(job->path + at, name, len - at - 1);
	memcpy(job->path + len - 1, "/", 2);
	return len;
}

static int enter(struct job *job, const char *name, const struct stat *st)
{
	size_t at = job->levels[job->depth - 1].path_len;
	int from = rf_closed_open(job->from, name, O_RDONLY | O_DIRECTORY), to;
	bool was_opened = from == -EACCES && geteuid() != 0;

	/* Where there is no other way, one that its owner may not enter opens for as long as we are in it. */
	if (was_opened) {
		int code = set_mode(job->from, name, st->st_mode | ENTRANCE);

		from = code < 0 ? code : openat(job->from, name, FOLDER);
	}
	if (from < 0)
		return from == -1 ? -errno : from;
	to = mkdirat(job->to, name, ENTRANCE) < 0 ? -1 : openat(job->to, name, FOLDER);
	if (to < 0) {
		int code = -errno;

		close(from);
		return code;
	}
	rf_fd_done(&job->from);
	rf_fd_done(&job->to);
	job->from = from;
	job->to = to;
	return push(job, st->st_mode, was_opened, extend_path(job, at, name));
}

/* Overlayfs's own note that a folder hides those beneath. */
static int copy_mark(int from, int to)
{
	char mark[8];
	ssize_t len = fgetxattr(from, OPAQUE, mark, sizeof(mark));

	if (len < 0)
		return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
	return fsetxattr(to, OPAQUE, mark, (size_t)len, 0) < 0 ? -errno : 0;
}

/* Its look comes last: what is made in a folder changes its time, and its mode may forbid to make anything. */
static int leave(struct job *job)
{
	struct level level = job->levels[--job->depth];
	RF_AUTO_FD int from = rf_fd_take(&job->from);
	RF_AUTO_FD int to = rf_fd_take(&job->to);
	int code = copy_mark(from, to);

	free(level.names);
	if (job->depth > 0) {
		job->from = openat(from, "..", FOLDER);
		job->to = openat(to, "..", FOLDER);
		if (job->from < 0 || job->to < 0)
			return -errno;
		if (level.path_len <= PATH_MAX)
			job->path[job->levels[job->depth - 1].path_len] = '\0';
		job->is_nameless = job->levels[job->depth - 1].path_len > PATH_MAX;
	}
	if (level.was_opened && fchmod(from, level.mode & PERMITS) < 0 && code == 0)
		code = -errno;
	return code == 0 ? rf_copy_look(from, to) : code;
}

/* ------------------------------------------------------------- the whole */

static int step(struct job *job)
{
	struct level *level = &job->levels[job->depth - 1];
	const char *name;
	struct stat st;

	if (level->next >= level->len)
		return leave(job);
	name = level->names + level->next;
	level->next += strlen(name) + 1;
	if (fstatat(job->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return enter(job, name, &st);
	return S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode) ? copy_node(job, name, &st)
							   : copy_file(job, name, &st);
}

/* Closes again what was opened on the way to where it failed. */
static void give_up(struct job *job)
{
	while (job->depth > 0)
		if (leave(job) < 0 && job->from < 0)
			break;
	while (job->depth > 0)
		free(job->levels[--job->depth].names);
}

static void free_linked(struct job *job)
{
	for (size_t i = 0; i < job->slots; i++)
		free(job->linked[i].path);
	free(job->linked);
}

int rf_duplicate(int from, int to, bool with_sockets)
{
	struct job *job = calloc(1, sizeof(*job));
	struct stat st;
	int code;

	if (!job)
		return -ENOMEM;
	job->top = to;
	job->with_sockets = with_sockets;
	job->from = openat(from, ".", FOLDER);
	job->to = openat(to, ".", FOLDER);
	code = job->from < 0 || job->to < 0 || fstat(job->from, &st) < 0 ||
			       fchmod(job->to, ENTRANCE) < 0
		       ? -errno
		       : push(job, st.st_mode, false, 0);
	while (code == 0 && job->depth > 0)
		code = step(job);
	if (code < 0)
		give_up(job);
	free_linked(job);
	rf_fd_done(&job->from);
	rf_fd_done(&job->to);
	free(job->levels);
	free(job);
	return code;
}
