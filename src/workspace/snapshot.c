/* A copy of the layer of a living program: see snapshot.h. */
#include "workspace/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/duplicate.h"

/* Where overlayfs was refused. */
static int refuse_copy(const struct rf_snapshot *snapshot, struct rf_err *err)
{
	char path[RF_LAYER_ID + 8];

	snprintf(path, sizeof(path), "%s/whole", snapshot->occupant.layer);
	if (faccessat(snapshot->visit.pool, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	rf_fail_say(err, -EOPNOTSUPP, "the program works on a copy, of which no layer is made yet");
	return rf_fail_hint(err, "wait for its end, or end it with --stop");
}

int rf_snapshot_open(const char *name, struct rf_snapshot *ret_snapshot, struct rf_err *err)
{
	struct rf_workspace workspace;
	int code;

	*ret_snapshot = (struct rf_snapshot){ 0 };
	rf_visit_init(&ret_snapshot->visit);
	rf_occupant_init(&ret_snapshot->occupant);
	code = rf_workspace_open_beside(name, &workspace, err);
	if (code < 0)
		return code;
	/* The ledger is read once nobody else writes it. */
	code = rf_occupant_open(workspace.folder, &ret_snapshot->occupant, err);
	if (code == 0)
		code = rf_workspace_reload(&workspace, name, err);
	if (code < 0) {
		rf_workspace_close(&workspace);
		rf_snapshot_close(ret_snapshot);
		return code;
	}
	code = rf_visit_adopt(&workspace, &ret_snapshot->visit, err);
	if (code == 0)
		code = refuse_copy(ret_snapshot, err);
	if (code == 0)
		code = rf_visit_begin(&ret_snapshot->visit, NULL, err);
	ret_snapshot->visit.began_ns = ret_snapshot->occupant.began_ns;
	if (code < 0)
		rf_snapshot_close(ret_snapshot);
	return code;
}

/* Where the program's changes are: in the pool, or in memory that its launcher holds. */
static int open_occupied(const struct rf_snapshot *snapshot)
{
	const struct rf_occupant *occupant = &snapshot->occupant;
	char path[64];
	int up;

	if (occupant->top < 0)
		return rf_pool_open_layer(snapshot->visit.pool, occupant->layer);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d/up", (int)occupant->pid, occupant->top);
	up = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return up < 0 ? -errno : up;
}

int rf_snapshot_copy(struct rf_snapshot *snapshot, struct rf_err *err)
{
	struct rf_visit *visit = &snapshot->visit;
	RF_AUTO_FD int from = open_occupied(snapshot);
	RF_AUTO_FD int to = rf_pool_open_layer(visit->pool, visit->upper);
	int code;

	if (from < 0 || to < 0)
		return rf_fail(err, from < 0 ? from : to, "open a layer");
	code = rf_duplicate(from, to, false); /* whoever listens on a socket is not copied */
	return code < 0 ? rf_fail(err, code, "copy what the program has changed") : 0;
}

int rf_snapshot_keep(struct rf_snapshot *snapshot, const char *name, uint32_t *ret_point,
		     struct rf_err *err)
{
	const struct rf_visit_note note = { .command = "a program that went on",
					    .status = "running",
					    .name = name,
					    .is_undone = true };
	struct rf_ledger *ledger = &snapshot->visit.kept.ledger;
	struct rf_delta delta;
	int code = rf_visit_changes(&snapshot->visit, &delta, err);

	if (code == 0)
		code = rf_visit_keep(&snapshot->visit, &delta, &note, err);
	if (code == 0)
		*ret_point = ledger->points[ledger->count - 1].id;
	rf_delta_done(&delta);
	return code;
}

void rf_snapshot_close(struct rf_snapshot *snapshot)
{
	rf_visit_close(&snapshot->visit);
	rf_occupant_close(&snapshot->occupant);
}
