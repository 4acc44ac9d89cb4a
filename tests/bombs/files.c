/* Files, and what the kernel keeps to know them.  The unit is a byte, or a file where that counts. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "bomb.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

/* ------------------------------------------------------------- space */

static int write_many(const char *folder, uint64_t file_size)
{
	static char bytes[64 * KIB];

	memset(bytes, 'x', sizeof(bytes));
	for (int i = 0;; i++) {
		char path[512];
		int fd;

		snprintf(path, sizeof(path), "%s/bomb-%d-%d", folder, getpid(), i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			return bomb_refused();
		for (uint64_t done = 0; done < file_size; done += sizeof(bytes)) {
			ssize_t len = write(fd, bytes, sizeof(bytes));

			if (len < 0)
				return bomb_refused();
			bomb_take((uint64_t)len);
			if (len < (ssize_t)sizeof(bytes))
				return -ENOSPC;
		}
		close(fd);
	}
}

static int space(void)
{
	return write_many(bomb_scratch(), MIB);
}

static int space_shown(void)
{
	return write_many(bomb_shown, MIB);
}

/* The same, claimed and never written. */
static int space_claimed(void)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/bomb-%d", bomb_shown, getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	for (uint64_t done = 0; fd >= 0; done += MIB) {
		if (fallocate(fd, 0, (off_t)done, (off_t)MIB) < 0)
			break;
		bomb_take(MIB);
	}
	return bomb_refused();
}

/* One file that grows. */
static int one_file(void)
{
	signal(SIGXFSZ, SIG_IGN); /* to be told */
	return write_many(bomb_scratch(), UINT64_MAX);
}

/* A size that nothing is behind. */
static int sparse(void)
{
	int fd = bomb_file(bomb_scratch());

	if (fd < 0)
		return fd;
	signal(SIGXFSZ, SIG_IGN);
	for (uint64_t size = MIB;; size += MIB) {
		if (ftruncate(fd, (off_t)size) < 0)
			return bomb_refused();
		bomb_take(MIB);
	}
}

/* A byte here and there: each takes a page, and the tree that finds it. */
static int scattered(void)
{
	int fd = bomb_file(bomb_scratch());

	if (fd < 0)
		return fd;
	for (uint64_t at = 0;; at += 512 * KIB) {
		bomb_take(4 * KIB);
		if (pwrite(fd, "x", 1, (off_t)(at % (1000 * MIB) + at / (1000 * MIB) * 4 * KIB)) !=
		    1)
			return bomb_refused();
	}
}

/* ------------------------------------------------------------- names */

static int go_to(const char *folder)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/bomb-%d", folder, getpid());
	return mkdir(path, 0700) < 0 || chdir(path) < 0 ? bomb_refused() : 0;
}

/* `unit` is what one counts. */
static int make_files(const char *folder, uint64_t unit, const char *name)
{
	int code = go_to(folder);

	for (int i = 0; code == 0; i++) {
		char path[300];
		int fd;

		snprintf(path, sizeof(path), "%d%s", i, name);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		code = fd < 0 ? bomb_refused() : close(fd);
		bomb_take(code == 0 ? unit : 0);
	}
	return code;
}

static const char *long_name(void)
{
	static char name[241];

	memset(name, 'n', sizeof(name) - 1);
	return name;
}

static int files(void)
{
	return make_files(bomb_scratch(), 1, "");
}

static int files_shown(void)
{
	return make_files(bomb_shown, 1, "");
}

static int file_memory(void)
{
	return make_files(bomb_scratch(), 1100, "");
}

static int long_names(void)
{
	return make_files(bomb_scratch(), 1500, long_name());
}

/* A folder in a folder in a folder, deeper than any path can say. */
static int deep(void)
{
	int code = go_to(bomb_scratch());

	while (code == 0) {
		code = mkdir("d", 0700) < 0 || chdir("d") < 0 ? bomb_refused() : 0;
		bomb_take(code == 0 ? 1 : 0);
	}
	return code;
}

static int links(void)
{
	int code = go_to(bomb_scratch());
	int fd = code < 0 ? -1 : open("first", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	for (int i = 0; code == 0; i++) {
		char path[32];

		snprintf(path, sizeof(path), "%d", i);
		code = link("first", path) < 0 ? bomb_refused() : 0;
		bomb_take(code == 0 ? 1 : 0);
	}
	return code;
}

/* What a link says is kept beside the file's own memory, if it is short. */
static int symlinks(void)
{
	char target[120];
	int code = go_to(bomb_scratch());

	memset(target, 't', sizeof(target));
	target[sizeof(target) - 1] = '\0';
	for (int i = 0; code == 0; i++) {
		char path[32];

		snprintf(path, sizeof(path), "%d", i);
		bomb_take(1200);
		code = symlink(target, path) < 0 ? bomb_refused() : 0;
	}
	return code;
}

static int attributes(void)
{
	static char value[KIB];
	int fd = bomb_file(bomb_scratch());

	if (fd < 0)
		return fd;
	for (int i = 0;; i++) {
		char name[32];

		snprintf(name, sizeof(name), "user.bomb%d", i);
		bomb_take(sizeof(value) + 100);
		if (fsetxattr(fd, name, value, sizeof(value), 0) < 0)
			return bomb_refused();
	}
}

/* Names that are not there: the kernel remembers that. */
static int missing_names(void)
{
	for (int i = 0;; i++) {
		char path[300];
		struct stat st;

		snprintf(path, sizeof(path), "/usr/%d%s", i, long_name() + 40);
		bomb_take(512);
		if (stat(path, &st) == 0 || errno != ENOENT)
			return bomb_refused();
	}
}

/* clang-format off */
const struct bomb bomb_files[] = {
	{ "space",           space,         1 },
	{ "space-shown",     space_shown,   1 },
	{ "space-claimed",   space_claimed, 1 },
	{ "one-file",        one_file,      1 },
	{ "sparse-file",     sparse,        1 },
	{ "scattered-bytes", scattered,     1 },
	{ "files",           files,         1 },
	{ "files-shown",     files_shown,   1 },
	{ "file-memory",     file_memory,   1 },
	{ "long-names",      long_names,    1 },
	{ "deep-folders",    deep,          1 },
	{ "hard-links",      links,         1 },
	{ "symlinks",        symlinks,      1 },
	{ "attributes",      attributes,    1 },
	{ "missing-names",   missing_names, 1 },
	{ NULL,              NULL,          0 },
};
/* clang-format on */
