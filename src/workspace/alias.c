/* Other names of what acts later: see alias.h. */
#include "workspace/alias.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/protected.h"
#include "workspace/merged.h"
#include "workspace/repository.h"

#define STEPS  40    /* links on the way of one, as the kernel counts them */
#define DEPTH  4     /* of folders that are looked through beneath a protected name */
#define LOOKED 65536 /* names that are looked at for one folder */
#define WORK   65536 /* folders that are entered for links that a box made */
#define SAME   64    /* names of one place that are tried; the user's own come first */
#define LISTED_MAX                                                                                 \
	((off_t)16384) /* bytes of a folder up to which a list costs less than questions */

/* A place of the tree that has another name. */
struct alias {
	char *path;   /* where it is */
	char *name;   /* the link that leads there */
	bool is_step; /* a link on the way: this very path, and nothing beneath it */
	bool is_of_box;
};

struct search {
	const struct rf_stack *stacks[2]; /* before and after */
	char top[PATH_MAX];               /* the directory's own path, or "" */
	int base;
	struct alias *items;
	size_t count, room, longest;
	size_t looked, worked;
	bool is_partial; /* not all that git is told to use is known */
	struct rf_err *err;
};

/* ------------------------------------------------------------- where a link leads */

static int fail_memory(struct search *s)
{
	return rf_fail(s->err, -ENOMEM, "look for other names of what has changed");
}

static int add(struct search *s, const char *path, const char *name, bool is_step, bool is_of_box)
{
	struct alias *more;
	size_t room;

	if (s->count == s->room) {
		room = s->room ? s->room * 2 : 16;
		more = realloc(s->items, room * sizeof(*more));
		if (!more)
			return fail_memory(s);
		s->items = more;
		s->room = room;
	}
	s->items[s->count] = (struct alias){ strdup(path), strdup(name), is_step, is_of_box };
	more = &s->items[s->count++];
	if (strlen(path) > s->longest)
		s->longest = strlen(path);
	return more->path && more->name ? 0 : fail_memory(s);
}

/* Puts a part behind a path; `..` takes one off.  False where it leads out, or grows too long. */
static bool step(char path[PATH_MAX], const char *part, size_t part_len)
{
	size_t len = strlen(path);
	char *slash;

	if (part_len == 0 || (part_len == 1 && part[0] == '.'))
		return true;
	if (part_len == 2 && strncmp(part, "..", 2) == 0) {
		slash = strrchr(path, '/');
		*(slash ? slash : path) = '\0';
		return len > 0;
	}
	if (len + part_len + 2 > PATH_MAX)
		return false;
	if (len > 0)
		path[len++] = '/';
	memcpy(path + len, part, part_len);
	path[len + part_len] = '\0';
	return true;
}

/* Where the link at `path` leads, before what else is to be walked; false if it is none. */
static bool read_link(struct search *s, const struct rf_stack *stack, const char *path,
		      const char *behind, char ret_way[PATH_MAX])
{
	struct rf_merged folder = { 0 };
	struct rf_merged_entry entry;
	char name[NAME_MAX + 1], target[PATH_MAX];
	ssize_t len = -1;

	for (const char *c = path; *c; c++)
		s->worked += *c == '/';
	s->worked += stack->count;
	if (rf_merged_find(stack, path, &folder, name) == 0 && name[0] &&
	    rf_merged_look(&folder, name, &entry) == 0 && S_ISLNK(entry.st.st_mode))
		len = readlinkat(folder.dirs[entry.at], name, target, sizeof(target) - 1);
	rf_merged_done(&folder);
	if (len <= 0)
		return false;
	target[len] = '\0';
	return snprintf(ret_way, PATH_MAX, "%s/%s", target, behind) < PATH_MAX;
}

/* An absolute way into the directory as one from its top; false for one that leads elsewhere. */
static bool begin_at_top(const struct search *s, char way[PATH_MAX], char path[PATH_MAX])
{
	size_t len = strlen(s->top);

	if (len == 0 || strncmp(way, s->top, len) != 0 || way[len] != '/')
		return false;
	memmove(way, way + len + 1, strlen(way + len + 1) + 1);
	path[0] = '\0';
	return true;
}

/*
 * Follows a link as text through the tree that a stack shows, and notes where it ends, and the links on the way: whoever
 * changes one of those changes where it ends.  What leads out of the tree is nothing that a change here could touch.
 */
static int follow(struct search *s, const struct rf_stack *stack, const char *link, bool is_of_box)
{
	char path[PATH_MAX], way[PATH_MAX], next[PATH_MAX];
	const char *slash = strrchr(link, '/');
	size_t len;

	if (!read_link(s, stack, link, "", way))
		return 0;
	snprintf(path, sizeof(path), "%.*s", slash ? (int)(slash - link) : 0, link);
	for (int steps = STEPS; steps > 0 && !(is_of_box && s->worked >= WORK);) {
		if (way[0] == '/' && !begin_at_top(s, way, path))
			return 0;
		if (!way[0]) /* the top itself is none: what is named beneath it is not */
			return path[0] ? add(s, path, link, false, is_of_box) : 0;
		len = strcspn(way, "/");
		if (!step(path, way, len))
			return 0;
		memmove(way, way + len + (way[len] == '/'),
			strlen(way + len + (way[len] == '/')) + 1);
		if (!read_link(s, stack, path, way, next))
			continue;
		if (path[0] && add(s, path, link, true, is_of_box) < 0)
			return s->err->code;
		memcpy(way, next, strlen(next) + 1);
		step(path, "..", 2);
		steps--;
	}
	return 0;
}

/* In the tree as it was, and as it became. */
static int take(struct search *s, const char *link, bool is_of_box)
{
	int code = follow(s, s->stacks[0], link, is_of_box);

	return code == 0 ? follow(s, s->stacks[1], link, is_of_box) : code;
}

/* ------------------------------------------------------------- the directory's links */

static const char *means(const char *path)
{
	const char *what = rf_protected_what(path);

	return what ? what : rf_protected_beneath(path);
}

static int look_through(struct search *s, const char *folder, unsigned depth);

/* One name of a folder.  `type` is what readdir() says, DT_UNKNOWN where it does not. */
static int look_at(struct search *s, const char *folder, const char *name, unsigned char type,
		   unsigned depth)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name) >=
	    (int)sizeof(path))
		return 0;
	if (type == DT_UNKNOWN) {
		RF_AUTO_FD int it = rf_path_open_within(s->base, path, O_PATH | O_NOFOLLOW);

		if (it < 0 || fstat(it, &st) < 0)
			return 0;
		type = S_ISLNK(st.st_mode) ? DT_LNK : S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
	}
	if ((type != DT_LNK && type != DT_DIR) || !means(path))
		return 0;
	if (type == DT_LNK)
		return take(s, path, false);
	return depth < DEPTH ? look_through(s, path, depth + 1) : 0;
}

/* All names of a folder beneath a protected name; of another one those that could be one. */
static int look_through(struct search *s, const char *folder, unsigned depth)
{
	int dir = rf_path_open_within(s->base, *folder ? folder : ".", O_RDONLY | O_DIRECTORY);
	DIR *stream = dir < 0 ? NULL : fdopendir(dir);
	const struct dirent *entry;
	int code = 0;

	if (!stream) {
		rf_fd_done(&dir);
		return 0;
	}
	while (code == 0 && (entry = readdir(stream)) && s->looked++ < LOOKED)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    (depth > 0 || rf_protected_begins(entry->d_name)))
			code = look_at(s, folder, entry->d_name, entry->d_type, depth);
	closedir(stream);
	return code;
}

/* The same for a large folder: each name that could be there is asked for. */
static int ask_for_names(struct search *s, const char *folder)
{
	const char *name;
	size_t len;
	int code = 0;

	for (size_t i = 0; code == 0 && rf_protected_next("", i, &name, &len) > 0; i++) {
		char copy[NAME_MAX + 1];

		if (len == 0 || len > NAME_MAX)
			continue;
		snprintf(copy, sizeof(copy), "%.*s", (int)len, name);
		code = look_at(s, folder, copy, DT_UNKNOWN, 0);
	}
	return code;
}

static int look_in_folder(struct search *s, const char *folder)
{
	RF_AUTO_FD int dir =
		rf_path_open_within(s->base, *folder ? folder : ".", O_PATH | O_DIRECTORY);
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0)
		return 0; /* the box's own: it has none of the user's links */
	s->looked = 0;
	return st.st_size <= LISTED_MAX ? look_through(s, folder, 0) : ask_for_names(s, folder);
}

/* How long the folder of a path is that it shares with the path before it. */
static size_t shared(const char *one, const char *two)
{
	size_t slash = 0;

	for (size_t i = 0; one[i] && one[i] == two[i]; i++)
		if (one[i] == '/')
			slash = i + 1;
	return slash;
}

/* The folders on the way to each change, once each: changes are sorted by path. */
static int look_on_the_way(struct search *s, const struct rf_delta *delta)
{
	const char *last = "";
	int code = look_in_folder(s, "");

	for (size_t i = 0; i < delta->count && code == 0; i++) {
		const char *path = delta->changes[i].path, *slash;
		char folder[PATH_MAX];

		for (slash = strchr(path + shared(path, last), '/'); slash && code == 0;
		     slash = strchr(slash + 1, '/')) {
			if ((size_t)(slash - path) >= sizeof(folder))
				break;
			snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
			code = look_in_folder(s, folder);
		}
		last = path;
	}
	return code;
}

/* ------------------------------------------------------------- which changes have them */

/* The user's own come first among those of one place. */
static int by_path(const void *a, const void *b)
{
	const struct alias *one = a, *two = b;
	int order = strcmp(one->path, two->path);

	return order ? order : one->is_of_box - two->is_of_box;
}

/* The first alias of this place, or where it would be. */
static size_t find(const struct search *s, const char *path, size_t len)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strncmp(s->items[middle].path, path, len);

		if (order == 0 && s->items[middle].path[len])
			order = 1;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What the rest of a path, behind a place of so many bytes, is by one of the place's names; or NULL. */
static const char *what_is(const struct search *s, const char *path, size_t len)
{
	size_t first = find(s, path, len);

	for (size_t i = first; i < s->count && i - first < SAME; i++) {
		const struct alias *alias = &s->items[i];
		char name[PATH_MAX];
		const char *what = NULL;

		if (strncmp(alias->path, path, len) != 0 || alias->path[len])
			break;
		if (!path[len])
			what = means(alias->name);
		else if (!alias->is_step &&
			 snprintf(name, sizeof(name), "%s%s%s", alias->name, len ? "" : "/",
				  path + len) < (int)sizeof(name))
			what = rf_protected_what(name);
		if (what)
			return what;
	}
	return NULL;
}

static void mark(const struct search *s, struct rf_change *change)
{
	change->protects = what_is(s, change->path, 0);
	for (size_t len = 1; len <= s->longest && change->path[len - 1] && !change->protects; len++)
		if (change->path[len] == '/' || !change->path[len])
			change->protects = what_is(s, change->path, len);
	if (!change->protects && s->is_partial)
		change->protects = "perhaps git's: not all its settings were read";
}

static bool can_act(const struct rf_change *change)
{
	return change->after.mode && !S_ISDIR(change->after.mode);
}

/* What git is told to use, as if links led there from its own names. */
static int add_pointed(struct search *s, const struct rf_delta *delta)
{
	struct rf_repository_places places;
	int code = rf_repository_find(s->stacks[0], s->stacks[1], delta, &places, s->err);

	for (size_t i = 0; i < places.count && code == 0; i++)
		code = add(s, places.items[i].path, places.items[i].name, places.items[i].is_exact,
			   places.items[i].is_of_box);
	s->is_partial = places.is_partial;
	rf_repository_done(&places);
	return code;
}

int rf_alias_mark(const struct rf_stack *before, const struct rf_stack *after,
		  struct rf_delta *delta, struct rf_err *err)
{
	struct search s = { .stacks = { before, after }, .err = err };
	char link[32];
	ssize_t len;
	int code;

	if (delta->count == 0)
		return 0;
	s.base = before->layers[before->count - 1];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", s.base);
	len = readlink(link, s.top, sizeof(s.top) - 1);
	s.top[len > 0 ? len : 0] = '\0';
	code = look_on_the_way(&s, delta);
	s.worked = 0; /* what the user's own links took is not the box's */
	for (size_t i = 0; i < delta->count && code == 0 && s.worked < WORK; i++)
		if (S_ISLNK(delta->changes[i].after.mode) && means(delta->changes[i].path))
			code = take(&s, delta->changes[i].path, true);
	if (code == 0)
		code = add_pointed(&s, delta);
	if (s.count > 1)
		qsort(s.items, s.count, sizeof(*s.items), by_path);
	for (size_t i = 0; i < delta->count && code == 0 && (s.count > 0 || s.is_partial); i++)
		if (!delta->changes[i].protects && can_act(&delta->changes[i]))
			mark(&s, &delta->changes[i]);
	for (size_t i = 0; i < s.count; i++) {
		free(s.items[i].path);
		free(s.items[i].name);
	}
	free(s.items);
	return code;
}
