/*
 * A walk through a tree of the host, as far as a limit allows.
 *
 * Breadth first, so that where it must stop it has seen the top.  Folders are opened beneath the
 * tree's descriptor and never through a link; what vanishes meanwhile is passed over.  The tree may be
 * a stranger's work: the walk holds one folder open at a time, and its memory is that of the folders
 * yet to come, up to a limit.
 */
#ifndef RF_BASE_TREE_WALK_H
#define RF_BASE_TREE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rf_tree_walk_entry {
	int dir;          /* the folder that it lies in */
	const char *name; /* there */
	const char *path; /* from the tree's top, without a slash in front */
	mode_t type;      /* S_IFDIR, S_IFREG, S_IFLNK ... */
	const void *tag;  /* what was noted for the folder */
};

struct rf_tree_walk {
	size_t max;      /* entries to look at */
	size_t tag_size; /* bytes noted for each folder */
	const void *tag; /* those of the top */
	void *data;      /* for the functions */

	/*
	 * Called for each entry.  Returns 1 to go into a folder, with its tag written, 0 to go on, or
	 * a negative errno to end the walk with it.
	 */
	int (*on_entry)(void *data, const struct rf_tree_walk_entry *entry, void *ret_tag);

	/*
	 * May be NULL.  The i-th of the only names that matter in a folder: 1 and the name (of
	 * NAME_MAX bytes at most), 0 when there are no more, or -1 if the folder must be listed.
	 */
	int (*only)(void *data, const char *path, const void *tag, size_t i, char *name);

	/* May be NULL.  A folder that can't be listed or searched (EACCES); as on_entry. */
	int (*on_closed)(void *data, const char *path);

	size_t seen; /* entries looked at so far; the caller sets it to 0 */
};

/* Returns 0, -E2BIG behind `max` entries or RF_MAX_WALK_BYTES, or another negative errno. */
int rf_tree_walk_run(struct rf_tree_walk *walk, int top);

/* False if names in the open folder can't be looked up (EACCES). */
bool rf_tree_walk_can_search(int dir);

#endif
