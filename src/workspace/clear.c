/*
 * Takes away a tree that somebody else filled.
 *
 * What is in it was made by a box: names of any bytes, folders without permission, deeper than a path can name.  No
 * link is followed, and the depth does not matter: a folder's content is moved up to its top when it lies too deep,
 * so that neither the stack nor the supply of descriptors has to hold it.
 */
#include "workspace/clear.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define DEPTH_MAX 64 /* folders open at a time */

/* What is being cleared. */
struct clearing {
	int top;         /* the folder that deep ones are moved to */
	unsigned moved;  /* how many were */
	int first_error; /* 0, or a negative errno */
};

static void note(struct clearing *c, int code)
{
	if (code < 0 && code != -ENOENT && c->first_error == 0)
		c->first_error = code;
}

/* A folder may deny its own owner to read it, or to remove what is in it; its owner can change that. */
static int open_folder(int dir, const char *name)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	RF_AUTO_FD int there = -1;
	struct stat st;
	char link[32];
	int fd = openat(dir, name, O_RDONLY | flags);

	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		fchmod(fd, S_IRWXU);
	if (fd >= 0 || errno != EACCES)
		return fd;
	/* By its descriptor: the name could become a link between the two. */
	there = openat(dir, name, O_PATH | flags);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", there);
	return there < 0 || chmod(link, 0700) < 0 ? -1 : openat(dir, name, O_RDONLY | flags);
}

static void clear_in(struct clearing *c, int fd, int depth);

/* Empties a folder that lies at the greatest depth by moving what is in it to the top. */
static bool move_up(struct clearing *c, int dir, const char *name)
{
	char there[32];

	snprintf(there, sizeof(there), ".deep-%u", c->moved++);
	return renameat(dir, name, c->top, there) == 0;
}

static void clear_one(struct clearing *c, int dir, const char *name, int depth)
{
	int fd;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return;
	if (errno != EISDIR && errno != EPERM) {
		note(c, -errno);
		return;
	}
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return;
	if (depth == DEPTH_MAX && move_up(c, dir, name))
		return;
	fd = depth < DEPTH_MAX ? open_folder(dir, name) : -1;
	if (fd < 0) {
		note(c, depth < DEPTH_MAX ? -errno : -ENAMETOOLONG);
		return;
	}
	clear_in(c, fd, depth + 1);
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
		note(c, -errno);
}

/* Clears what is in the folder `fd` (takes). */
static void clear_in(struct clearing *c, int fd, int depth)
{
	DIR *folder = fdopendir(fd);

	if (!folder) {
		note(c, -errno);
		close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(folder));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			clear_one(c, dirfd(folder), entry->d_name, depth);
	closedir(folder);
}

int rf_clear(int dir, const char *name)
{
	struct clearing c = { .top = -1 };
	unsigned moved;
	int fd;

	if (unlinkat(dir, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	c.top = open_folder(dir, name);
	if (c.top < 0)
		return -errno;
	/* Again, as long as deep folders turn up at the top. */
	do {
		moved = c.moved;
		fd = open_folder(dir, name);
		if (fd < 0)
			break;
		clear_in(&c, fd, 0);
	} while (c.moved != moved && c.first_error == 0);
	close(c.top);
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
		note(&c, -errno);
	return c.first_error;
}
