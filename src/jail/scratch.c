/* The scratch folder of a lesser box: see scratch.h. */
#include "jail/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/record.h"

#define PARENT "/tmp/"
#define PREFIX "ringfort-"
#define DEPTH  24 /* folders deeper than this are moved up before they are emptied */

#define NEW_FOR                                                                                    \
	10 /* seconds, in which a folder may have no lock yet, or a box that is being ended */

static const char *const rooms[] = { "home", "tmp" };

static int make_rooms(const struct rf_box *box, int folder)
{
	RF_AUTO_FD int sentinel = -1;

	for (size_t i = 0; i < RF_LEN(rooms); i++)
		if (mkdirat(folder, rooms[i], 0700) < 0 ||
		    (box->is_root &&
		     fchownat(folder, rooms[i], box->host_uid, box->host_gid, 0) < 0))
			return -errno;
	/* For all to read: only Landlock stands before it. */
	sentinel = openat(folder, "sentinel", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	return sentinel < 0 || fchmod(sentinel, 0444) < 0 ? -errno : 0;
}

/* True if it is a name that rf_scratch_make() gives. */
static bool is_ours(const char *path)
{
	static const char start[] = PARENT PREFIX;
	const size_t len = strlen(start), id = sizeof(((struct rf_box *)0)->id) - 1;

	return strncmp(path, start, len) == 0 && strlen(path) == len + id &&
	       strspn(path + len, "0123456789abcdef") == id;
}

/* True if the folder is ours, and whoever made it is gone. */
static bool is_left(const char *path)
{
	RF_AUTO_FD int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	return folder >= 0 && fstat(folder, &st) == 0 && st.st_uid == geteuid() &&
	       time(NULL) - st.st_ctime >= NEW_FOR && flock(folder, LOCK_EX | LOCK_NB) == 0;
}

/* Removes what launchers left that were killed before they had a janitor. */
static void sweep(void)
{
	DIR *dir = opendir(PARENT);
	struct dirent *entry;
	char path[sizeof(PARENT) + sizeof(entry->d_name)];

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), PARENT "%s", entry->d_name);
		if (is_ours(path) && is_left(path))
			rf_scratch_remove(path);
	}
	if (dir)
		closedir(dir);
}

int rf_scratch_make(struct rf_box *box, struct rf_err *err)
{
	RF_AUTO_FD int folder = -1;
	int code;

	if (box->record < 0)
		sweep();
	snprintf(box->scratch, sizeof(box->scratch), PARENT PREFIX "%s", box->id);
	if (rf_record_scratch(box, box->scratch) < 0)
		return rf_fail_say(err, -EIO, "the scratch folder can't be recorded");
	if (mkdir(box->scratch, 0700) < 0) {
		code = rf_fail(err, -errno, "make %s", box->scratch);
		box->scratch[0] = '\0';
		return code;
	}
	folder = open(box->scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	code = folder < 0 || flock(folder, LOCK_EX | LOCK_NB) < 0 ? -errno
								  : make_rooms(box, folder);
	/* As root, the box has another uid and must get through. */
	if (code == 0 && box->is_root && fchmod(folder, 0711) < 0)
		code = -errno;
	if (code < 0)
		return rf_fail(err, code, "make %s", box->scratch);
	box->scratch_lock = rf_fd_take(&folder);
	return 0;
}

int rf_scratch_open(const struct rf_box *box, const char *name)
{
	char path[sizeof(box->scratch) + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", box->scratch, name);
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ------------------------------------------------------------- removing */

/* Opens a folder to list it, also one whose mode says that nobody may. */
static int open_folder(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	RF_AUTO_FD int path = -1;
	char link[32];

	if (fd >= 0 || errno != EACCES)
		return fd;
	path = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	if (path < 0 || chmod(link, 0700) < 0)
		return -1;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Moves a folder up.  One that may not be written does not let go of its parent. */
static bool move_up(int folder, const char *name, int top)
{
	static unsigned moved;
	RF_AUTO_FD int inner = open_folder(folder, name);
	char higher[32];

	if (inner >= 0)
		fchmod(inner, 0700);
	snprintf(higher, sizeof(higher), ".moved-%u", moved++);
	return renameat(folder, name, top, higher) == 0;
}

/*
 * Takes `folder` (takes) apart.  What lies too deep is moved to `top`, to be found there later.  Gives
 * how much was removed or moved.
 */
static size_t empty(int top, int folder,
		    unsigned depth) // NOLINT(misc-no-recursion): bounded by DEPTH
{
	DIR *dir = fdopendir(folder);
	struct dirent *entry;
	size_t done = 0;

	if (!dir) {
		close(folder);
		return 0;
	}
	/* A folder that may not be written does not let go of what is in it. */
	fchmod(folder, 0700);
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;
		int inner;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (unlinkat(folder, name, 0) == 0) {
			done++;
			continue;
		}
		if (depth == DEPTH) {
			done += move_up(folder, name, top);
			continue;
		}
		inner = open_folder(folder, name);
		if (inner >= 0)
			done += empty(top, inner, depth + 1);
		done += unlinkat(folder, name, AT_REMOVEDIR) == 0;
	}
	closedir(dir);
	return done;
}

bool rf_scratch_remove(const char *path)
{
	struct stat st;
	RF_AUTO_FD int top = -1;

	if (!is_ours(path))
		return true;
	top = open_folder(AT_FDCWD, path);
	if (top < 0)
		return errno == ENOENT;
	if (fstat(top, &st) < 0)
		return false;
	if (st.st_uid != geteuid())
		return true;
	/* Each pass takes at least one level away, or can't do anything. */
	for (size_t done = 1; done > 0;) {
		int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		done = again >= 0 ? empty(top, again, 0) : 0;
		if (rmdir(path) == 0 || errno == ENOENT)
			return true;
		if (errno != ENOTEMPTY && errno != EINTR)
			return false;
	}
	return false;
}
