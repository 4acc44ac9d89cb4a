/* A path as one side of a comparison shows it: see spot.h. */
#include "workspace/spot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define STEPS 40 /* links on the way, as the kernel counts them */

void rf_spot_look_from(const struct rf_stack *stack, struct rf_spot_view *ret_view)
{
	char link[32];
	ssize_t len;

	ret_view->stack = stack;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", stack->layers[stack->count - 1]);
	len = readlink(link, ret_view->top, sizeof(ret_view->top) - 1);
	ret_view->top[len > 0 ? len : 0] = '\0';
	if (ret_view->top[0] != '/') /* no path leads there: it is like none */
		snprintf(ret_view->top, sizeof(ret_view->top), "/proc/self/none");
	if (strcmp(ret_view->top, "/") == 0)
		ret_view->top[0] = '\0';
}

const char *rf_spot_inside(const struct rf_spot_view *view, const char *path)
{
	size_t len = strlen(view->top);

	if (strncmp(path, view->top, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return path + len + (path[len] == '/');
}

/* ------------------------------------------------------------- what is there */

/* Finds what an inner path is.  Gives the folder that it lies in, to be freed in any case. */
static bool find(const struct rf_spot_view *view, const char *inside, struct rf_merged *ret_folder,
		 char name[NAME_MAX + 1], struct rf_merged_entry *ret_entry)
{
	return rf_merged_find(view->stack, inside, ret_folder, name) == 0 && name[0] &&
	       rf_merged_look(ret_folder, name, ret_entry) == 0;
}

/* True if the directory itself has it, and no layer over it. */
static bool is_base(const struct rf_spot_view *view, const struct rf_merged *folder, size_t at)
{
	return folder->which[at] == view->stack->count - 1;
}

/* Where the link at spot->path leads; 0 if it is none. */
static size_t read_link(const struct rf_spot_view *view, struct rf_spot *spot,
			char target[PATH_MAX])
{
	const char *inside = rf_spot_inside(view, spot->path);
	struct rf_merged folder = { 0 };
	struct rf_merged_entry entry;
	char name[NAME_MAX + 1];
	ssize_t len = -1;

	if (!inside && spot->is_own) {
		len = readlink(spot->path, target, PATH_MAX - 1);
	} else if (inside && *inside) {
		if (find(view, inside, &folder, name, &entry) && S_ISLNK(entry.st.st_mode)) {
			len = readlinkat(folder.dirs[entry.at], name, target, PATH_MAX - 1);
			spot->is_own &= is_base(view, &folder, entry.at);
		}
		rf_merged_done(&folder);
	}
	target[len > 0 ? len : 0] = '\0';
	return len > 0 ? (size_t)len : 0;
}

bool rf_spot_is_there(const struct rf_spot_view *view, const struct rf_spot *spot)
{
	const char *inside = rf_spot_inside(view, spot->path);
	struct rf_merged folder = { 0 };
	struct rf_merged_entry entry;
	char name[NAME_MAX + 1];
	struct stat st;
	bool is_there;

	if (!inside)
		return spot->is_own && lstat(spot->path, &st) == 0;
	is_there = !*inside || find(view, inside, &folder, name, &entry);
	rf_merged_done(&folder);
	return is_there;
}

/* ------------------------------------------------------------- ways */

static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	*(slash ? slash : path) = '\0';
}

/* Puts a name behind a path; `..` takes one off, except from the root. */
static bool step(char path[PATH_MAX], const char *name, size_t name_len)
{
	size_t len = strlen(path);

	if (name_len == 0 || (name_len == 1 && name[0] == '.'))
		return true;
	if (name_len == 2 && strncmp(name, "..", 2) == 0) {
		cut_last(path);
		return true;
	}
	if (len + name_len + 2 > PATH_MAX)
		return false;
	path[len] = '/';
	memcpy(path + len + 1, name, name_len);
	path[len + 1 + name_len] = '\0';
	return true;
}

bool rf_spot_resolve(const struct rf_spot_view *view, const char *way,
		     void (*on_link)(void *data, const char *inside), void *data,
		     struct rf_spot *spot)
{
	char rest[RF_SPOT_WAY], next[RF_SPOT_WAY], target[PATH_MAX];
	int steps = STEPS;
	size_t len;

	spot->path[0] = '\0';
	if (snprintf(rest, sizeof(rest), "%s", way) >= (int)sizeof(rest))
		return false;
	for (char *at = rest; *at;) {
		bool is_name;

		len = strcspn(at, "/");
		is_name = len > 2 || strncmp(at, "..", len) != 0;
		if (!step(spot->path, at, len))
			return false;
		at += len + (at[len] == '/');
		if (!is_name || read_link(view, spot, target) == 0)
			continue; /* what was walked before has no links */
		if (steps-- == 0 ||
		    snprintf(next, sizeof(next), "%s/%s", target, at) >= (int)sizeof(next))
			return false;
		if (rf_spot_inside(view, spot->path))
			on_link(data, rf_spot_inside(view, spot->path));
		cut_last(spot->path);
		if (target[0] == '/')
			spot->path[0] = '\0';
		memcpy(rest, next, strlen(next) + 1);
		at = rest;
	}
	return true;
}

/* ------------------------------------------------------------- files and folders */

/* A file outside.  Nothing else is ever opened: to open a device can be an order to it. */
static int open_host(const char *path)
{
	RF_AUTO_FD int it = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char link[32];

	if (it < 0 || fstat(it, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", it);
	return open(link, O_RDONLY | O_NOCTTY | O_CLOEXEC);
}

/* The file, for reading, or a negative errno. */
static int open_file(const struct rf_spot_view *view, struct rf_spot *spot)
{
	const char *inside = rf_spot_inside(view, spot->path);
	struct rf_merged folder = { 0 };
	struct rf_merged_entry entry;
	char name[NAME_MAX + 1];
	int file = -ENOENT;

	if (!inside)
		return spot->is_own ? open_host(spot->path) : -ENOENT;
	if (find(view, inside, &folder, name, &entry)) {
		file = rf_merged_open(&folder, name);
		spot->is_own &= is_base(view, &folder, entry.at);
	}
	rf_merged_done(&folder);
	return file;
}

int rf_spot_read(const struct rf_spot_view *view, struct rf_spot *spot, size_t max, char **ret_text,
		 size_t *ret_len)
{
	RF_AUTO_FD int file = open_file(view, spot);
	size_t len = 0;
	ssize_t got = 0;
	struct stat st;
	char *text;

	if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (st.st_size > (off_t)max)
		return -E2BIG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (len < (size_t)st.st_size &&
	       (got = pread(file, text + len, (size_t)st.st_size - len, (off_t)len)) > 0)
		len += (size_t)got;
	text[len] = '\0';
	*ret_text = text;
	*ret_len = len;
	return 1;
}

/* Those of a folder outside. */
static int list_host(const char *path, size_t max, struct rf_merged_names *names)
{
	DIR *stream = opendir(*path ? path : "/");
	const struct dirent *entry;
	int code = 0;

	names->items = stream ? calloc(max, sizeof(*names->items)) : NULL;
	while (names->items && code == 0 && names->count < max && (entry = readdir(stream))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		names->items[names->count] = strdup(entry->d_name);
		code = names->items[names->count] ? 0 : -ENOMEM;
		names->count += code == 0;
	}
	if (stream && !names->items)
		code = -ENOMEM;
	if (stream)
		closedir(stream);
	return code;
}

int rf_spot_list(const struct rf_spot_view *view, const struct rf_spot *spot, size_t max,
		 struct rf_merged_names *ret_names)
{
	const char *inside = rf_spot_inside(view, spot->path);
	struct rf_merged folder = { 0 }, in = { 0 };
	char name[NAME_MAX + 1];
	int code = 0;

	*ret_names = (struct rf_merged_names){ 0 };
	if (!inside)
		return spot->is_own ? list_host(spot->path, max, ret_names) : 0;
	if (rf_merged_find(view->stack, inside, &folder, name) == 0 && name[0] &&
	    rf_merged_enter(&folder, name, &in) == 0)
		code = rf_merged_list(&in, ret_names);
	rf_merged_done(&in);
	rf_merged_done(&folder);
	for (; ret_names->count > max; ret_names->count--)
		free(ret_names->items[ret_names->count - 1]);
	return code == -ENOMEM ? code : 0;
}
