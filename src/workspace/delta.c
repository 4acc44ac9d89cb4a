/* What changes from one stack of layers to another: see delta.h. */
#include "workspace/delta.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/protected.h"
#include "workspace/alias.h"
#include "workspace/attributes.h"
#include "workspace/closed.h"
#include "workspace/content.h"
#include "workspace/overlay-xattrs.h"

#define OPAQUE      "user.overlay.opaque"
#define CHANGES_MAX ((size_t)4 << 20)

/* The layers of a stack that show a folder, from the top down. */
struct view {
	size_t count;
	size_t *which;
	int *dirs; /* while the folder is looked at: its descriptor in each */
};

/* A folder that has to be looked at. */
struct folder {
	struct folder *next;
	struct view views[2];
	bool is_closed; /* to us: nobody can tell what is in it */
	char path[];
};

/* The two sides of a comparison. */
enum {
	BEFORE,
	AFTER
};

/* A walk under way. */
struct walk {
	const struct rf_stack *stacks[2];
	struct rf_delta *delta;
	struct folder *first, **last;
	struct rf_err *err;
};

/* A name as one side has it. */
struct entry {
	bool is_there;
	size_t at; /* in the view of the folder */
	struct stat st;
};

struct names {
	char **items;
	size_t count, room;
};

/* ------------------------------------------------------------- small steps */

const char *rf_change_name(enum rf_change_kind kind)
{
	static const char *const names[] = {
		[RF_CHANGE_ADDED] = "added",           [RF_CHANGE_DELETED] = "deleted",
		[RF_CHANGE_CONTENT] = "changed",       [RF_CHANGE_MODE] = "mode",
		[RF_CHANGE_ATTRIBUTES] = "attributes", [RF_CHANGE_TYPE] = "type",
	};

	return names[kind];
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

static int fail_memory(struct walk *w)
{
	return rf_fail(w->err, -ENOMEM, "list what has changed");
}

static int fail_at(struct walk *w, int code, const char *path)
{
	rf_fail(w->err, code, "look at %.200s", *path ? path : "the top");
	if (code == -ENAMETOOLONG)
		rf_fail_hint(
			w->err,
			"it lies deeper than a path can name; `ringfort undo` goes back before it");
	return code;
}

static char *join(const char *folder, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0 ? NULL : path;
}

/* ------------------------------------------------------------- findings */

static struct rf_change_side side_of(const struct entry *entry)
{
	if (!entry->is_there)
		return (struct rf_change_side){ 0 };
	return (struct rf_change_side){ entry->st.st_mode, S_ISDIR(entry->st.st_mode)
								   ? 0
								   : (uint64_t)entry->st.st_size };
}

static bool can_be_run(const struct entry *entry)
{
	return entry->is_there && S_ISREG(entry->st.st_mode) &&
	       entry->st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH);
}

/* Others of the machine could put into it what they like, except in a folder in which each has his own. */
static bool is_everybodys(const struct entry *entry)
{
	return entry->is_there && !S_ISLNK(entry->st.st_mode) && entry->st.st_mode & S_IWOTH &&
	       !(S_ISDIR(entry->st.st_mode) && entry->st.st_mode & S_ISVTX);
}

static bool is_up(const char *part)
{
	return strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]);
}

/*
 * True for a link that may lead out of the directory: whoever writes to it later writes elsewhere.  It leads no higher
 * than the top, and nowhere up again once it went down.
 */
static bool leads_out(int dir, const char *path)
{
	const char *slash = strrchr(path, '/'), *part;
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir, slash ? slash + 1 : path, target, sizeof(target) - 1);
	int depth = 0;
	bool is_down = false;

	if (len <= 0 || target[0] == '/')
		return true;
	target[len] = '\0';
	for (const char *c = path; *c; c++)
		depth += *c == '/';
	for (part = target; part; part = strchr(part, '/'), part += part ? 1 : 0) {
		if (is_up(part) && (is_down || --depth < 0))
			return true;
		is_down |= !is_up(part) && *part && *part != '/' && strncmp(part, "./", 2) != 0;
	}
	return false;
}

/* What is there afterwards and acts; what is gone does not.  `dir` is the folder that it is in. */
static const char *acts_later(const char *path, const struct entry *before,
			      const struct entry *after, int dir)
{
	const char *slash = strrchr(path, '/'), *what;

	if (!after->is_there)
		return NULL;
	if (is_everybodys(after) && !is_everybodys(before))
		return "writable by everybody";
	if (S_ISDIR(after->st.st_mode))
		return NULL;
	if (strcasecmp(slash ? slash + 1 : path, ".git") == 0)
		return "link to a git repository"; /* whose settings name programs */
	what = rf_protected_what(path);
	if (!what && S_ISLNK(after->st.st_mode))
		what = rf_protected_beneath(path);
	if (!what && S_ISLNK(after->st.st_mode) && leads_out(dir, path))
		what = "link that leads out";
	return !what && can_be_run(after) && !can_be_run(before) ? "executable" : what;
}

static int add(struct walk *w, const struct folder *in, const char *path, enum rf_change_kind kind,
	       const struct entry *entries)
{
	struct rf_delta *delta = w->delta;
	struct rf_change *change;
	int dir = entries[AFTER].is_there ? in->views[AFTER].dirs[entries[AFTER].at] : -1;

	if (delta->count == delta->room) {
		size_t room = delta->room ? delta->room * 2 : 64;
		struct rf_change *more =
			room <= CHANGES_MAX ? realloc(delta->changes, room * sizeof(*more)) : NULL;

		if (!more)
			return rf_fail(w->err, room <= CHANGES_MAX ? -ENOMEM : -E2BIG,
				       "list what has changed");
		delta->changes = more;
		delta->room = room;
	}
	change = &delta->changes[delta->count];
	*change = (struct rf_change){ .path = strdup(path),
				      .kind = kind,
				      .before = side_of(&entries[BEFORE]),
				      .after = side_of(&entries[AFTER]),
				      .protects = acts_later(path, &entries[BEFORE],
							     &entries[AFTER], dir) };
	if (!change->path)
		return fail_memory(w);
	if (entries[BEFORE].is_there)
		change->old = in->views[BEFORE].which[entries[BEFORE].at];
	if (entries[AFTER].is_there)
		change->new = in->views[AFTER].which[entries[AFTER].at];
	delta->count++;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct rf_change *)a)->path, ((const struct rf_change *)b)->path);
}

void rf_delta_done(struct rf_delta *delta)
{
	for (size_t i = 0; i < delta->count; i++)
		free(delta->changes[i].path);
	free(delta->changes);
	*delta = (struct rf_delta){ 0 };
}

/* ------------------------------------------------------------- names of a folder */

static int add_name(struct names *names, const char *text)
{
	if (names->count == names->room) {
		size_t room = names->room ? names->room * 2 : 32;
		char **more = realloc(names->items, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		names->items = more;
		names->room = room;
	}
	names->items[names->count] = strdup(text);
	return names->items[names->count++] ? 0 : -ENOMEM;
}

static int list(int folder, struct names *names)
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
			code = add_name(names, entry->d_name);
	closedir(stream);
	return code;
}

/* True if one side's i-th layer of a folder is none of the other side's. */
static bool is_apart(const struct walk *w, const struct folder *folder, int side, size_t i)
{
	const struct view *other = &folder->views[!side];
	uint64_t id = w->stacks[side]->ids[folder->views[side].which[i]];

	for (size_t k = 0; k < other->count; k++)
		if (w->stacks[!side]->ids[other->which[k]] == id)
			return false;
	return true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names that the two sides may show differently, sorted, each once. */
static int list_apart(struct walk *w, const struct folder *folder, struct names *names)
{
	size_t kept = 0;
	int code = 0;

	for (int side = BEFORE; side <= AFTER; side++)
		for (size_t i = 0; i < folder->views[side].count && code == 0; i++)
			if (is_apart(w, folder, side, i))
				code = list(folder->views[side].dirs[i], names);
	if (names->count > 1)
		qsort(names->items, names->count, sizeof(*names->items), by_text);
	for (size_t i = 0; i < names->count; i++) {
		if (kept > 0 && strcmp(names->items[kept - 1], names->items[i]) == 0)
			free(names->items[i]);
		else
			names->items[kept++] = names->items[i];
	}
	names->count = kept;
	return code < 0 ? fail_at(w, code, folder->path) : 0;
}

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

/* ------------------------------------------------------------- folders to come */

static void drop(struct folder *folder)
{
	for (int side = BEFORE; side <= AFTER; side++) {
		free(folder->views[side].which);
		free(folder->views[side].dirs);
	}
	free(folder);
}

/* Appends a folder of which nothing is known yet but its path, with room for `rooms` layers. */
static struct folder *queue(struct walk *w, const char *path, const size_t rooms[2])
{
	size_t len = strlen(path);
	struct folder *folder = calloc(1, sizeof(*folder) + len + 1);

	if (!folder)
		return NULL;
	memcpy(folder->path, path, len + 1);
	for (int side = BEFORE; side <= AFTER; side++) {
		struct view *view = &folder->views[side];

		view->which = calloc(rooms[side] + 1, sizeof(*view->which));
		view->dirs = calloc(rooms[side] + 1, sizeof(*view->dirs));
		if (!view->which || !view->dirs) {
			drop(folder);
			return NULL;
		}
	}
	*w->last = folder;
	w->last = &folder->next;
	return folder;
}

/*
 * Which layers show the folder `name` of the folder `in`: from the first that has it down to one that hides the
 * rest.  Returns 0 or a negative errno.
 */
static int see_through(const struct view *in, size_t from, const char *name, struct view *ret_view)
{
	for (size_t i = from; i < in->count; i++) {
		RF_AUTO_FD int dir = rf_closed_open(in->dirs[i], name, O_RDONLY | O_DIRECTORY);

		if (dir == -ENOENT)
			continue; /* not in this layer */
		if (dir == -ENOTDIR || dir == -ELOOP)
			return 0; /* deleted, or something else, further down */
		if (dir < 0)
			return dir;
		ret_view->which[ret_view->count++] = in->which[i];
		if (is_opaque(dir))
			return 0;
	}
	return 0;
}

/* Notes that the folders of this name have to be compared; a side that has none compares as an empty one. */
static int queue_both(struct walk *w, const struct folder *in, const char *path, const char *name,
		      const struct entry *entries, bool *ret_closed)
{
	const size_t rooms[2] = { in->views[BEFORE].count, in->views[AFTER].count };
	struct folder *folder = queue(w, path, rooms);

	if (!folder)
		return fail_memory(w);
	for (int side = BEFORE; side <= AFTER; side++) {
		int code = 0;

		if (entries[side].is_there && S_ISDIR(entries[side].st.st_mode))
			code = see_through(&in->views[side], entries[side].at, name,
					   &folder->views[side]);
		folder->is_closed |= code == -EACCES;
		if (code < 0 && code != -EACCES)
			return fail_at(w, code, path);
	}
	*ret_closed = folder->is_closed;
	return 0;
}

/* ------------------------------------------------------------- one name */

static int same_link(int one, int two, const char *name)
{
	char a[PATH_MAX], b[PATH_MAX];
	ssize_t n = readlinkat(one, name, a, sizeof(a)), m = readlinkat(two, name, b, sizeof(b));

	if (n < 0 || m < 0)
		return -errno;
	return n == m && memcmp(a, b, (size_t)n) == 0;
}

/* 1 if a name in two folders has the same content, 0 if not, or a negative errno.  Types and sizes are equal. */
static int same_content(int one, int two, const char *name, mode_t type)
{
	RF_AUTO_FD int a = -1;
	RF_AUTO_FD int b = -1;

	if (S_ISLNK(type))
		return same_link(one, two, name);
	if (!S_ISREG(type))
		return 1; /* a pipe or a socket, which is all that a box can make besides */
	a = rf_closed_open(one, name, O_RDONLY | O_NONBLOCK);
	b = a < 0 ? a : rf_closed_open(two, name, O_RDONLY | O_NONBLOCK);
	if (b < 0)
		return b == -EACCES ? 0 : b; /* what can't be read may have changed */
	return rf_content_is_same(a, b);
}

/* The attributes of a file or folder of this name in two folders; what can't be opened shows none. */
static bool same_attributes(int one, int two, const char *name)
{
	RF_AUTO_FD int a = rf_closed_open(one, name, O_RDONLY | O_NONBLOCK);
	RF_AUTO_FD int b = a < 0 ? -1 : rf_closed_open(two, name, O_RDONLY | O_NONBLOCK);

	return a < 0 || b < 0 || rf_attributes_match(a, b);
}

/*
 * A file of the directory that overlayfs hides from boxes: what they did, and what was verified, was done without it.  In layers
 * such attributes are overlayfs's own.
 */
static int refuse_hidden(struct walk *w, const struct folder *in, const struct entry *entry,
			 int side, const char *path, const char *name)
{
	const struct view *view = &in->views[side];

	if (!entry->is_there || w->stacks[side]->ids[view->which[entry->at]] != RF_STACK_BASE)
		return 0;
	return rf_overlay_xattrs_refuse(view->dirs[entry->at], name, path, w->err);
}

/* As one side shows it. */
static int find(const struct view *view, const char *name, struct entry *ret_entry)
{
	*ret_entry = (struct entry){ 0 };
	for (size_t i = 0; i < view->count; i++) {
		if (fstatat(view->dirs[i], name, &ret_entry->st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT)
				continue;
			return -errno;
		}
		ret_entry->is_there = !is_whiteout(&ret_entry->st);
		ret_entry->at = i;
		return 0;
	}
	return 0;
}

static bool is_folder(const struct entry *entry)
{
	return entry->is_there && S_ISDIR(entry->st.st_mode);
}

/* What both sides have, as the same type of thing.  Returns a kind, or -1 for no change, or fails. */
static int compare(struct walk *w, const struct folder *in, const char *path, const char *name,
		   const struct entry *entries, int *ret_kind)
{
	const struct stat *before = &entries[BEFORE].st, *after = &entries[AFTER].st;
	int one = in->views[BEFORE].dirs[entries[BEFORE].at],
	    two = in->views[AFTER].dirs[entries[AFTER].at], same = 1;

	*ret_kind = -1;
	if (before->st_dev == after->st_dev && before->st_ino == after->st_ino)
		return 0;
	if (!S_ISDIR(after->st_mode))
		same = before->st_size != after->st_size
			       ? 0
			       : same_content(one, two, name, after->st_mode);
	if (same < 0)
		return fail_at(w, same, path);
	if (!same)
		*ret_kind = RF_CHANGE_CONTENT;
	else if ((S_ISREG(after->st_mode) || S_ISDIR(after->st_mode)) &&
		 !same_attributes(one, two, name))
		*ret_kind = RF_CHANGE_ATTRIBUTES;
	else if (((before->st_mode ^ after->st_mode) & 07777) && !S_ISLNK(after->st_mode))
		*ret_kind = RF_CHANGE_MODE;
	return 0;
}

static int look_at_path(struct walk *w, const struct folder *in, const char *path, const char *name)
{
	struct entry entries[2];
	bool is_way, is_end, is_closed = false;
	int kind = -1, code = 0;

	for (int side = BEFORE; side <= AFTER && code == 0; side++)
		code = find(&in->views[side], name, &entries[side]);
	if (code < 0)
		return fail_at(w, code, path);
	for (int side = BEFORE; side <= AFTER; side++)
		if (refuse_hidden(w, in, &entries[side], side, path, name) < 0)
			return w->err->code;
	if (!entries[BEFORE].is_there && !entries[AFTER].is_there)
		return 0;
	if (!entries[BEFORE].is_there)
		kind = RF_CHANGE_ADDED;
	else if (!entries[AFTER].is_there)
		kind = RF_CHANGE_DELETED;
	else if ((entries[BEFORE].st.st_mode ^ entries[AFTER].st.st_mode) & S_IFMT)
		kind = RF_CHANGE_TYPE;
	else if (compare(w, in, path, name, entries, &kind) < 0)
		return w->err->code;
	is_way = is_folder(&entries[BEFORE]) || is_folder(&entries[AFTER]);
	is_end = is_way && strlen(path) + 1 + NAME_MAX >= PATH_MAX;
	if (is_end && kind < 0)
		kind = RF_CHANGE_CONTENT; /* nobody can tell */
	if (kind >= 0 && add(w, in, path, (enum rf_change_kind)kind, entries) < 0)
		return w->err->code;
	if (is_end) {
		w->delta->changes[w->delta->count - 1].is_end = true;
		w->delta->changes[w->delta->count - 1].protects = "deeper than a path can name";
		return 0;
	}
	code = is_way ? queue_both(w, in, path, name, entries, &is_closed) : 0;
	/* What is in it nobody can tell; that it was written to is a change. */
	if (code == 0 && is_closed && kind < 0 && is_apart(w, in, AFTER, entries[AFTER].at))
		code = add(w, in, path, RF_CHANGE_CONTENT, entries);
	return code;
}

static int look_at(struct walk *w, const struct folder *in, const char *name)
{
	char *path = join(in->path, name);
	int code = path ? look_at_path(w, in, path, name) : fail_memory(w);

	free(path);
	return code;
}

/* ------------------------------------------------------------- one folder */

static int look_through(struct walk *w, const struct folder *folder)
{
	struct names names = { 0 };
	int code = list_apart(w, folder, &names);

	for (size_t i = 0; i < names.count && code == 0; i++)
		code = look_at(w, folder, names.items[i]);
	names_done(&names);
	return code;
}

/* Opens the folder in each layer that shows it.  By its whole path, so that only one is held open at a time. */
static int open_view(struct walk *w, struct folder *folder, int side, size_t *ret_opened)
{
	const struct view *view = &folder->views[side];

	for (*ret_opened = 0; *ret_opened < view->count; ++*ret_opened) {
		int dir = rf_path_open_beneath(w->stacks[side]->layers[view->which[*ret_opened]],
					       *folder->path ? folder->path : ".",
					       O_RDONLY | O_DIRECTORY);

		if (dir < 0)
			return fail_at(w, dir, folder->path);
		view->dirs[*ret_opened] = dir;
	}
	return 0;
}

static int look_into(struct walk *w, struct folder *folder)
{
	size_t opened[2] = { 0 };
	int code = open_view(w, folder, BEFORE, &opened[BEFORE]);

	if (code == 0)
		code = open_view(w, folder, AFTER, &opened[AFTER]);
	if (code == 0)
		code = look_through(w, folder);
	for (int side = BEFORE; side <= AFTER; side++)
		while (opened[side] > 0)
			close(folder->views[side].dirs[--opened[side]]);
	return code;
}

int rf_delta_find(const struct rf_stack *before, const struct rf_stack *after,
		  struct rf_delta *ret_delta, struct rf_err *err)
{
	struct walk w = { .stacks = { before, after }, .delta = ret_delta, .err = err };
	const size_t rooms[2] = { before->count, after->count };
	struct folder *top, *next;
	int code = 0;

	*ret_delta = (struct rf_delta){ 0 };
	w.last = &w.first;
	top = queue(&w, "", rooms);
	if (!top)
		return fail_memory(&w);
	for (int side = BEFORE; side <= AFTER; side++)
		for (size_t i = 0; i < rooms[side]; i++)
			top->views[side].which[top->views[side].count++] = i;
	for (struct folder *folder = w.first; folder; folder = next) {
		if (code == 0 && !folder->is_closed)
			code = look_into(&w, folder);
		next = folder->next;
		drop(folder);
	}
	if (code == 0 && ret_delta->count > 1)
		qsort(ret_delta->changes, ret_delta->count, sizeof(*ret_delta->changes), by_path);
	return code == 0 ? rf_alias_mark(before, after, ret_delta, err) : code;
}
