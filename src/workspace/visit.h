/*
 * A run in a workspace: what lies under it, and the layer that takes its changes.
 *
 * A directory that is no workspace of anybody's is one for this run alone: its layer is thrown away.
 */
#ifndef RF_WORKSPACE_VISIT_H
#define RF_WORKSPACE_VISIT_H

#include "base/err.h"
#include "policy/plan.h"
#include "workspace/delta.h"
#include "workspace/replica.h"
#include "workspace/room.h"
#include "workspace/workspace.h"

struct rf_visit {
	struct rf_workspace kept; /* with an open folder where the workspace is kept */
	char *base;               /* the directory */
	char pool_path[4096];
	char upper[RF_LAYER_ID]; /* the layer of this run */
	const char **lowers;     /* NULL-ended, of earlier ones; borrowed from the ledger */
	struct rf_layers layers; /* all of that */
	struct rf_place place;   /* for the plan */
	bool is_kept;            /* the layer is a point now */
	size_t most_points;      /* that the workspace shall keep, or 0: all */
	int64_t began_ns;        /* when the run did, on the clock of files */
	bool has_seen;           /* what the directory had under the changed names is noted */
	bool is_beside;          /* of a launcher that has the workspace locked */
	int pool, tree, held;    /* descriptors: of all layers, of the directory, of this layer */
	struct rf_room room;     /* where the layer is while the run lasts */
	struct rf_replica *replica; /* where the run works on a copy; or NULL */
	int note;                   /* the one that says that we run there, or -1 */
};

/* One that nothing was prepared for, for rf_visit_close(). */
void rf_visit_init(struct rf_visit *visit);

/* Prepares one in a workspace that the caller has opened (takes, in any case), and that it does not say it runs in. */
int rf_visit_adopt(struct rf_workspace *workspace, struct rf_visit *ret_visit, struct rf_err *err);

/* Prepares a run in the workspace called `name`, or over the directory `base` (absolute); one of them is NULL. */
int rf_visit_open(const char *name, const char *base, struct rf_visit *ret_visit,
		  struct rf_err *err);

/*
 * Prepares a run over what another one left, which is over and still held: for one that looks at it and whose own
 * changes are thrown away.  Borrows the other, which has to stay.
 */
int rf_visit_open_over(const struct rf_visit *below, struct rf_visit *ret_visit,
		       struct rf_err *err);

/*
 * Makes the layer: when nothing stands in the way of the run any more.  `limits` are the run's (by enum rf_limit), which
 * the layer has to keep; NULL: who writes it looks after that.
 */
int rf_visit_begin(struct rf_visit *visit, const uint64_t *limits, struct rf_err *err);

/* To be called when the box is gone: makes a layer of a copy that it worked on.  Does nothing where there is none. */
int rf_visit_settle(struct rf_visit *visit, struct rf_err *err);

/*
 * Writes what the run changed to the pool, where it was in memory until now.  Keeping the layer does it, and who puts
 * another run over it has to.
 */
int rf_visit_store(struct rf_visit *visit, struct rf_err *err);

/* What the workspace is with the run's layer, which is on top.  The stack is to be freed in any case. */
int rf_visit_open_stack(const struct rf_visit *visit, struct rf_stack *ret_stack,
			struct rf_err *err);

/* What the run changed.  To be freed in any case. */
int rf_visit_changes(const struct rf_visit *visit, struct rf_delta *ret_delta, struct rf_err *err);

/*
 * Notes beside the layer what the directory has under the names that the run changed.  Keeping the layer does it,
 * unless it was done before: what somebody changes there from now on is known to be somebody's.
 */
int rf_visit_see(struct rf_visit *visit, const struct rf_delta *delta, struct rf_err *err);

/* What ran, for whom (or NULL), and how it ended.  An undone one is kept to be looked at, and the head stays. */
struct rf_visit_note {
	const char *command, *agent, *status;
	const char *name; /* of a checkpoint that it is, or NULL */
	bool is_undone;
};

/* Keeps the layer as a new point of the workspace. */
int rf_visit_keep(struct rf_visit *visit, const struct rf_delta *delta,
		  const struct rf_visit_note *note, struct rf_err *err);

/* Ends the visit.  A layer that was not kept is thrown away. */
void rf_visit_close(struct rf_visit *visit);

#endif
