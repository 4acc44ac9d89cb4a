/*
 * Writes what a workspace changed back to its directory; and takes that back.
 *
 * First it is decided: which changes, whether each may be made, and whether the directory is still what the workspace
 * saw.  Then what will be overwritten is kept in a layer of its own, the inverse, and the ledger says that an apply is
 * under way.  Then the changes are made, each of them at once (a new file is renamed over the old one), without
 * following a link.  Whoever is killed on the way can go on: the same changes are found again, less those made.
 */
#ifndef RF_WORKSPACE_APPLY_H
#define RF_WORKSPACE_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "workspace/delta.h"
#include "workspace/workspace.h"

/* What to do where the directory was changed beneath the workspace. */
enum rf_apply_conflict {
	RF_APPLY_REFUSE,
	RF_APPLY_OURS,   /* leave what the directory has */
	RF_APPLY_THEIRS, /* put what the workspace has */
};

struct rf_apply_options {
	const char *const *only; /* NULL-ended paths beneath which changes are made; NULL: all */
	enum rf_apply_conflict on_conflict;
	bool is_durable; /* return when it would survive a power cut */
	bool is_whole;   /* all of the changes, or none */
};

/* Why a change is not made. */
enum rf_apply_stay {
	RF_APPLY_MADE,      /* it is */
	RF_APPLY_NOT_MEANT, /* not among `only` */
	RF_APPLY_PROTECTED, /* acts later on the host, and was not named */
	RF_APPLY_CONFLICT,  /* the directory has something else there than the workspace saw */
	RF_APPLY_NO_FILE,   /* a pipe or a socket */
	RF_APPLY_IN_USE,    /* a folder with something new in it, which is not removed */
	RF_APPLY_CLOSED,    /* denies even its owner to read it, or lies in a folder that does */
	RF_APPLY_FIXED,     /* the directory's folder that it is in can't be written to */
};

struct rf_apply {
	struct rf_delta delta;
	enum rf_apply_stay *stays; /* for each change */
	size_t made, conflicts, protects;
	uint32_t point; /* that was applied, or taken back */
};

/*
 * Applies the head of an open workspace.  On success, and where conflicts or protected names stand in the way
 * (-EEXIST, -EPERM; nothing was changed then, nor with -ENOTSUP: some can't be made, and they shall be whole), `ret_apply` says what became of each change.  It is to be freed in any
 * case.
 */
int rf_apply_head(struct rf_workspace *workspace, const struct rf_apply_options *options,
		  struct rf_apply *ret_apply, struct rf_err *err);

/* Takes the last apply back, as long as what it wrote is still there. */
int rf_apply_undo(struct rf_workspace *workspace, const struct rf_apply_options *options,
		  struct rf_apply *ret_apply, struct rf_err *err);

void rf_apply_done(struct rf_apply *apply);

#endif
