/*
 * What a workspace knows of its directory at one of its points: the state that its runs began with, path by path.
 *
 * Each layer has beside it what its run saw in the directory, and the workspace has what its applies wrote there.
 * For a path the first run that changed it counts, since the later ones saw only that one's work; and an apply counts
 * for all runs before it, since the directory had from then on what it wrote.  So what was undone has no say: neither
 * its runs nor what they saw are beneath the point.
 */
#ifndef RF_WORKSPACE_RECALL_H
#define RF_WORKSPACE_RECALL_H

#include "workspace/seen.h"
#include "workspace/workspace.h"

/* Finds all of it, settled.  To be freed in any case. */
int rf_recall(const struct rf_workspace *workspace, int pool, uint32_t point,
	      struct rf_seen_list *ret_list, struct rf_err *err);

/*
 * What to note beside a layer that is made of those of `count` points, from the top down: the same as they say together,
 * with what was applied between them.
 */
int rf_recall_run(const struct rf_workspace *workspace, int pool, struct rf_point *const *points,
		  size_t count, struct rf_seen_list *ret_list, struct rf_err *err);

/* What a layer's run saw, beside the layer. */
int rf_recall_load_layer(int pool, const char *layer, struct rf_seen_list *ret_list,
			 struct rf_err *err);
int rf_recall_save_layer(int pool, const char *layer, struct rf_seen_list *list,
			 struct rf_err *err);

/* What the workspace's applies wrote. */
int rf_recall_load_applied(const struct rf_workspace *workspace, struct rf_seen_list *ret_list,
			   struct rf_err *err);
int rf_recall_save_applied(const struct rf_workspace *workspace, struct rf_seen_list *list,
			   struct rf_err *err);

/* Gives a fork what the applies of `workspace` wrote: one file for both, until one of them writes its own. */
int rf_recall_share(const struct rf_workspace *workspace, int fork_folder, struct rf_err *err);

#endif
