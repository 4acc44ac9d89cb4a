/*
 * What git repositories point to: files that act with any name, because git is told to use them.
 *
 * `.git` may be a file that leads to another folder, a bare repository has any name, and settings name a folder of hooks,
 * further settings and programs.  So the repositories that matter for a change are looked for: those that it lies in, in and
 * above the directory, and those in folders beside the way to it.  What their settings and the user's own name is resolved as
 * git does it, in the tree as it was and as it became.  The cost follows what was changed; nothing walks the tree.
 */
#ifndef RF_WORKSPACE_REPOSITORY_H
#define RF_WORKSPACE_REPOSITORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "workspace/delta.h"
#include "workspace/stack.h"

/* A path of the directory, and one in a folder `.git` that it is as good as. */
struct rf_repository_place {
	char *path; /* "" is the top */
	char *name;
	bool is_exact; /* this very path, and nothing beneath it */
	bool is_of_box;
};

struct rf_repository_places {
	struct rf_repository_place *items;
	size_t count, room;
	bool is_partial; /* there is more than is read: anything could be pointed to */
};

/* Finds the places that matter for the changes.  To be freed in any case. */
int rf_repository_find(const struct rf_stack *before, const struct rf_stack *after,
		       const struct rf_delta *delta, struct rf_repository_places *ret_places,
		       struct rf_err *err);
void rf_repository_done(struct rf_repository_places *places);

#endif
