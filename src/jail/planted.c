/*
 * What a run left that acts later: see planted.h.
 *
 * Two walks for each folder, before and after.  The first goes from one protected name at the top to the
 * next, and on beneath it as long as names can be told, and lists nothing else: hooks are found in a
 * folder of any size, whatever else the box put beside them.  The second looks at
 * everything, breadth first, up to a number of entries for all folders together; it finds executables
 * and protected names further down.  Neither follows a link, since the box may have made it.
 */
#include "jail/planted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "base/tree-walk.h"
#include "jail/pointed.h"
#include "jail/source.h"
#include "policy/protected.h"

#define NARROW 10000 /* entries of one folder's protected names */
#define WIDE   50000 /* entries of all folders */
#define LISTED 256   /* that a result names */

struct seen {
	char *path; /* from the top of the tree; "" is the top itself, a file */
	const char *what;
	struct stat st;
	bool is_near; /* found by the narrow walk */
};

struct tree {
	const struct rf_place *place;
	int top;
	bool is_partial;           /* not all was seen */
	bool is_near_partial;      /* not even of the narrow walk */
	bool is_near;              /* the narrow walk is on */
	struct rf_pointed pointed; /* what acts besides names, just now */
	struct seen *seen;
	size_t count, room;
};

struct rf_planted {
	struct tree *trees;
	size_t count;
	struct timespec began;
	size_t left; /* entries that the wide walks may still look at */
};

/* What is noted for each folder on a walk. */
struct tag {
	bool has_begun; /* a name above begins a protected path */
	size_t git;     /* where the path in a repository begins that is not called .git, or 0 */
};

/* ------------------------------------------------------------- looking */

static int add(struct tree *tree, const char *path, const char *what, const struct stat *st)
{
	if (tree->count == tree->room) {
		size_t room = tree->room ? tree->room * 2 : 64;
		struct seen *seen = realloc(tree->seen, room * sizeof(*seen));

		if (!seen)
			return -ENOMEM;
		tree->seen = seen;
		tree->room = room;
	}
	tree->seen[tree->count] = (struct seen){ strdup(path), what, *st, tree->is_near };
	return tree->seen[tree->count].path ? (tree->count++, 0) : -ENOMEM;
}

/* git puts examples beside its hooks, executable and never run. */
static bool is_sample(const char *path)
{
	size_t len = strlen(path);

	return len > 7 && strcmp(path + len - 7, ".sample") == 0 && strstr(path, "hooks/");
}

/* What a path in a repository is, whatever that is called. */
static const char *what_in_git(const char *inside)
{
	char name[PATH_MAX + 8];

	return snprintf(name, sizeof(name), ".git/%s", inside) < (int)sizeof(name)
		       ? rf_protected_what(name)
		       : NULL;
}

/* Notes the entry if it acts, or can be executed. */
static int note(struct tree *tree, const struct rf_tree_walk_entry *entry, bool has_begun,
		size_t git)
{
	const char *what = NULL;
	struct stat st;

	if (entry->type == S_IFDIR || is_sample(entry->path))
		return 0;
	if (has_begun)
		what = rf_protected_what(entry->path);
	/* Where a folder is looked for, a link can lead to one, and a file .git names one. */
	if (has_begun && !what && (entry->type == S_IFLNK || strcmp(entry->name, ".git") == 0))
		what = rf_protected_beneath(entry->path);
	if (!what && git)
		what = what_in_git(entry->path + git);
	if (!what)
		what = rf_pointed_what(&tree->pointed, entry->path);
	if (!what && entry->type != S_IFREG)
		return 0;
	if (fstatat(entry->dir, entry->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return 0;
	if (!what && !(S_ISREG(st.st_mode) && st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		return 0;
	return add(tree, entry->path, what ? what : "executable", &st);
}

/*
 * True for the folder where git keeps its objects, which are many and never run.  In .git/modules it may
 * be a submodule of that name: then it has a HEAD.
 */
static bool is_store(const struct rf_tree_walk_entry *entry)
{
	static const char store[] = ".git/objects";
	size_t len = strlen(entry->path), at = sizeof(store) - 1;
	struct stat st;

	if (strcmp(entry->name, "objects") != 0)
		return false;
	if (len >= at && strcmp(entry->path + len - at, store) == 0)
		return len == at || entry->path[len - at - 1] == '/';
	return strstr(entry->path, ".git/modules/") != NULL &&
	       fstatat(entry->dir, "objects/HEAD", &st, AT_SYMLINK_NOFOLLOW) < 0;
}

/*
 * True for a folder that is a repository by its content.  One of refs or logs has a HEAD, too, and beside it a branch may
 * well be called `config`.
 */
static bool is_repository(const struct rf_tree_walk_entry *entry)
{
	static const char *const has[] = { "HEAD", "config", "objects" };
	char name[NAME_MAX + 16];
	struct stat st;
	size_t count = 0;

	for (size_t i = 0; i < RF_LEN(has); i++) {
		snprintf(name, sizeof(name), "%s/%s", entry->name, has[i]);
		if (fstatat(entry->dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
			count++;
		else if (i == 0)
			return false;
	}
	return count > 1 && strcmp(entry->name, ".git") != 0;
}

static int on_wide(void *data, const struct rf_tree_walk_entry *entry, void *ret_tag)
{
	const struct tag *above = entry->tag;
	struct tag tag = { .has_begun = above->has_begun || rf_protected_begins(entry->name),
			   .git = above->git };

	if (entry->type == S_IFDIR && is_repository(entry))
		tag.git = strlen(entry->path) + 1;
	memcpy(ret_tag, &tag, sizeof(tag));
	if (entry->type == S_IFDIR)
		return !(tag.has_begun && is_store(entry));
	return note(data, entry, tag.has_begun, tag.git);
}

static int on_narrow(void *data, const struct rf_tree_walk_entry *entry, void *ret_tag)
{
	struct tag tag = { .has_begun = true };

	memcpy(ret_tag, &tag, sizeof(tag));
	if (entry->type == S_IFDIR)
		return !is_store(entry) &&
		       (rf_protected_beneath(entry->path) || rf_protected_what(entry->path));
	return note(data, entry, true, 0);
}

static int only_protected(void *data, const char *path, const void *tag, size_t at, char *name)
{
	const char *text;
	size_t len;
	int got;

	(void)data;
	(void)tag;
	for (size_t i = 0; (got = rf_protected_next(path, i, &text, &len)) > 0; i++)
		if (len > 0 && at-- == 0) {
			memcpy(name, text, len);
			name[len] = '\0';
			return 1;
		}
	return got;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct seen *)a)->path, ((const struct seen *)b)->path);
}

/* Of the same path, what the narrow walk found comes first. */
static int by_path_and_walk(const void *a, const void *b)
{
	int order = by_path(a, b);

	return order ? order
		     : ((const struct seen *)b)->is_near - ((const struct seen *)a)->is_near;
}

/* Fills tree->seen, sorted.  What both walks found is there twice, which does no harm. */
static void look(struct tree *tree, size_t *left)
{
	const struct tag top = { .has_begun = false };
	struct rf_tree_walk narrow = { .max = NARROW,
				       .tag_size = sizeof(top),
				       .tag = &top,
				       .data = tree,
				       .on_entry = on_narrow,
				       .only = only_protected };
	struct rf_tree_walk wide = { .max = *left,
				     .tag_size = sizeof(top),
				     .tag = &top,
				     .data = tree,
				     .on_entry = on_wide };
	struct stat st;

	if (fstat(tree->top, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		rf_pointed_find(tree->top, tree->place->source, &tree->pointed);
		tree->is_near = true;
		tree->is_near_partial = rf_tree_walk_run(&narrow, tree->top) < 0;
		tree->is_near = false;
		tree->is_partial = rf_tree_walk_run(&wide, tree->top) < 0 || tree->is_near_partial;
		*left -= wide.seen < *left ? wide.seen : *left;
		rf_pointed_done(&tree->pointed);
	} else {
		const char *what = rf_protected_what(tree->place->source + 1);

		if (what || st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH))
			add(tree, "", what ? what : "executable", &st);
	}
	if (tree->count > 1)
		qsort(tree->seen, tree->count, sizeof(*tree->seen), by_path_and_walk);
}

static void forget(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		free(tree->seen[i].path);
	free(tree->seen);
	tree->seen = NULL;
	tree->count = tree->room = 0;
}

/* ------------------------------------------------------------- before and after */

struct rf_planted *rf_planted_begin(const struct rf_plan *plan)
{
	struct rf_planted *planted = NULL;

	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *place = &plan->places[i];
		struct rf_err ignored;
		struct tree *trees;

		if (place->kind != RF_PLACE_HOST || !(place->rights & RF_RIGHT_WRITE) ||
		    !rf_source_is_named(place) || place->layers ||
		    place->is_site) /* nobody works there outside of boxes */
			continue;
		if (!planted)
			planted = calloc(1, sizeof(*planted));
		trees = planted ? realloc(planted->trees, (planted->count + 1) * sizeof(*trees))
				: NULL;
		if (!trees)
			break;
		planted->trees = trees;
		trees[planted->count] = (struct tree){ .place = place };
		trees[planted->count].top = rf_source_find(place, &ignored);
		planted->count += trees[planted->count].top >= 0;
	}
	if (!planted)
		return NULL;
	clock_gettime(CLOCK_REALTIME_COARSE, &planted->began);
	planted->left = WIDE;
	for (size_t i = 0; i < planted->count; i++)
		look(&planted->trees[i], &planted->left);
	return planted;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void report(const struct tree *tree, const struct seen *now, bool is_new,
		   struct rf_result *result)
{
	char *path = NULL;

	if (result->planted_count == LISTED ||
	    asprintf(&path, "%s%s%s", tree->place->source, *now->path ? "/" : "", now->path) < 0 ||
	    !rf_result_add_planted(result, path, now->what, is_new))
		result->planted_more++;
	free(path);
}

static void compare(const struct tree *before, const struct tree *after,
		    const struct timespec *began, struct rf_result *result)
{
	for (size_t i = 0; i < after->count; i++) {
		const struct seen *now = &after->seen[i], *then = NULL;
		bool is_partial = now->is_near ? before->is_near_partial : before->is_partial;

		if (i > 0 && strcmp(now[-1].path, now->path) == 0)
			continue; /* found by both walks */
		if (before->count)
			then = bsearch(now, before->seen, before->count, sizeof(*now), by_path);
		if (then && is_same(&then->st, &now->st))
			continue;
		/*
		 * What the first look did not get to is told by its time.  That is a guess, for a
		 * file keeps its time when a folder above it is moved, and is left to the wide walk.
		 */
		if (!then && is_partial && is_before(&now->st.st_ctim, began))
			continue;
		report(before, now, !then, result);
	}
}

void rf_planted_end(struct rf_planted *planted, struct rf_result *result)
{
	size_t left = WIDE;

	for (size_t i = 0; planted && i < planted->count; i++) {
		struct tree *before = &planted->trees[i];
		struct tree after = { .place = before->place, .top = before->top };

		look(&after, &left);
		compare(before, &after, &planted->began, result);
		result->is_planted_partial |= before->is_partial || after.is_partial;
		forget(&after);
		forget(before);
		rf_fd_done(&before->top);
	}
	if (planted)
		free(planted->trees);
	free(planted);
}
