/*
 * A workspace that is kept: $STATE/workspaces/NAME, with its ledger in it.
 *
 * Whoever opens one holds its lock until it is closed, so two commands never work on one at the same time.  The
 * ledger is replaced as a whole, by a rename: after a crash it is the old one or the new one, and layers that neither
 * knows are swept up (rf_sweep).
 */
#ifndef RF_WORKSPACE_WORKSPACE_H
#define RF_WORKSPACE_WORKSPACE_H

#include "base/err.h"
#include "workspace/base-scan.h"
#include "workspace/ledger.h"
#include "workspace/stack.h"

struct rf_workspace {
	struct rf_ledger ledger;
	int folder;               /* locked */
	struct rf_base_scan scan; /* of one that was just made, and is no shadow's */
};

/*
 * Makes a workspace over the directory `base` (absolute), `is_shadow`: of a shadow run.  It is open afterwards.  The directory is
 * looked through first (base-scan.h); that of a shadow was before its program ran.
 */
int rf_workspace_make(const char *name, const char *base, bool is_shadow,
		      struct rf_workspace *ret_workspace, struct rf_err *err);

/* True if there is one of this name. */
bool rf_workspace_exists(const char *name);

/* Opens one; if somebody works on it, waits for a few seconds. */
int rf_workspace_open(const char *name, struct rf_workspace *ret_workspace, struct rf_err *err);

/* The same, but fails at once (-EBUSY) if somebody works on it. */
int rf_workspace_open_now(const char *name, struct rf_workspace *ret_workspace, struct rf_err *err);

/* Ends the program that runs in one, if there is one, and waits for that: what it changed is kept. */
int rf_workspace_stop(const char *name, struct rf_err *err);

/* Locks a folder as a workspace's is: waits for a few seconds, then returns -EWOULDBLOCK. */
int rf_workspace_wait(int folder);

/*
 * Opens the folder of one that a launcher has locked, without its ledger; and reads that (again).  Both are for who holds
 * the launcher's note (occupant.h).
 */
int rf_workspace_open_beside(const char *name, struct rf_workspace *ret_workspace,
			     struct rf_err *err);
int rf_workspace_reload(struct rf_workspace *workspace, const char *name, struct rf_err *err);

/* Reads the ledger of one, which somebody may be working on.  It is to be freed in any case. */
int rf_workspace_peek(const char *name, struct rf_ledger *ret_ledger, struct rf_err *err);

/* Writes the ledger.  `is_durable`: it survives a power cut from here on. */
int rf_workspace_save(const struct rf_workspace *workspace, bool is_durable, struct rf_err *err);

/*
 * Makes another one over the same directory, which begins where this one is, with all its points.  They share all
 * layers and what was seen, so it costs the same however much that is.
 */
int rf_workspace_fork(const struct rf_workspace *workspace, const char *name, struct rf_err *err);

void rf_workspace_close(struct rf_workspace *workspace);

/* Takes an open workspace away, and closes it.  Its layers are left to the sweeper. */
int rf_workspace_remove(struct rf_workspace *workspace, struct rf_err *err);

/* Clears away what whoever was killed while making or removing one has left. */
void rf_workspace_sweep(void);

/*
 * Calls `fn` with the name of each workspace, sorted.  A result other than 0 ends it and is returned.
 */
int rf_workspace_each(int (*fn)(void *data, const char *name), void *data, struct rf_err *err);

/* Opens the base, and refuses another directory than the one that the workspace was made over. */
int rf_workspace_open_base(const struct rf_workspace *workspace, struct rf_err *err);

/* What the workspace is at a point, down to the base.  The stack is to be freed in any case. */
int rf_workspace_open_stack(const struct rf_workspace *workspace, uint32_t point,
			    struct rf_stack *ret_stack, struct rf_err *err);

#endif
