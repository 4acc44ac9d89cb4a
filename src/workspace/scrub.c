/*
 * Overlayfs's notes, taken off: see scrub.h.
 *
 * A box chooses how deep its folders are, so one descriptor and a list of names for each level is all that is held: the way
 * back up is `..`, which is where we came from, since nobody else is there.
 */
#include "workspace/scrub.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"

#define NOTES    "user.overlay."
#define LIST_MAX (64 * 1024) /* what xattr(7) allows */
#define MODE     07777

/* A folder on the way down, and what is to be done there. */
struct level {
	struct level *above;
	char **names;
	size_t count, next;
	mode_t mode; /* to be given back */
};

struct scrub {
	int at; /* the folder of the lowest level */
	struct level *lowest;
	char list[LIST_MAX];
};

/* Takes the notes off what is open as `fd`, maybe by its path only.  Its mode is such that its owner may. */
static int take_off(struct scrub *s, const char *path)
{
	ssize_t len = listxattr(path, s->list, sizeof(s->list));

	if (len < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	for (const char *name = s->list; name < s->list + len; name += strlen(name) + 1)
		if (strncmp(name, NOTES, strlen(NOTES)) == 0 && removexattr(path, name) < 0)
			return -errno;
	return 0;
}

static bool has_notes(struct scrub *s, const char *path)
{
	ssize_t len = listxattr(path, s->list, sizeof(s->list));

	for (const char *name = s->list; len > 0 && name < s->list + len; name += strlen(name) + 1)
		if (strncmp(name, NOTES, strlen(NOTES)) == 0)
			return true;
	return len < 0 && errno != EOPNOTSUPP; /* then taking them off says why */
}

static int list_names(int folder, struct level *level)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	size_t room = 0;

	if (!dir) {
		rf_fd_done(&copy);
		return -errno;
	}
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (level->count == room) {
			char **more;

			room = room ? 2 * room : 16;
			more = realloc(level->names, room * sizeof(*more));
			if (!more)
				break;
			level->names = more;
		}
		level->names[level->count] = strdup(entry->d_name);
		if (!level->names[level->count++])
			break;
	}
	closedir(dir);
	return entry ? -ENOMEM : 0;
}

static void drop(struct scrub *s)
{
	struct level *level = s->lowest;

	s->lowest = level->above;
	for (size_t i = 0; i < level->count; i++)
		free(level->names[i]);
	free(level->names);
	free(level);
}

/* Goes down into a folder, which `path` leads to as well. */
static int enter(struct scrub *s, const char *name, const char *path, mode_t mode)
{
	struct level *level = calloc(1, sizeof(*level));
	int folder, code;

	if (!level)
		return -ENOMEM;
	level->above = s->lowest;
	level->mode = mode;
	s->lowest = level;
	if ((mode & S_IRWXU) != S_IRWXU && chmod(path, (mode & MODE) | S_IRWXU) < 0)
		return -errno;
	folder = openat(s->at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	code = take_off(s, path);
	if (code == 0)
		code = list_names(folder, level);
	close(s->at);
	s->at = folder;
	return code;
}

static int leave(struct scrub *s)
{
	int above = openat(s->at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;

	if (above < 0)
		return -errno;
	if ((s->lowest->mode & S_IRWXU) != S_IRWXU && fchmod(s->at, s->lowest->mode & MODE) < 0)
		code = -errno;
	close(s->at);
	s->at = above;
	drop(s);
	return code;
}

/* One name: of links, pipes and sockets nothing is to be taken, since these have no attributes of users. */
static int scrub_one(struct scrub *s, const char *name)
{
	RF_AUTO_FD int it = openat(s->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[32];
	struct stat st;
	int code;

	if (it < 0 || fstat(it, &st) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", it);
	if (S_ISDIR(st.st_mode))
		return enter(s, name, path, st.st_mode);
	if (!S_ISREG(st.st_mode) || !has_notes(s, path))
		return 0;
	if (chmod(path, (st.st_mode & MODE) | S_IRUSR | S_IWUSR) < 0)
		return -errno;
	code = take_off(s, path);
	return chmod(path, st.st_mode & MODE) < 0 && code == 0 ? -errno : code;
}

int rf_scrub(int dir, const char *name)
{
	struct scrub *s = calloc(1, sizeof(*s));
	int code;

	if (!s)
		return -ENOMEM;
	s->at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = s->at < 0 ? -errno : scrub_one(s, name);
	while (code == 0 && s->lowest) {
		struct level *level = s->lowest;

		code = level->next < level->count ? scrub_one(s, level->names[level->next++])
						  : leave(s);
	}
	while (s->lowest)
		drop(s);
	if (s->at >= 0)
		close(s->at);
	free(s);
	return code;
}
