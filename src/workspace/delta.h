/*
 * What changes from one stack of layers to another; for one, from a directory to the same with layers over it.
 *
 * Reads overlayfs's own form: a device 0:0 is a name that was deleted, and a folder marked opaque hides those of its
 * name further down.  Walks what is in the layers that differ and never a whole tree.  All of it was made by a box: links are
 * not followed, and a folder that no path of the system leads beyond is an end, and said to be one.
 */
#ifndef RF_WORKSPACE_DELTA_H
#define RF_WORKSPACE_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "workspace/stack.h"

enum rf_change_kind {
	RF_CHANGE_ADDED,
	RF_CHANGE_DELETED,
	RF_CHANGE_CONTENT,    /* of a file, or where a link leads */
	RF_CHANGE_MODE,       /* and nothing else */
	RF_CHANGE_ATTRIBUTES, /* extended ones, perhaps with the mode; see attributes.h */
	RF_CHANGE_TYPE,       /* a file where a folder was, and so on */
};

/* One side of a change; `mode` is 0 where nothing is. */
struct rf_change_side {
	mode_t mode;
	uint64_t size;
};

struct rf_change {
	char *path; /* from the tree's top, without a slash in front */
	enum rf_change_kind kind;
	struct rf_change_side before, after;
	bool is_end; /* a folder whose content lies too deep to be named: it is not looked at, nor applied */
	size_t old, new; /* which layer of each stack has it, where one has */
	const char *
		protects; /* what it is that acts later on the host ("git hook"), or NULL; "executable": made so */
};

struct rf_delta {
	struct rf_change *changes; /* sorted by path */
	size_t count, room;
};

/* Finds what makes `after` of `before`.  The delta is to be freed in any case. */
int rf_delta_find(const struct rf_stack *before, const struct rf_stack *after,
		  struct rf_delta *ret_delta, struct rf_err *err);
void rf_delta_done(struct rf_delta *delta);

/* "added", "deleted" ... */
const char *rf_change_name(enum rf_change_kind kind);

#endif
