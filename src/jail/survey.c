/* What lies in a layer on disk: see survey.h. */
#include "jail/survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/sample.h"

#define FOLDER    (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OVERLAYFS 0x794c7630
#define TRIES     3          /* of a walk that was torn */
#define LEVELS    (1u << 20) /* more is too much, whatever the limits are */
#define LINKED    (1u << 20) /* files with several names that are remembered; others count for each */

/* What getdents64() gives. */
struct entry {
	uint64_t ino;
	int64_t next; /* where the one behind it is */
	unsigned short len;
	unsigned char type;
	char name[];
};

/* A folder on the way down, and where its list goes on. */
struct level {
	dev_t dev;
	ino_t ino;
	int64_t next;
};

/* Inode numbers, as a table of twice the room. */
struct seen {
	uint64_t *slots; /* 0: empty */
	size_t room, count;
};

struct walk {
	struct rf_survey *survey;
	uint64_t most_bytes, most_inodes;
	struct level *levels;
	size_t depth, room;
	struct seen linked;
	int fd; /* the folder in which we are */
};

static bool is_over(const struct walk *walk)
{
	return walk->survey->bytes > walk->most_bytes || walk->survey->inodes > walk->most_inodes;
}

/* ------------------------------------------------------------- files of several names */

static size_t slot_of(const struct seen *seen, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15ull >> 20) % seen->room;

	while (seen->slots[at] && seen->slots[at] != key)
		at = (at + 1) % seen->room;
	return at;
}

static bool grow(struct seen *seen)
{
	struct seen more = { .room = seen->room ? seen->room * 2 : 256, .count = seen->count };

	if (seen->count >= LINKED)
		return false;
	more.slots = calloc(more.room, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (size_t i = 0; i < seen->room; i++)
		if (seen->slots[i])
			more.slots[slot_of(&more, seen->slots[i])] = seen->slots[i];
	free(seen->slots);
	*seen = more;
	return true;
}

/* True the first time; and always for those that there is no room to remember. */
static bool is_new(struct seen *seen, uint64_t key)
{
	size_t at;

	if (seen->count * 2 >= seen->room && !grow(seen))
		return true;
	at = slot_of(seen, key);
	if (seen->slots[at])
		return false;
	seen->slots[at] = key;
	seen->count++;
	return true;
}

/* ------------------------------------------------------------- the walk */

/* Notes where we are.  False if that is too deep to count. */
static bool push(struct walk *walk)
{
	struct stat st;

	if (walk->depth == walk->room) {
		size_t room = walk->room ? walk->room * 2 : 64;
		struct level *more =
			room > LEVELS ? NULL : realloc(walk->levels, room * sizeof(*walk->levels));

		if (!more)
			return false;
		walk->levels = more;
		walk->room = room;
	}
	if (fstat(walk->fd, &st) < 0)
		return false;
	walk->levels[walk->depth++] = (struct level){ st.st_dev, st.st_ino, 0 };
	return true;
}

/* One step up, if that is where we came from: a folder can have been moved meanwhile. */
static bool step_up(struct walk *walk)
{
	const struct level *there = &walk->levels[--walk->depth - 1];
	int parent = openat(walk->fd, "..", FOLDER);
	struct stat st;

	rf_fd_done(&walk->fd);
	walk->fd = parent;
	if (parent < 0 || fstat(parent, &st) < 0 || st.st_dev != there->dev ||
	    st.st_ino != there->ino || lseek(parent, there->next, SEEK_SET) < 0) {
		walk->survey->is_torn = true;
		return false;
	}
	return true;
}

/* Counts one.  True if it is a folder, and we are in it now. */
static bool take_one(struct walk *walk, const struct entry *entry)
{
	struct stat st;
	int child;

	if (fstatat(walk->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		walk->survey->is_closed |= errno != ENOENT;
		return false;
	}
	walk->survey->inodes++;
	if (S_ISDIR(st.st_mode) || st.st_nlink < 2 || is_new(&walk->linked, st.st_ino))
		walk->survey->bytes += (uint64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode))
		return false;
	child = openat(walk->fd, entry->name, FOLDER);
	if (child < 0) {
		walk->survey->is_closed |= errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
		return false;
	}
	walk->levels[walk->depth - 1].next = entry->next;
	rf_fd_done(&walk->fd);
	walk->fd = child;
	return true;
}

/* What is left of the list of the folder in which we are, up to the next folder in it.  Gives -1, 0 at its end, or 1. */
static int list_on(struct walk *walk)
{
	_Alignas(struct entry) char list[4096];
	long len = syscall(SYS_getdents64, walk->fd, list, sizeof(list));

	if (len <= 0)
		return len < 0 && errno != ENOENT ? -1 : 0;
	for (long at = 0; at < len && !is_over(walk);) {
		const struct entry *entry = (const struct entry *)(list + at);

		at += entry->len;
		if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0 &&
		    take_one(walk, entry))
			return push(walk) ? 1 : -1;
	}
	return 1;
}

static void walk_once(int folder, uint64_t most_bytes, uint64_t most_inodes,
		      struct rf_survey *ret_survey)
{
	struct walk walk = { .survey = ret_survey,
			     .most_bytes = most_bytes,
			     .most_inodes = most_inodes };
	int more;

	*ret_survey = (struct rf_survey){ 0 };
	walk.fd = openat(folder, ".", FOLDER);
	if (walk.fd < 0 || !push(&walk))
		ret_survey->is_closed = true;
	while (!ret_survey->is_closed && !ret_survey->is_torn && !is_over(&walk)) {
		more = list_on(&walk);
		if (more < 0)
			ret_survey->is_closed = true;
		if (more != 0)
			continue;
		if (walk.depth == 1 || !step_up(&walk))
			break;
	}
	rf_fd_done(&walk.fd);
	free(walk.levels);
	free(walk.linked.slots);
}

/* ------------------------------------------------------------- what is closed to its owner */

/* To be who one was, with every right over what is one's own. */
static bool widen(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char text[64];

	if (unshare(CLONE_NEWUSER) < 0)
		return false;
	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	if (rf_fd_write_text(AT_FDCWD, "/proc/self/uid_map", text) < 0 ||
	    rf_fd_write_text(AT_FDCWD, "/proc/self/setgroups", "deny") < 0)
		return false;
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return rf_fd_write_text(AT_FDCWD, "/proc/self/gid_map", text) == 0;
}

/* The same walk by a child that is not kept out.  Without one the survey stays closed. */
static void walk_widened(int folder, uint64_t most_bytes, uint64_t most_inodes,
			 struct rf_survey *survey)
{
	struct rf_survey found = { .is_closed = true };
	int answer[2], status;
	pid_t child;

	if (pipe2(answer, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0) {
		if (widen())
			walk_once(folder, most_bytes, most_inodes, &found);
		_exit(rf_fd_write(answer[1], &found, sizeof(found)) < 0 ? 1 : 0);
	}
	rf_fd_done(&answer[1]);
	if (child > 0 && rf_fd_read(answer[0], &found, sizeof(found)) == (ssize_t)sizeof(found))
		*survey = found;
	rf_fd_done(&answer[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
}

void rf_survey_take(int folder, uint64_t most_bytes, uint64_t most_inodes,
		    struct rf_survey *ret_survey)
{
	for (int i = 0; i < TRIES; i++) {
		walk_once(folder, most_bytes, most_inodes, ret_survey);
		if (ret_survey->is_closed && geteuid() != 0)
			walk_widened(folder, most_bytes, most_inodes, ret_survey);
		if (!ret_survey->is_torn)
			break;
	}
}

/* ------------------------------------------------------------- files without a name */

/* True if descriptors are under way in the socket that `process` has as `number` (Linux 5.5). */
static bool has_fds_under_way(int process, const char *number)
{
	char path[288], text[1024];
	const char *at;

	snprintf(path, sizeof(path), "fdinfo/%s", number);
	if (rf_fd_read_text(process, path, text, sizeof(text)) <= 0)
		return false; /* it was closed meanwhile */
	at = strstr(text, "scm_fds:");
	return at && strtoul(at + strlen("scm_fds:"), NULL, 10) > 0;
}

/* One descriptor of a process.  False if there may be more behind it. */
static bool look_at_open(int process, const char *number, struct seen *seen, uint64_t *bytes)
{
	char path[288];
	RF_AUTO_FD int file = -1;
	struct statfs fs;
	struct stat st;

	snprintf(path, sizeof(path), "fd/%s", number);
	file = openat(process, path, O_PATH | O_CLOEXEC);
	if (file < 0 || fstat(file, &st) < 0)
		return errno == ENOENT || errno == ENXIO;
	if (S_ISSOCK(st.st_mode))
		return !has_fds_under_way(process, number);
	if (S_ISREG(st.st_mode) && st.st_nlink == 0 && fstatfs(file, &fs) == 0 &&
	    fs.f_type == OVERLAYFS && is_new(seen, st.st_ino))
		*bytes += (uint64_t)st.st_blocks * 512;
	return true;
}

/*
 * True if the line of maps is of a file without a name, in a place that counts here.  Names are the box's to choose, so only what stands
 * before the path, and its beginning, is looked at.  Those of the scratch space, which many programs have, and memory under the
 * kernel's own names are no part of this.
 */
static bool is_unnamed_mapping(const char *line, const char *in_scratch)
{
	static const char *const ours[] = { "/memfd:", "/dev/zero", "/SYSV" };
	static const char gone[] = " (deleted)\n";
	size_t len = strlen(line);
	char device[32];
	int path = 0;

	if (len < sizeof(gone) || strcmp(line + len - (sizeof(gone) - 1), gone) != 0)
		return false;
	if (sscanf(line, "%*s %*s %*s %31s %*s %n", device, &path) != 1 || path == 0)
		return true; /* not as we know it: it may be one */
	if (strcmp(device, in_scratch) == 0)
		return false;
	for (size_t i = 0; i < RF_LEN(ours); i++)
		if (strncmp(line + path, ours[i], strlen(ours[i])) == 0)
			return false;
	return true;
}

/* True if a file without a name is mapped, whose descriptor may be gone: how large it is can't be asked. */
static bool has_unnamed_mapping(int process)
{
	struct stat scratch = { 0 };
	char in_scratch[32];
	int copy = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	FILE *maps = copy < 0 ? NULL : fdopen(copy, "re");
	char *line = NULL;
	size_t room = 0;
	bool is_found = false;

	if (!maps) {
		rf_fd_done(&copy);
		return errno != ENOENT && errno != ESRCH;
	}
	fstatat(process, "root/tmp", &scratch, 0);
	snprintf(in_scratch, sizeof(in_scratch), "%02x:%02x", major(scratch.st_dev),
		 minor(scratch.st_dev));
	while (!is_found && getline(&line, &room, maps) > 0)
		is_found = is_unnamed_mapping(line, in_scratch);
	free(line);
	fclose(maps);
	return is_found;
}

static bool is_gone(int error)
{
	return error == ENOENT || error == ESRCH;
}

static DIR *open_list(int at, const char *name)
{
	int list = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = list < 0 ? NULL : fdopendir(list);

	if (!dir)
		rf_fd_done(&list);
	return dir;
}

/* The descriptors of one thread. */
static bool look_at_thread(int thread, struct seen *seen, uint64_t *bytes)
{
	DIR *dir = open_list(thread, "fd");
	const struct dirent *entry;
	bool is_whole = true;

	if (!dir)
		return is_gone(errno);
	while (is_whole && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			is_whole = look_at_open(thread, entry->d_name, seen, bytes);
	closedir(dir);
	return is_whole;
}

/* Each thread may have descriptors of its own (unshare), and a process tells those of its first one alone. */
static bool look_at_process(int process, struct seen *seen, uint64_t *bytes)
{
	DIR *dir = open_list(process, "task");
	const struct dirent *entry;
	bool is_whole = true;

	if (!dir)
		return is_gone(errno);
	while (is_whole && (entry = readdir(dir))) {
		RF_AUTO_FD int thread = -1;

		if (entry->d_name[0] == '.')
			continue;
		thread = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		is_whole = thread < 0 ? is_gone(errno) : look_at_thread(thread, seen, bytes);
	}
	closedir(dir);
	return is_whole && !has_unnamed_mapping(process);
}

bool rf_survey_unnamed(pid_t init, uint64_t *ret_bytes)
{
	struct seen seen = { 0 };
	pid_t *pids = NULL;
	size_t count = rf_sample_list(init, &pids);
	bool is_whole = count > 0;

	*ret_bytes = 0;
	for (size_t i = 0; i < count && is_whole; i++) {
		char path[32];
		RF_AUTO_FD int process = -1;

		if (pids[i] == init)
			continue; /* ours, and it opens nothing */
		snprintf(path, sizeof(path), "/proc/%d", pids[i]);
		process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process >= 0)
			is_whole = look_at_process(process, &seen, ret_bytes);
	}
	free(pids);
	free(seen.slots);
	return is_whole;
}
