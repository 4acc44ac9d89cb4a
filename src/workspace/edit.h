/*
 * Changes to a workspace from outside, by whom it belongs to: files put into it and taken away.
 *
 * They go where a run's would: into a layer of their own over what the workspace is, in overlayfs's form, which becomes a
 * point when it is kept and is gone when it is not.  So the directory stays as it is, and all of it can be undone.  What is
 * new belongs to the directory's owner, as what a box makes does.
 */
#ifndef RF_WORKSPACE_EDIT_H
#define RF_WORKSPACE_EDIT_H

#include <stdbool.h>

#include "base/err.h"
#include "workspace/delta.h"
#include "workspace/stack.h"
#include "workspace/visit.h"

struct rf_edit {
	struct rf_visit visit;
	uint64_t most_bytes;   /* that may be put into one file, or 0: as many as there are */
	struct rf_stack stack; /* what the workspace is, with the layer that is edited on top */
};

/* Begins in the workspace called `name`, which is locked until rf_edit_close(). */
int rf_edit_open(const char *name, struct rf_edit *ret_edit, struct rf_err *err);

/*
 * Puts what can be read from `source` (borrows) into the file `path`; folders on the way are made.  A file that is there
 * keeps its owner and mode, a new one gets the permissions of `mode`.  A folder, a link or anything else in the place is
 * refused.
 */
int rf_edit_put(struct rf_edit *edit, const char *path, int source, mode_t mode,
		struct rf_err *err);

/*
 * Makes an empty file in the place of whatever is there, and gives a descriptor to write to.  It is closed to all but us
 * until the caller gives it a mode.
 */
int rf_edit_make_file(struct rf_edit *edit, const char *path, struct rf_err *err);

/* Opens a folder in the layer; one that is not there, or is something else, is made. */
int rf_edit_open_folder(struct rf_edit *edit, const char *path, struct rf_err *err);

/* Takes away whatever is there, if anything is. */
int rf_edit_clear(struct rf_edit *edit, const char *path, struct rf_err *err);

/* Makes a folder, and those on the way; one that is there already is left as it is. */
int rf_edit_make_folder(struct rf_edit *edit, const char *path, mode_t mode, struct rf_err *err);

/* Makes a link that leads to `target`, where nothing may be. */
int rf_edit_make_link(struct rf_edit *edit, const char *path, const char *target,
		      struct rf_err *err);

/* Takes `path` away.  `with_content`: also a folder with something in it. */
int rf_edit_remove(struct rf_edit *edit, const char *path, bool with_content, struct rf_err *err);

/*
 * Keeps it as a point that says `command`; where nothing differs, there is none.  Gives what changed, to be freed in any
 * case.
 */
int rf_edit_keep(struct rf_edit *edit, const char *command, struct rf_delta *ret_delta,
		 struct rf_err *err);

/* Ends it.  What was not kept is gone. */
void rf_edit_close(struct rf_edit *edit);

#endif
