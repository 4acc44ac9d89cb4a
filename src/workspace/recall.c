/* What a workspace knows of its directory: see recall.h. */
#include "workspace/recall.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/pool.h"

#define SEEN    "seen"
#define APPLIED "applied"

static int open_beside(int pool, const char *layer, struct rf_err *err)
{
	int folder = openat(pool, layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return folder < 0 ? rf_fail(err, -errno, "open layer %s", layer) : folder;
}

int rf_recall_load_layer(int pool, const char *layer, struct rf_seen_list *ret_list,
			 struct rf_err *err)
{
	RF_AUTO_FD int folder = open_beside(pool, layer, err);

	*ret_list = (struct rf_seen_list){ 0 };
	return folder < 0 ? folder : rf_seen_load(folder, SEEN, ret_list, err);
}

int rf_recall_save_layer(int pool, const char *layer, struct rf_seen_list *list, struct rf_err *err)
{
	RF_AUTO_FD int folder = open_beside(pool, layer, err);

	return folder < 0 ? folder : rf_seen_save(folder, SEEN, list, err);
}

int rf_recall_load_applied(const struct rf_workspace *workspace, struct rf_seen_list *ret_list,
			   struct rf_err *err)
{
	return rf_seen_load(workspace->folder, APPLIED, ret_list, err);
}

int rf_recall_save_applied(const struct rf_workspace *workspace, struct rf_seen_list *list,
			   struct rf_err *err)
{
	return rf_seen_save(workspace->folder, APPLIED, list, err);
}

int rf_recall_share(const struct rf_workspace *workspace, int fork_folder, struct rf_err *err)
{
	if (linkat(workspace->folder, APPLIED, fork_folder, APPLIED, 0) < 0 && errno != ENOENT)
		return rf_fail(err, -errno, "share what was applied");
	return 0;
}

/* Adds what a point's run saw.  Later ones come first, so that the first run's word is the last one said. */
static int add_point(int pool, const struct rf_point *point, struct rf_seen_list *list,
		     struct rf_err *err)
{
	struct rf_seen_list of_layer;
	int code = rf_recall_load_layer(pool, point->layer, &of_layer, err);

	for (size_t i = 0; i < of_layer.count && code == 0; i++) {
		of_layer.items[i].since = point->id;
		code = rf_seen_set(list, &of_layer.items[i]);
		if (code < 0)
			rf_fail(err, code, "recall what was seen");
	}
	rf_seen_done(&of_layer);
	return code;
}

/*
 * What an apply wrote counts for all that began before it.  `root`: the first run, for paths that no run noted; `last`:
 * what was applied after that run is left out.
 */
static int add_applied(const struct rf_workspace *workspace, uint32_t root, uint32_t last,
		       struct rf_seen_list *list, struct rf_err *err)
{
	struct rf_seen_list applied;
	size_t known = list->count;
	int code = rf_recall_load_applied(workspace, &applied, err);

	for (size_t i = 0; i < applied.count && code == 0; i++) {
		const struct rf_seen_list so_far = { .items = list->items, .count = known };
		struct rf_seen *seen = rf_seen_find(&so_far, applied.items[i].path);
		uint32_t began = seen ? seen->since : root;

		if (applied.items[i].since > began && applied.items[i].since <= last)
			code = rf_seen_set(list, &applied.items[i]);
		if (code < 0)
			rf_fail(err, code, "recall what was applied");
	}
	rf_seen_done(&applied);
	return code;
}

int rf_recall(const struct rf_workspace *workspace, int pool, uint32_t point,
	      struct rf_seen_list *ret_list, struct rf_err *err)
{
	const struct rf_ledger *ledger = &workspace->ledger;
	int code = 0;

	*ret_list = (struct rf_seen_list){ 0 };
	for (const struct rf_point *p = rf_ledger_point(ledger, point); p && code == 0;
	     p = rf_ledger_point(ledger, p->parent))
		code = add_point(pool, p, ret_list, err);
	rf_seen_settle(ret_list);
	if (code == 0)
		code = add_applied(workspace, rf_ledger_root(ledger, point), UINT32_MAX, ret_list,
				   err);
	rf_seen_settle(ret_list);
	return code < 0 ? rf_fail_in(err, "workspace %s", ledger->name) : 0;
}

int rf_recall_run(const struct rf_workspace *workspace, int pool, struct rf_point *const *points,
		  size_t count, struct rf_seen_list *ret_list, struct rf_err *err)
{
	int code = 0;

	*ret_list = (struct rf_seen_list){ 0 };
	for (size_t i = 0; i < count && code == 0; i++)
		code = add_point(pool, points[i], ret_list, err);
	rf_seen_settle(ret_list);
	/* A path that none of them noted is the apply's still: UINT32_MAX leaves it to that. */
	if (code == 0)
		code = add_applied(workspace, UINT32_MAX, points[0]->id, ret_list, err);
	rf_seen_settle(ret_list);
	return code;
}
