/* A copy of a whole workspace: see replica.h. */
#include "workspace/replica.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/closed.h"
#include "workspace/copy.h"
#include "workspace/merged.h"
#include "workspace/scrub.h"

#define OPAQUE  "user.overlay.opaque"
#define FOLDER  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PERMITS 07777

/* A folder that was made: its number, and which path it was made for. */
struct made {
	ino_t ino;
	uint64_t path;
};

struct rf_replica {
	struct made *made; /* sorted by number once all are made */
	size_t count, room;
	uint64_t seed;
	struct timespec done; /* on the clock of files: what is older was copied */
};

/* A folder to be looked at, with the layers that show it. */
struct folder {
	struct folder *next, *before;
	size_t count;
	size_t *which;
	struct stat look; /* of the copy's, when the run had ended */
	char path[];
};

struct walk {
	const struct rf_stack *stack;
	struct folder *first, *last;
	int whole, up;
	struct rf_err *err;
};

/* ------------------------------------------------------------- which folder is which */

static uint64_t hash(uint64_t seed, const char *path)
{
	uint64_t sum = seed;

	for (; *path; path++)
		sum = (sum ^ (uint8_t)*path) * 0x100000001b3u;
	return sum;
}

static int note_made(struct rf_replica *replica, int folder, const char *path)
{
	struct stat st;

	if (fstat(folder, &st) < 0)
		return -errno;
	if (replica->count == replica->room) {
		size_t room = replica->room ? 2 * replica->room : 64;
		struct made *made = realloc(replica->made, room * sizeof(*made));

		if (!made)
			return -ENOMEM;
		replica->made = made;
		replica->room = room;
	}
	replica->made[replica->count++] =
		(struct made){ .ino = st.st_ino, .path = hash(replica->seed, path) };
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct made *one = a, *other = b;

	return one->ino < other->ino ? -1 : one->ino > other->ino;
}

/* True for the very folder that was made for this path. */
static bool is_in_place(const struct rf_replica *replica, const struct stat *st, const char *path)
{
	const struct made key = { .ino = st->st_ino };
	const struct made *found = replica->count ? bsearch(&key, replica->made, replica->count,
							    sizeof(key), by_number)
						  : NULL;

	return found && found->path == hash(replica->seed, path);
}

static bool is_untouched(const struct rf_replica *replica, const struct stat *st)
{
	return st->st_ctim.tv_sec < replica->done.tv_sec ||
	       (st->st_ctim.tv_sec == replica->done.tv_sec &&
		st->st_ctim.tv_nsec < replica->done.tv_nsec);
}

/* ------------------------------------------------------------- folders to come */

static int queue(struct walk *w, const char *in, const char *name, const struct rf_merged *shown)
{
	size_t len = strlen(in) + 1 + strlen(name);
	struct folder *folder = calloc(1, sizeof(*folder) + len + 1);

	if (folder)
		folder->which = calloc(shown->count + 1, sizeof(*folder->which));
	if (!folder || !folder->which) {
		free(folder);
		return -ENOMEM;
	}
	snprintf(folder->path, len + 1, "%s%s%s", in, *in ? "/" : "", name);
	memcpy(folder->which, shown->which, shown->count * sizeof(*folder->which));
	folder->count = shown->count;
	folder->before = w->last;
	*(w->last ? &w->last->next : &w->first) = folder;
	w->last = folder;
	return 0;
}

static int queue_top(struct walk *w)
{
	struct rf_merged top;
	int code = rf_merged_open_top(w->stack, &top);

	if (code == 0)
		code = queue(w, "", "", &top);
	rf_merged_done(&top);
	return code;
}

static void drop_folders(struct walk *w)
{
	for (struct folder *folder = w->first, *next; folder; folder = next) {
		next = folder->next;
		free(folder->which);
		free(folder);
	}
}

static int open_in(int top, const char *path)
{
	return rf_path_open_within(top, *path ? path : ".", O_RDONLY | O_DIRECTORY);
}

static int open_shown(const struct walk *w, const struct folder *folder, struct rf_merged *shown)
{
	return *folder->path ? rf_merged_reopen(w->stack, folder->path, folder->which,
						folder->count, shown)
			     : rf_merged_open_top(w->stack, shown);
}

static int fail_at(const struct walk *w, int code, const char *path)
{
	rf_fail(w->err, code, "%.200s", *path ? path : "the top");
	if (code == -ENAMETOOLONG)
		return rf_fail_hint(w->err, "it lies deeper than a path can name");
	return code;
}

/* ------------------------------------------------------------- the copy */

static int set_mode(int dir, const char *name, mode_t mode)
{
	RF_AUTO_FD int there = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", there);
	return there < 0 || chmod(link, mode & PERMITS) < 0 ? -errno : 0;
}

/*
 * Sockets are not: who listens there is not in the copy.  Nor is what we can't read: in the copy it would be empty, and
 * the box's to open.
 */
static bool is_copied(const struct rf_merged *in, const char *name,
		      const struct rf_merged_entry *entry)
{
	struct rf_merged inside;
	int code;

	if (S_ISLNK(entry->st.st_mode) || S_ISFIFO(entry->st.st_mode))
		return true;
	if (S_ISREG(entry->st.st_mode)) {
		RF_AUTO_FD int closed = -1;

		if (faccessat(in->dirs[entry->at], name, R_OK, AT_EACCESS) == 0)
			return true;
		closed = rf_closed_open(in->dirs[entry->at], name, O_RDONLY | O_NONBLOCK);
		return closed >= 0;
	}
	if (!S_ISDIR(entry->st.st_mode))
		return false;
	code = rf_merged_enter(in, name, &inside);
	rf_merged_done(&inside);
	return code != -EACCES;
}

/* What only another may write to is not written to. */
static int copy_file(int from, const char *name, int to, const struct stat *st)
{
	int code = rf_copy_exactly(from, name, to, name);

	if (code == 0 && S_ISREG(st->st_mode) && geteuid() != 0 && st->st_uid != geteuid() &&
	    faccessat(from, name, W_OK, AT_EACCESS) < 0)
		code = set_mode(to, name, st->st_mode & ~(mode_t)0222);
	return code;
}

static int copy_folder(struct walk *w, struct rf_replica *replica, const struct folder *in,
		       const struct rf_merged *shown, const char *name, int to)
{
	struct rf_merged inside;
	RF_AUTO_FD int made = -1;
	int code = rf_merged_enter(shown, name, &inside);

	if (code == 0 && mkdirat(to, name, 0700) < 0)
		code = -errno;
	if (code == 0)
		code = queue(w, in->path, name, &inside);
	rf_merged_done(&inside);
	made = code == 0 ? openat(to, name, FOLDER) : -1;
	if (code == 0)
		code = made < 0 ? -errno : note_made(replica, made, w->last->path);
	return code;
}

static int copy_names(struct walk *w, struct rf_replica *replica, const struct folder *folder)
{
	struct rf_merged_names names = { 0 };
	struct rf_merged shown = { 0 };
	RF_AUTO_FD int to = open_in(w->whole, folder->path);
	int code = to < 0 ? to : open_shown(w, folder, &shown);

	if (code == 0)
		code = rf_merged_list(&shown, &names);
	for (size_t i = 0; i < names.count && code == 0; i++) {
		const char *name = names.items[i];
		struct rf_merged_entry entry = { 0 };

		code = rf_merged_look(&shown, name, &entry);
		if (code == -ENOENT || (code == 0 && !is_copied(&shown, name, &entry)))
			code = 0;
		else if (code == 0 && S_ISDIR(entry.st.st_mode))
			code = copy_folder(w, replica, folder, &shown, name, to);
		else if (code == 0)
			code = copy_file(shown.dirs[entry.at], name, to, &entry.st);
	}
	rf_merged_names_done(&names);
	rf_merged_done(&shown);
	return code < 0 ? fail_at(w, code, folder->path) : 0;
}

/* From the depth up: what is made in a folder changes its time. */
static int copy_looks(struct walk *w)
{
	for (const struct folder *folder = w->last; folder; folder = folder->before) {
		struct rf_merged shown = { 0 };
		RF_AUTO_FD int to = open_in(w->whole, folder->path);
		int code = to < 0 ? to : open_shown(w, folder, &shown);

		if (code == 0)
			code = rf_copy_look(shown.dirs[0], to);
		rf_merged_done(&shown);
		if (code < 0)
			return fail_at(w, code, folder->path);
	}
	return 0;
}

/* What the clock of files says now. */
static int note_time(struct rf_replica *replica, int folder)
{
	struct stat st;

	if (fstat(folder, &st) < 0 || fchmod(folder, st.st_mode & PERMITS) < 0 ||
	    fstat(folder, &st) < 0)
		return -errno;
	replica->done = st.st_ctim;
	return 0;
}

int rf_replica_make(const struct rf_stack *stack, int whole, struct rf_replica **ret_replica,
		    struct rf_err *err)
{
	struct walk w = { .stack = stack, .whole = whole, .up = -1, .err = err };
	struct rf_replica *replica = calloc(1, sizeof(*replica));
	int code = replica ? queue_top(&w) : -ENOMEM;

	if (code == 0 && getrandom(&replica->seed, sizeof(replica->seed), 0) < 0)
		code = -errno;
	if (code == 0)
		code = note_made(replica, whole, "");
	if (code < 0)
		rf_fail(err, code, "copy the workspace");
	for (const struct folder *folder = w.first; folder && code == 0; folder = folder->next)
		code = copy_names(&w, replica, folder);
	if (code == 0)
		code = copy_looks(&w);
	drop_folders(&w);
	if (code == 0 && note_time(replica, whole) < 0)
		code = rf_fail(err, -errno, "copy the workspace");
	if (code < 0) {
		rf_replica_free(replica);
		return code;
	}
	if (replica->count > 1)
		qsort(replica->made, replica->count, sizeof(*replica->made), by_number);
	*ret_replica = replica;
	return 0;
}

void rf_replica_free(struct rf_replica *replica)
{
	if (replica)
		free(replica->made);
	free(replica);
}

/* ------------------------------------------------------------- what differs */

/* The folder of the layer for this path, made with all above it; they get their looks in the end. */
static int open_upper(const struct walk *w, const char *path)
{
	RF_AUTO_FD int at = openat(w->up, ".", FOLDER);
	char name[NAME_MAX + 1];

	while (at >= 0 && *path) {
		size_t len = strcspn(path, "/");
		int next;

		if (len >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
			return -errno;
		next = openat(at, name, FOLDER);
		if (next < 0)
			return -errno;
		close(at);
		at = next;
		path += len + (path[len] == '/');
	}
	return at < 0 ? -errno : rf_fd_take(&at);
}

static int put_whiteout(const struct walk *w, const char *path, const char *name)
{
	RF_AUTO_FD int upper = open_upper(w, path);

	if (upper < 0)
		return upper;
	return mknodat(upper, name, S_IFCHR | 0600, makedev(0, 0)) < 0 ? -errno : 0;
}

/* It took the place of a folder, which must not show through.  Whoever may not write to it may not mark it either. */
static int mark(int dir, const char *name, mode_t mode)
{
	int code = set_mode(dir, name, mode | 0700);
	RF_AUTO_FD int folder = code < 0 ? -1 : openat(dir, name, FOLDER);

	if (folder < 0 || fsetxattr(folder, OPAQUE, "y", 1, 0) < 0)
		return code < 0 ? code : -errno;
	return fchmod(folder, mode & PERMITS) < 0 ? -errno : 0;
}

/* As a whole, whatever it is: the layer has all of it then. */
static int move(const struct walk *w, int from, const char *path, const char *name,
		const struct stat *st, bool hides_folder)
{
	RF_AUTO_FD int upper = open_upper(w, path);
	int code = upper < 0 ? upper : 0;

	/* A folder that may not be written to does not let go of its parent. */
	if (code == 0 && S_ISDIR(st->st_mode) && geteuid() != 0)
		code = set_mode(from, name, st->st_mode | 0700);
	if (code == 0 && renameat(from, name, upper, name) < 0)
		code = -errno;
	if (code == 0)
		code = rf_scrub(upper, name);
	if (code == 0 && S_ISDIR(st->st_mode) && geteuid() != 0)
		code = set_mode(upper, name, st->st_mode);
	return code == 0 && hides_folder ? mark(upper, name, st->st_mode) : code;
}

/* A name that the copy has. */
static int take_name(struct walk *w, const struct rf_replica *replica, const struct folder *folder,
		     const struct rf_merged *shown, int from, const char *name)
{
	struct rf_merged_entry old = { 0 };
	bool was_there, was_folder;
	struct stat st;
	char path[PATH_MAX];
	int code = rf_merged_look(shown, name, &old);

	if (code < 0 && code != -ENOENT)
		return code;
	was_there = code == 0;
	was_folder = was_there && S_ISDIR(old.st.st_mode);
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (snprintf(path, sizeof(path), "%s%s%s", folder->path, *folder->path ? "/" : "", name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	if (was_folder && S_ISDIR(st.st_mode) && is_in_place(replica, &st, path)) {
		struct rf_merged inside;

		code = rf_merged_enter(shown, name, &inside);
		if (code == 0)
			code = queue(w, folder->path, name, &inside);
		rf_merged_done(&inside);
		return code;
	}
	if (was_there && !((old.st.st_mode ^ st.st_mode) & S_IFMT) && is_untouched(replica, &st))
		return 0;
	return move(w, from, folder->path, name, &st, was_folder && S_ISDIR(st.st_mode));
}

static int list_names(int folder, struct rf_merged_names *names)
{
	int listed = openat(folder, ".", FOLDER), code = 0;
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;

	if (!dir) {
		code = -errno;
		rf_fd_done(&listed);
		return code;
	}
	while (code == 0 && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (names->count == names->room) {
			size_t room = names->room ? 2 * names->room : 32;
			char **items = realloc(names->items, room * sizeof(*items));

			if (!items) {
				code = -ENOMEM;
				break;
			}
			names->items = items;
			names->room = room;
		}
		names->items[names->count] = strdup(entry->d_name);
		if (!names->items[names->count++])
			code = -ENOMEM;
	}
	closedir(dir);
	return code;
}

/* What was there and is in the copy no more. */
static int take_gone(const struct walk *w, const struct folder *folder,
		     const struct rf_merged *shown, int from)
{
	struct rf_merged_names old = { 0 };
	int code = rf_merged_list(shown, &old);

	for (size_t i = 0; i < old.count && code == 0; i++) {
		struct rf_merged_entry entry = { 0 };
		struct stat st;

		if (fstatat(from, old.items[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		code = errno == ENOENT ? rf_merged_look(shown, old.items[i], &entry) : -errno;
		if (code == -ENOENT)
			code = 0;
		else if (code == 0 && is_copied(shown, old.items[i], &entry))
			code = put_whiteout(w, folder->path, old.items[i]);
	}
	rf_merged_names_done(&old);
	return code;
}

/* Opens a folder of the copy, also one that a program closed: the copy is thrown away, its look is not. */
static int open_copied(const struct walk *w, const char *path, struct stat *ret_st)
{
	const char *name;
	RF_AUTO_FD int parent = -1;
	int folder;

	if (!*path)
		return fstat(w->whole, ret_st) < 0 ? -errno : rf_fd_copy(w->whole, 3);
	parent = rf_copy_open_parent(w->whole, path, &name);
	if (parent < 0)
		return parent;
	if (fstatat(parent, name, ret_st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if ((ret_st->st_mode & 0700) != 0700 && geteuid() != 0)
		set_mode(parent, name, ret_st->st_mode | 0700);
	folder = openat(parent, name, FOLDER);
	return folder < 0 ? -errno : folder;
}

static int take_names(struct walk *w, const struct rf_replica *replica, struct folder *folder)
{
	struct rf_merged_names names = { 0 };
	struct rf_merged shown = { 0 };
	RF_AUTO_FD int from = open_copied(w, folder->path, &folder->look);
	RF_AUTO_FD int upper = -1;
	int code = from < 0 ? from : open_shown(w, folder, &shown);

	if (code == 0)
		code = list_names(from, &names);
	if (code == 0 && !is_untouched(replica, &folder->look)) {
		upper = open_upper(w, folder->path); /* its mode may be another */
		code = upper < 0 ? upper : 0;
	}
	if (code == 0)
		code = take_gone(w, folder, &shown, from); /* before others go */
	for (size_t i = 0; i < names.count && code == 0; i++)
		code = take_name(w, replica, folder, &shown, from, names.items[i]);
	rf_merged_names_done(&names);
	rf_merged_done(&shown);
	return code < 0 ? fail_at(w, code, folder->path) : 0;
}

/* Folders of the layer that lead to what changed look as those of the copy did when the run ended. */
static int finish_look(const struct walk *w, const struct folder *folder)
{
	const struct timespec times[2] = { folder->look.st_atim, folder->look.st_mtim };
	RF_AUTO_FD int upper = open_in(w->up, folder->path);
	RF_AUTO_FD int from = upper < 0 ? -1 : open_in(w->whole, folder->path);
	int code;

	if (upper == -ENOENT)
		return 0;
	if (upper < 0 || from < 0)
		return upper < 0 ? upper : from;
	code = rf_copy_look(from, upper);
	if (code == 0 &&
	    (fchmod(upper, folder->look.st_mode & PERMITS) < 0 || futimens(upper, times) < 0))
		code = -errno;
	return code;
}

int rf_replica_take(const struct rf_replica *replica, const struct rf_stack *stack, int whole,
		    int up, struct rf_err *err)
{
	struct walk w = { .stack = stack, .whole = whole, .up = up, .err = err };
	int code = queue_top(&w);

	if (code < 0)
		rf_fail(err, code, "look at the copy");
	for (struct folder *folder = w.first; folder && code == 0; folder = folder->next)
		code = take_names(&w, replica, folder);
	for (const struct folder *folder = w.last; folder && code == 0; folder = folder->before) {
		code = finish_look(&w, folder);
		if (code < 0)
			fail_at(&w, code, folder->path);
	}
	drop_folders(&w);
	return code;
}
