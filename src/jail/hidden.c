/*
 * What a box must not see of the trees that it is shown: see hidden.h.
 *
 * A pattern is followed into a tree as a set of states (policy/pattern.h): where only names without
 * wildcards can come next, these are looked up and nothing is listed, so that a plain path costs a few
 * calls in a tree of any size.  What matches is not entered.  A folder that can't be listed or searched
 * is hidden as a whole if the box could go in, since nobody knows what is in it; a folder of the
 * caller's own it can, by changing its mode in a writable tree.
 */
#include "jail/hidden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/tree-walk.h"
#include "jail/box.h"
#include "jail/source.h"
#include "policy/credential.h"
#include "policy/current.h"

#define HOPS 16 /* links that lead to links */

/* The search in one tree. */
struct finder {
	struct rf_box *box;
	size_t index; /* of the place */
	const struct rf_place *place;
	int top;
	const struct rf_pattern **patterns; /* those that can match in this tree */
	size_t count;
	const struct rf_pattern *last; /* the one that matched last, for errors */
	struct rf_err *err;
};

void rf_hidden_done(struct rf_hidden_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].path);
		free(list->items[i].source);
	}
	free(list->items);
	*list = (struct rf_hidden_list){ 0 };
}

/* ------------------------------------------------------------- the list */

/*
 * Adds what shows at `rest` beneath the place.  `rest` is "" or begins with a slash.  `st` is what was found
 * there, or NULL where nobody may look.
 */
static int add(struct rf_box *box, size_t place, const char *rest, const char *rule,
	       const struct stat *st, bool is_target)
{
	const struct rf_place *p = &box->plan->places[place];
	struct rf_hidden_list *list = &box->hidden;
	struct rf_hidden item = {
		.rule = rule, .place = place, .names = 1, .is_target = is_target
	};

	if (st) {
		item.dev = st->st_dev;
		item.ino = st->st_ino;
		item.names = S_ISREG(st->st_mode) && !is_target ? st->st_nlink : 1;
	}

	if (list->count == RF_MAX_HIDDEN)
		return -E2BIG;
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		struct rf_hidden *items = realloc(list->items, room * sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->room = room;
	}
	if (asprintf(&item.path, "%s%s", p->path, rest) < 0)
		return -ENOMEM;
	if (asprintf(&item.source, "%s%s", p->kind == RF_PLACE_HIDE ? p->path : p->source, rest) <
	    0) {
		free(item.path);
		return -ENOMEM;
	}
	item.rest = strlen(item.source) - strlen(rest) + (*rest == '/');
	list->items[list->count++] = item;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct rf_hidden *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order
		     : strcmp(y->rule, x->rule); /* a rule of the policy's before a default */
}

static void sort(struct rf_hidden_list *list)
{
	size_t kept = 0;

	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), by_path);
	for (size_t i = 0; i < list->count; i++) {
		if (kept > 0 && strcmp(list->items[kept - 1].path, list->items[i].path) == 0) {
			free(list->items[i].path);
			free(list->items[i].source);
		} else {
			list->items[kept++] = list->items[i];
		}
	}
	list->count = kept;
}

/* ------------------------------------------------------------- places */

/* True for a tree of the host that the policy or the current directory shows. */
static bool is_shown(const struct rf_place *place)
{
	return place->kind == RF_PLACE_HOST && rf_source_is_named(place);
}

/* The innermost place at or above a path in the box, or NULL. */
static const struct rf_place *governing(const struct rf_plan *plan, const char *path)
{
	const struct rf_place *best = NULL;

	for (size_t i = 0; i < plan->place_count; i++)
		if (plan->places[i].kind != RF_PLACE_HIDE &&
		    rf_path_is_beneath(path, plan->places[i].path) &&
		    (!best || strlen(plan->places[i].path) >= strlen(best->path)))
			best = &plan->places[i];
	return best;
}

/* True if a place of its own, shown by the policy, is at or beneath the path in the box. */
static bool holds_place(const struct rf_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->place_count; i++)
		if (is_shown(&plan->places[i]) && rf_path_is_beneath(plan->places[i].path, path))
			return true;
	return false;
}

/*
 * True if `code` says that nothing is there, or nothing within the caller's reach and so within the
 * box's.  Any other error says nothing: then it may be there, and the box can't be made.
 */
static bool is_nothing(int code)
{
	return code == -ENOENT || code == -ENOTDIR || code == -EACCES || code == -ELOOP ||
	       code == -ENAMETOOLONG;
}

/* ------------------------------------------------------------- links */

/* Puts what a link says before the rest of a path, and takes "." and ".." out.  False: too long. */
static bool put_target(char *path, size_t at, const char *target, const char *rest)
{
	char whole[2 * PATH_MAX + NAME_MAX];
	size_t len = 0;

	/* A relative target counts from the folder of the link, whose name begins at `at`. */
	if (snprintf(whole, sizeof(whole), "%.*s/%s%s", target[0] == '/' ? 0 : (int)at, path,
		     target, rest) >= (int)sizeof(whole))
		return false;
	for (const char *part = whole; *part;) {
		size_t n = strcspn(part, "/");

		if (n == 2 && memcmp(part, "..", 2) == 0) {
			while (len > 0 && path[--len] != '/')
				;
		} else if (n > 0 && !(n == 1 && *part == '.')) {
			if (len + n + 1 >= PATH_MAX)
				return false;
			path[len++] = '/';
			memmove(path + len, part, n);
			len += n;
		}
		part += n + (part[n] == '/');
	}
	path[len] = '\0';
	return len > 0;
}

/*
 * Follows links the way the box would, by its own names, as far as they stay in trees that the policy
 * shows.  `path` has room for PATH_MAX bytes.  Gives the place, or NULL if it leads elsewhere.
 */
static const struct rf_place *follow(const struct rf_plan *plan, char *path)
{
	int hops = 0;

	for (size_t end = 0; path[end];) {
		char target[PATH_MAX], source[PATH_MAX + 1], rest[PATH_MAX];
		const struct rf_place *place;
		size_t start = end;
		ssize_t len = -1;

		end += 1 + strcspn(path + end + 1, "/");
		snprintf(rest, sizeof(rest), "%s", path + end);
		path[end] = '\0';
		place = governing(plan, path);
		if (place && is_shown(place) && strcmp(path, place->path) != 0 &&
		    snprintf(source, sizeof(source), "%s%s", place->source,
			     path + strlen(place->path)) < (int)sizeof(source))
			len = readlink(source, target, sizeof(target) - 1);
		path[end] = rest[0];
		if (len < 0)
			continue;
		target[len] = '\0';
		if (++hops > HOPS || !put_target(path, start, target, rest))
			return NULL;
		end = 0;
	}
	{
		const struct rf_place *place = governing(plan, path);

		return place && is_shown(place) && strcmp(path, place->path) != 0 ? place : NULL;
	}
}

/* Hides what lies at `source` on the host, in each tree that shows it. */
static int add_source(struct rf_box *box, const char *source, const char *rule)
{
	const struct rf_plan *plan = box->plan;
	bool is_seen = true;
	struct stat st;
	int code = 0;

	if (lstat(source, &st) < 0) {
		/* In a closed folder of the caller's own it may well be there. */
		if (errno != EACCES)
			return is_nothing(-errno) ? 0 : -errno;
		is_seen = false;
	}
	for (size_t i = 0; i < plan->place_count && code == 0; i++) {
		const struct rf_place *place = &plan->places[i];
		const char *rest;
		char path[PATH_MAX];

		if (!is_shown(place) || !rf_path_is_beneath(source, place->source))
			continue;
		rest = source + strlen(place->source);
		if (!*rest ||
		    snprintf(path, sizeof(path), "%s%s", place->path, rest) >= (int)sizeof(path))
			continue;
		if (governing(plan, path) == place && !holds_place(plan, path))
			code = add(box, i, rest, rule, is_seen ? &st : NULL, true);
	}
	return code;
}

/*
 * Hides what the link at `rest` beneath the place leads to, if the box could see it: by the names of
 * the box, and by those of the host, for a tree may show at another place than the link counts on.
 */
static int add_target(struct rf_box *box, size_t index, const char *rest, const char *rule)
{
	char path[PATH_MAX], source[PATH_MAX];
	const struct rf_place *place = &box->plan->places[index];
	int code = 0;

	if (snprintf(source, sizeof(source), "%s%s", place->source, rest) < (int)sizeof(source))
		code = realpath(source, path) ? add_source(box, path, rule)
		       : is_nothing(-errno)   ? 0
					      : -errno;
	if (code < 0 ||
	    snprintf(path, sizeof(path), "%s%s", place->path, rest) >= (int)sizeof(path))
		return code;
	place = follow(box->plan, path);
	if (!place || snprintf(source, sizeof(source), "%s%s", place->source,
			       path + strlen(place->path)) >= (int)sizeof(source))
		return 0;
	return add_source(box, source, rule);
}

/* Hides the entry `name` of the open folder `dir`, at `rest` beneath the place, if it is there. */
static int hide(struct rf_box *box, size_t index, int dir, const char *name, const char *rest,
		const char *rule)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return is_nothing(-errno) ? 0 : -errno;
	if (S_ISLNK(st.st_mode))
		return add_target(box, index, rest, rule);
	return add(box, index, rest, rule, &st, false);
}

/* ------------------------------------------------------------- patterns */

static int on_entry(void *data, const struct rf_tree_walk_entry *entry, void *ret_tag)
{
	struct finder *f = data;
	const uint64_t *states = entry->tag;
	uint64_t *next = ret_tag;
	size_t len = strlen(entry->name);
	bool is_alive = false;
	char rest[PATH_MAX + 1], path[2 * PATH_MAX];
	const struct rf_pattern *match = NULL;

	for (size_t i = 0; i < f->count; i++) {
		next[i] = rf_pattern_step(f->patterns[i], states[i], entry->name, len);
		is_alive |= rf_pattern_is_alive(f->patterns[i], next[i]);
		if (rf_pattern_is_match(f->patterns[i], next[i]))
			match = f->patterns[i];
	}
	if (!match && !(is_alive && entry->type == S_IFDIR))
		return 0;
	snprintf(rest, sizeof(rest), "/%s", entry->path);
	snprintf(path, sizeof(path), "%s%s", f->place->path, rest);
	/* What another rule puts there is looked at as a tree of its own. */
	for (size_t i = 0; i < f->box->plan->place_count; i++)
		if (i != f->index && is_shown(&f->box->plan->places[i]) &&
		    strcmp(f->box->plan->places[i].path, path) == 0)
			return 0;
	if (!match)
		return 1;
	f->last = match;
	return hide(f->box, f->index, entry->dir, entry->name, rest, "files.deny");
}

/* The names that could come next, as long as none of them has a wildcard. */
static int only(void *data, const char *path, const void *tag, size_t at, char *name)
{
	const struct finder *f = data;
	const uint64_t *states = tag;
	int found = 0;

	(void)path;
	for (size_t i = 0; i < f->count; i++)
		for (size_t k = 0; k < f->patterns[i]->count; k++) {
			char text[RF_PATTERN_NAME];

			if (!(states[i] & UINT64_C(1) << k))
				continue;
			if (!rf_pattern_name(f->patterns[i], k, text))
				return -1;
			if (at-- == 0) {
				memcpy(name, text, strlen(text) + 1);
				found = 1;
			}
		}
	return found;
}

/* Hides a folder into which the launcher can't look, unless the box can't either. */
static int close_off(struct finder *f, const char *path, const char *rule)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
	char rest[PATH_MAX + 1];
	struct stat st;
	int code = fstatat(f->top, path, &st, flags) < 0 ? -errno : 0;

	/* The box is the same user: what that user owns can be opened by chmod. */
	if (!f->box->is_root && faccessat(f->top, *path ? path : ".", X_OK, AT_EACCESS) < 0 &&
	    is_nothing(-errno)) {
		if (code < 0)
			return is_nothing(code) ? 0 : code;
		if (st.st_uid != geteuid())
			return 0;
	}
	if (!*path)
		return -EACCES; /* the top: then the tree can't be shown at all */
	snprintf(rest, sizeof(rest), "/%s", path);
	return add(f->box, f->index, rest, rule, code < 0 ? NULL : &st, false);
}

/* A folder that can't be listed or searched, in which something could match. */
static int on_closed(void *data, const char *path)
{
	return close_off(data, path, "files.deny");
}

static int tell(const struct finder *f, int code, size_t max)
{
	const char *pattern = (f->last ? f->last : f->patterns[0])->text;

	rf_fail(f->err, code, "files.deny: %.80s: look through %.80s", pattern, f->place->source);
	if (code == -ENAMETOOLONG)
		return rf_fail_hint(f->err, "folders are nested there deeper than a path can say: "
					    "remove them, or deny the folder that holds them");
	if (code != -E2BIG)
		return f->err->code;
	if (f->box->hidden.count == RF_MAX_HIDDEN) {
		rf_fail_say(f->err, code, "files.deny: %.80s hides more than %d files in %.80s",
			    pattern, RF_MAX_HIDDEN, f->place->source);
		return rf_fail_hint(f->err, "deny the folder that holds them, or show less");
	}
	rf_fail_say(f->err, code, "files.deny: %.80s: more than %zu files to look at in %.80s",
		    f->patterns[0]->text, max, f->place->source);
	return rf_fail_hint(f->err, "show a smaller folder, or write the pattern without **");
}

static int find_denied(struct finder *f, const uint64_t *states)
{
	struct rf_tree_walk walk = {
		/* Each entry is held against each pattern: many of them make it slow. */
		.max = RF_MAX_WALK / (1 + f->count / 64),
		.tag_size = f->count * sizeof(uint64_t),
		.tag = states,
		.data = f,
		.on_entry = on_entry,
		.only = only,
		.on_closed = on_closed,
	};
	int code = rf_tree_walk_run(&walk, f->top);

	return code < 0 ? tell(f, code, walk.max) : 0;
}

/*
 * A path to be hidden that leads through a link would be found nowhere.  Within a shown tree that is
 * meant: an earlier box may have put the link there.  Elsewhere (a home that is a link) the caller
 * means what it leads to, so if that is shown it is to be named.
 */
static int check_way(const struct rf_plan *plan, const struct rf_pattern *pattern,
		     struct rf_err *err)
{
	char path[RF_FILES_PATH + 1] = "", real[PATH_MAX], name[RF_PATTERN_NAME];
	size_t len = 0, link = 0;

	for (size_t i = 0; i < pattern->count && rf_pattern_name(pattern, i, name); i++) {
		len += (size_t)snprintf(path + len, sizeof(path) - len, "/%s", name);
		if (link == 0 && readlink(path, real, sizeof(real)) >= 0)
			link = len;
	}
	if (link == 0 || !realpath(path, real))
		return 0;
	path[link] = '\0';
	for (size_t i = 0; i < plan->place_count; i++)
		if (is_shown(&plan->places[i]) && rf_path_is_beneath(path, plan->places[i].source))
			return 0;
	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];

		if (!is_shown(place) || (!rf_path_is_beneath(real, place->source) &&
					 !rf_path_is_beneath(place->source, real)))
			continue;
		rf_fail_say(err, -ELOOP, "files.deny: %.80s leads through the symbolic link %.80s",
			    pattern->text, path);
		return rf_fail_hint(err, "name what it leads to: %.120s", real);
	}
	return 0;
}

/* ------------------------------------------------------------- credentials */

/* True if the policy itself names `source`, or something in it: then it is meant to be seen. */
static bool is_asked_for(const struct rf_plan *plan, const char *source)
{
	for (size_t i = 0; i < plan->place_count; i++)
		if (is_shown(&plan->places[i]) &&
		    rf_path_is_beneath(plan->places[i].source, source))
			return true;
	return false;
}

/* `dir` is -ELOOP if the folder is reached through a link. */
static int find_credential(struct finder *f, int dir, const char *folder, const char *name)
{
	char rest[256], source[PATH_MAX + 256];
	struct stat st;

	if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return is_nothing(-errno) ? 0 : -errno;
	snprintf(rest, sizeof(rest), "%s%s/%s", *folder ? "/" : "", folder, name);
	snprintf(source, sizeof(source), "%s%s", f->place->source, rest);
	if (is_asked_for(f->box->plan, source))
		return 0;
	if (dir < 0)
		return add_target(f->box, f->index, rest, "files.credentials");
	return hide(f->box, f->index, dir, name, rest, "files.credentials");
}

/* Hides the first folder on the way to `path`, or that one, that can't be searched. */
static int hide_closed(struct finder *f, const char *path)
{
	char folder[64], source[PATH_MAX + 64];

	for (size_t end = 0;; end += (end > 0) + strcspn(path + end + (end > 0), "/")) {
		RF_AUTO_FD int dir = -1;

		snprintf(folder, sizeof(folder), "%.*s", (int)end, path);
		dir = rf_path_open_beneath(f->top, folder, O_PATH | O_DIRECTORY);
		if (dir == -EACCES || (dir >= 0 && !rf_tree_walk_can_search(dir)))
			break;
		if (dir < 0 && !is_nothing(dir))
			return dir;
		if (dir < 0 || !path[end])
			return 0; /* changed meanwhile */
	}
	snprintf(source, sizeof(source), "%s/%s", f->place->source, folder);
	return is_asked_for(f->box->plan, source) ? 0 : close_off(f, folder, "files.credentials");
}

/* The names in a folder, read at one go, where they are few: to spare some seventy lookups. */
struct glance {
	bool is_whole; /* it has no other names */
	size_t len;
	char entries[8192] __attribute__((aligned(8)));
};

static void take_glance(int top, struct glance *glance)
{
	RF_AUTO_FD int dir = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long len = dir < 0 ? -1
			   : syscall(SYS_getdents64, dir, glance->entries, sizeof(glance->entries));
	char more[1024];

	glance->len = len > 0 ? (size_t)len : 0;
	glance->is_whole = len > 0 && syscall(SYS_getdents64, dir, more, sizeof(more)) == 0;
}

/* True if the folder may have `path`, by the first name of it. */
static bool may_have(const struct glance *glance, const char *path)
{
	size_t len = strcspn(path, "/");

	if (!glance->is_whole)
		return true;
	for (size_t at = 0; at < glance->len;) {
		const struct dirent64 *entry = (const void *)(glance->entries + at);

		if (strncmp(entry->d_name, path, len) == 0 && entry->d_name[len] == '\0')
			return true;
		at += entry->d_reclen;
	}
	return false;
}

/* A folder of the host's is looked into by its descriptor, never through a link. */
static int find_credentials(struct finder *f)
{
	struct glance glance;
	int code = 0;

	if (!f->box->plan->hides_credentials || rf_current_is_secret(f->place->source))
		return 0;
	take_glance(f->top, &glance);
	for (size_t i = 0; i < rf_credential_count && code == 0; i++) {
		const struct rf_credential_folder *row = &rf_credential_table[i];
		RF_AUTO_FD int opened = -1;
		int dir = f->top;

		if (*row->folder && !may_have(&glance, row->folder))
			continue;
		if (*row->folder) {
			opened = rf_path_open_beneath(f->top, row->folder, O_PATH | O_DIRECTORY);
			dir = opened;
		}
		if (dir == -EACCES || (dir >= 0 && !rf_tree_walk_can_search(dir)))
			code = hide_closed(f, row->folder);
		if (dir < 0 && !is_nothing(dir))
			code = dir;
		if ((dir < 0 && dir != -ELOOP) || code < 0)
			continue;
		for (const char *const *name = row->names; *name && code == 0; name++)
			if (*row->folder || may_have(&glance, *name))
				code = find_credential(f, dir, row->folder, *name);
	}
	return code < 0 ? rf_fail(f->err, code, "hide the credentials in %s", f->place->source) : 0;
}

/* ------------------------------------------------------------- the whole */

/* Chooses the patterns that can match beneath the place.  Gives how many. */
static size_t choose(const struct rf_plan *plan, const struct rf_place *place,
		     const struct rf_pattern **patterns, uint64_t *states)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->deny_count; i++) {
		uint64_t at = rf_pattern_walk(&plan->deny[i], place->source);

		if (!rf_pattern_is_alive(&plan->deny[i], at))
			continue;
		states[count] = at;
		patterns[count++] = &plan->deny[i];
	}
	return count;
}

static int find_in(struct rf_box *box, size_t index, const struct rf_pattern **patterns,
		   uint64_t *states, struct rf_err *err)
{
	const struct rf_place *place = &box->plan->places[index];
	struct finder f = { .box = box, .index = index, .place = place, .err = err };
	RF_AUTO_FD int opened = -1;
	struct stat st;

	/* Boxes of one tenant wrote all of it: nothing there is the host's to hide, and its size and names are not ours. */
	if (place->is_site)
		return 0;
	f.patterns = patterns;
	f.count = choose(box->plan, place, patterns, states);
	if (f.count == 0 && !box->plan->hides_credentials)
		return 0;
	f.top = box->trees ? box->trees[index] : -1; /* a lesser box has none */
	if (f.top < 0) {
		opened = rf_source_find(place, err);
		f.top = opened;
	}
	if (f.top < 0)
		return err->code;
	if (fstat(f.top, &st) < 0)
		return rf_fail(err, -errno, "look at %s", place->source);
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (find_credentials(&f) < 0)
		return err->code;
	return f.count ? find_denied(&f, states) : 0;
}

int rf_hidden_find(struct rf_box *box, struct rf_err *err)
{
	const struct rf_plan *plan = box->plan;
	const struct rf_pattern **patterns = calloc(plan->deny_count + 1, sizeof(void *));
	uint64_t *states = calloc(plan->deny_count + 1, sizeof(*states));
	int code = 0;

	if (!patterns || !states) {
		free(patterns);
		free(states);
		return rf_fail(err, -ENOMEM, "hide files");
	}
	for (size_t i = 0; i < plan->deny_count && code == 0; i++)
		code = check_way(plan, &plan->deny[i], err);
	for (size_t i = 0; i < plan->place_count && code == 0; i++) {
		struct stat st;

		if (plan->places[i].kind == RF_PLACE_HIDE &&
		    add(box, i, "", plan->places[i].rule,
			lstat(plan->places[i].path, &st) == 0 ? &st : NULL, false) < 0)
			code = rf_fail(err, -ENOMEM, "hide files");
		else if (is_shown(&plan->places[i]))
			code = find_in(box, i, patterns, states, err);
	}
	free(patterns);
	free(states);
	sort(&box->hidden);
	return code;
}
