/*
 * A path of the machine, as one side of a comparison shows it: in the workspace's directory through its layers, elsewhere as
 * it is.
 *
 * What leads from file to file (git's settings do) leads in and out of a directory, so paths are absolute here, and walked
 * name by name: the kernel follows no link of the workspace.  Outside of the directory nothing is looked at for a
 * box: only where each word on the way was the user's own.
 */
#ifndef RF_WORKSPACE_SPOT_H
#define RF_WORKSPACE_SPOT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "workspace/merged.h"
#include "workspace/stack.h"

#define RF_SPOT_WAY (2 * PATH_MAX) /* of a path with another one behind it */

/* Who sees it. */
struct rf_spot_view {
	const struct rf_stack *stack;
	char top[PATH_MAX]; /* the directory's own path */
};

struct rf_spot {
	char path[PATH_MAX]; /* absolute, without links; "" is the root */
	bool is_own;         /* the user's word led here, and no box's */
};

/* What a view sees, from the descriptor of its directory. */
void rf_spot_look_from(const struct rf_stack *stack, struct rf_spot_view *ret_view);

/* The part of an absolute path that lies in the directory ("" is its top), or NULL. */
const char *rf_spot_inside(const struct rf_spot_view *view, const char *path);

/*
 * Follows `way`, an absolute path, to its end, whether something is there or not.  Calls `on_link` for each link in the
 * directory on the way.  Gives a spot, of which is_own is to be set before, and says false where it leads nowhere.
 */
bool rf_spot_resolve(const struct rf_spot_view *view, const char *way,
		     void (*on_link)(void *data, const char *inside), void *data,
		     struct rf_spot *spot);

/*
 * Reads a file of at most `max` bytes.  Gives a text, to be freed, and its length.  Returns 1, 0 where no file is or none
 * that may be read, or -E2BIG, -ENOMEM.  spot->is_own goes if it is a box's.
 */
int rf_spot_read(const struct rf_spot_view *view, struct rf_spot *spot, size_t max, char **ret_text,
		 size_t *ret_len);

/* True if something is there. */
bool rf_spot_is_there(const struct rf_spot_view *view, const struct rf_spot *spot);

/* The names in a folder, up to `max`; none where there is no folder.  To be freed with rf_merged_names_done() in any case. */
int rf_spot_list(const struct rf_spot_view *view, const struct rf_spot *spot, size_t max,
		 struct rf_merged_names *ret_names);

#endif
