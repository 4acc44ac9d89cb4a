/* A run in a workspace: see visit.h. */
#include "workspace/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/clear.h"
#include "workspace/duplicate.h"
#include "workspace/merge.h"
#include "workspace/occupant.h"
#include "workspace/recall.h"
#include "workspace/submount.h"
#include "workspace/sweep.h"

#define COPY "whole" /* of a layer's folder: what a run works on where overlayfs is refused */

static int open_tree_of(const char *base, struct rf_err *err)
{
	RF_AUTO_FD int root = rf_fd_open("/", O_PATH | O_DIRECTORY);
	int tree = root < 0 ? -errno : rf_path_open_beneath(root, base, O_RDONLY | O_DIRECTORY);

	if (tree >= 0 && rf_submount_refuse(tree, base, err) == 0)
		return tree;
	if (tree >= 0) {
		close(tree);
		return rf_fail_in(err, "--workspace: %s", base);
	}
	rf_fail(err, tree, "--workspace: %s", base);
	if (tree == -ELOOP)
		return rf_fail_hint(err,
				    "it leads through a symbolic link; name what that leads to");
	if (tree == -ENOTDIR)
		return rf_fail_hint(err, "a workspace is a directory");
	if (tree == -ENOENT)
		return rf_fail_hint(err, "make it first, or name one of `ringfort workspaces`");
	return rf_fail_hint(err,
			    "name a directory that you can enter, or one of `ringfort workspaces`");
}

/* The layers from the head down. */
static int list_lowers(struct rf_visit *visit, struct rf_err *err)
{
	const struct rf_ledger *ledger = &visit->kept.ledger;
	size_t runs;

	visit->lowers = rf_ledger_layers(ledger, ledger->head, &runs);
	return visit->lowers ? 0 : rf_fail(err, -ENOMEM, "list the layers");
}

/* That of another visit, and what lies beneath it. */
static int list_beneath(const struct rf_visit *below, struct rf_visit *visit, struct rf_err *err)
{
	size_t count = 0;

	while (below->lowers[count])
		count++;
	visit->lowers = calloc(count + 2, sizeof(*visit->lowers));
	if (!visit->lowers)
		return rf_fail(err, -ENOMEM, "list the layers");
	visit->lowers[0] = below->upper;
	memcpy(visit->lowers + 1, below->lowers, count * sizeof(*visit->lowers));
	return 0;
}

/* What the plan is told of it. */
static int describe(struct rf_visit *visit, struct rf_err *err)
{
	visit->layers =
		(struct rf_layers){ visit->pool_path, visit->upper, visit->lowers, &visit->room };
	visit->place = (struct rf_place){ .kind = RF_PLACE_HOST,
					  .path = visit->base,
					  .source = visit->base,
					  .why = "the workspace",
					  .rule = "workspace",
					  .layers = &visit->layers };
	return rf_pool_name(visit->upper) < 0 ? rf_fail(err, -EIO, "name a layer") : 0;
}

void rf_visit_init(struct rf_visit *visit)
{
	*visit = (struct rf_visit){
		.kept.folder = -1, .pool = -1, .tree = -1, .held = -1, .note = -1
	};
	rf_room_init(&visit->room);
}

static int prepare(const char *name, const char *base, struct rf_visit *visit, struct rf_err *err)
{
	if (name && rf_workspace_open(name, &visit->kept, err) < 0)
		return err->code;
	visit->base = strdup(name ? visit->kept.ledger.base : base);
	if (!visit->base)
		return rf_fail(err, -ENOMEM, "open a workspace");
	visit->tree = name ? rf_workspace_open_base(&visit->kept, err) : open_tree_of(base, err);
	if (visit->tree < 0)
		return err->code;
	/* The pool itself is made when nothing stands in the way of the run any more: see rf_visit_begin(). */
	if (rf_pool_path(visit->pool_path, sizeof(visit->pool_path), err) < 0 ||
	    list_lowers(visit, err) < 0)
		return err->code;
	return describe(visit, err);
}

int rf_visit_open(const char *name, const char *base, struct rf_visit *ret_visit,
		  struct rf_err *err)
{
	rf_visit_init(ret_visit);
	if (prepare(name, base, ret_visit, err) == 0)
		return 0;
	rf_visit_close(ret_visit);
	return err->code;
}

static int prepare_adopted(struct rf_visit *visit, struct rf_err *err)
{
	visit->base = strdup(visit->kept.ledger.base);
	if (!visit->base)
		return rf_fail(err, -ENOMEM, "open a workspace");
	visit->tree = rf_workspace_open_base(&visit->kept, err);
	if (visit->tree < 0)
		return err->code;
	visit->pool = rf_pool_open(true, visit->pool_path, sizeof(visit->pool_path), err);
	if (visit->pool < 0 || list_lowers(visit, err) < 0)
		return err->code;
	return describe(visit, err);
}

int rf_visit_adopt(struct rf_workspace *workspace, struct rf_visit *ret_visit, struct rf_err *err)
{
	rf_visit_init(ret_visit);
	ret_visit->kept = *workspace;
	ret_visit->is_beside = true;
	if (prepare_adopted(ret_visit, err) == 0)
		return 0;
	rf_visit_close(ret_visit);
	return err->code;
}

static int prepare_over(const struct rf_visit *below, struct rf_visit *visit, struct rf_err *err)
{
	visit->base = strdup(below->base);
	if (!visit->base)
		return rf_fail(err, -ENOMEM, "open a workspace");
	visit->tree = rf_fd_copy(below->tree, 3);
	if (visit->tree < 0)
		return rf_fail(err, -errno, "open %s", below->base);
	visit->pool = rf_pool_open(true, visit->pool_path, sizeof(visit->pool_path), err);
	if (visit->pool < 0 || list_beneath(below, visit, err) < 0)
		return err->code;
	return describe(visit, err);
}

int rf_visit_open_over(const struct rf_visit *below, struct rf_visit *ret_visit, struct rf_err *err)
{
	rf_visit_init(ret_visit);
	if (prepare_over(below, ret_visit, err) == 0)
		return 0;
	rf_visit_close(ret_visit);
	return err->code;
}

/* What the run began with, beneath its own layer. */
static int add_lowers(const struct rf_visit *visit, struct rf_stack *stack, struct rf_err *err)
{
	int tree;

	for (const char *const *lower = visit->lowers; *lower; lower++)
		if (rf_stack_add_named(stack, visit->pool, *lower, err) < 0)
			return err->code;
	tree = rf_fd_copy(visit->tree, 3);
	if (tree < 0)
		return rf_fail(err, -errno, "open %s", visit->base);
	return rf_stack_add(stack, tree, RF_STACK_BASE, err);
}

/* Where overlayfs is refused: all that it would have shown, beside the layer that is made of it afterwards. */
static int make_copy(void *data, struct rf_err *err)
{
	struct rf_visit *visit = data;
	struct rf_stack lowers = { 0 };
	RF_AUTO_FD int whole = -1;
	int code = add_lowers(visit, &lowers, err);

	if (code == 0 && (mkdirat(visit->held, COPY, 0700) < 0 ||
			  (whole = openat(visit->held, COPY,
					  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0))
		code = rf_fail(err, -errno, "make a folder for the copy");
	if (code == 0)
		code = rf_replica_make(&lowers, whole, &visit->replica, err);
	rf_stack_done(&lowers);
	rf_room_end(&visit->room, visit->held);
	visit->room.kind = RF_ROOM_COPY;
	return code < 0 ? rf_fail_in(err, "copy %s", visit->base) : 0;
}

int rf_visit_begin(struct rf_visit *visit, const uint64_t *limits, struct rf_err *err)
{
	struct stat st;

	if (visit->pool < 0)
		visit->pool = rf_pool_open(true, visit->pool_path, sizeof(visit->pool_path), err);
	if (visit->pool < 0)
		return visit->pool;
	if (fstat(visit->tree, &st) < 0)
		return rf_fail(err, -errno, "look at %s", visit->base);
	visit->held = rf_pool_make(visit->pool, visit->upper, &st, err);
	if (visit->held < 0 || rf_room_begin(&visit->room, visit->held, &st, limits, err) < 0)
		return err->code;
	/*
	 * Files are stamped with a coarser clock than the precise one, and so is the layer.  Where the kernel gives
	 * a precise stamp to what was looked at before, this one is later than that of a file changed just before.
	 */
	if (fstat(visit->held, &st) < 0 || fchmod(visit->held, st.st_mode & 07777) < 0 ||
	    fstat(visit->held, &st) < 0)
		return rf_fail(err, -errno, "look at a layer");
	visit->room.make_copy = limits ? make_copy : NULL;
	visit->room.data = visit;
	visit->began_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	if (visit->kept.folder < 0 || visit->is_beside || !limits)
		return 0; /* no program runs there */
	visit->note = rf_occupant_note(visit->kept.folder, visit->upper,
				       visit->room.kind == RF_ROOM_MEMORY ? visit->room.top : -1,
				       visit->began_ns, err);
	return visit->note < 0 ? visit->note : 0;
}

int rf_visit_settle(struct rf_visit *visit, struct rf_err *err)
{
	struct rf_stack lowers = { 0 };
	RF_AUTO_FD int whole = -1, up = -1;
	int code;

	if (visit->room.kind != RF_ROOM_COPY || !visit->replica)
		return 0;
	visit->room.kind = RF_ROOM_DISK;
	code = add_lowers(visit, &lowers, err);
	whole = openat(visit->held, COPY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	up = rf_pool_open_layer(visit->pool, visit->upper);
	if (code == 0 && (whole < 0 || up < 0))
		code = rf_fail(err, whole < 0 ? -EACCES : up, "open the copy");
	if (code == 0)
		code = rf_replica_take(visit->replica, &lowers, whole, up, err);
	rf_stack_done(&lowers);
	rf_clear(visit->held, COPY);
	return code < 0 ? rf_fail_in(err, "what the run changed is lost") : 0;
}

/* What the run changed, wherever it lies. */
static int open_upper(const struct rf_visit *visit)
{
	int up;

	if (visit->room.kind != RF_ROOM_MEMORY)
		return rf_pool_open_layer(visit->pool, visit->upper);
	up = openat(visit->room.top, "up", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return up < 0 ? -errno : up;
}

/* A program may have closed its own directory to its owner. */
static void open_top(const struct rf_visit *visit, mode_t *ret_mode)
{
	struct stat st;

	*ret_mode = 0700;
	if (fstatat(visit->room.top, "up", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	*ret_mode = st.st_mode & 07777;
	if ((st.st_mode & 0700) != 0700)
		fchmodat(visit->room.top, "up", *ret_mode | 0700, 0);
}

int rf_visit_store(struct rf_visit *visit, struct rf_err *err)
{
	RF_AUTO_FD int from = -1, to = -1;
	mode_t mode;
	int code;

	rf_room_end(&visit->room, visit->held);
	if (visit->room.kind != RF_ROOM_MEMORY)
		return 0;
	open_top(visit, &mode);
	from = open_upper(visit);
	to = rf_pool_open_layer(visit->pool, visit->upper);
	code = from < 0 ? from : to < 0 ? to : rf_duplicate(from, to, true);
	if (code == 0 && fchmod(to, mode) < 0)
		code = -errno;
	if (code < 0)
		return rf_fail(err, code, "write the run's changes to %s", visit->pool_path);
	visit->room.kind = RF_ROOM_DISK;
	return 0;
}

int rf_visit_open_stack(const struct rf_visit *visit, struct rf_stack *ret_stack,
			struct rf_err *err)
{
	int up = open_upper(visit);

	*ret_stack = (struct rf_stack){ 0 };
	if (up < 0)
		return rf_fail(err, up, "open layer %s", visit->upper);
	return rf_stack_add(ret_stack, up, strtoull(visit->upper, NULL, 16), err) < 0
		       ? err->code
		       : add_lowers(visit, ret_stack, err);
}

int rf_visit_changes(const struct rf_visit *visit, struct rf_delta *ret_delta, struct rf_err *err)
{
	struct rf_stack before = { 0 }, after = { 0 };
	int code;

	*ret_delta = (struct rf_delta){ 0 };
	code = rf_visit_open_stack(visit, &after, err);
	if (code == 0)
		code = add_lowers(visit, &before, err);
	if (code == 0)
		code = rf_delta_find(&before, &after, ret_delta, err);
	rf_stack_done(&before);
	rf_stack_done(&after);
	return code;
}

/* True if a layer hides what the directory has at `path`: it has the name itself, or hides a folder above. */
static bool hides(int layer, const char *path)
{
	RF_AUTO_FD int dir = rf_fd_copy(layer, 3);
	char name[NAME_MAX + 1];
	char mark[2];

	for (; dir >= 0; path++) {
		size_t len = strcspn(path, "/");
		struct stat st;
		int next;

		if (len >= sizeof(name))
			return true;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return errno != ENOENT;
		if (!S_ISDIR(st.st_mode))
			return true;
		next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(dir);
		dir = next;
		if (dir < 0 || fgetxattr(dir, "user.overlay.opaque", mark, sizeof(mark)) > 0)
			return true;
		if (!*path)
			return false; /* a folder, of which more may show through */
	}
	return true;
}

/* True if an earlier run hid it, so that this one did not see what the directory has there now. */
static bool is_hidden(const struct rf_stack *lowers, const char *path)
{
	for (size_t i = 0; i + 1 < lowers->count; i++)
		if (hides(lowers->layers[i], path))
			return true;
	return false;
}

/* What the directory has under a changed name; where an earlier run hid that, this one can't tell. */
static int see(const struct rf_visit *visit, const struct rf_stack *lowers, char *path,
	       struct rf_seen *ret_seen)
{
	bool hidden = is_hidden(lowers, path);
	int code = hidden ? rf_seen_glance(visit->tree, path, ret_seen)
			  : rf_seen_look(visit->tree, path, ret_seen);

	ret_seen->is_unsure |= ret_seen->mode && (hidden || ret_seen->ctime_ns >= visit->began_ns);
	ret_seen->path = path;
	return code;
}

int rf_visit_see(struct rf_visit *visit, const struct rf_delta *delta, struct rf_err *err)
{
	struct rf_seen_list list = { 0 };
	struct rf_stack lowers = { 0 };
	int code;

	if (visit->has_seen)
		return 0;
	code = add_lowers(visit, &lowers, err);

	for (size_t i = 0; i < delta->count && code == 0; i++) {
		struct rf_seen now;

		code = see(visit, &lowers, delta->changes[i].path, &now);
		if (code == 0)
			code = rf_seen_set(&list, &now);
		if (code < 0)
			rf_fail(err, code, "look at %.100s", delta->changes[i].path);
	}
	if (code == 0)
		code = rf_recall_save_layer(visit->pool, visit->upper, &list, err);
	visit->has_seen = code == 0;
	rf_stack_done(&lowers);
	rf_seen_done(&list);
	return code;
}

int rf_visit_keep(struct rf_visit *visit, const struct rf_delta *delta,
		  const struct rf_visit_note *note, struct rf_err *err)
{
	struct rf_ledger *ledger = &visit->kept.ledger;
	struct rf_point *point;

	if (rf_visit_see(visit, delta, err) < 0 || rf_visit_store(visit, err) < 0)
		return err->code;
	/* While the program ran, somebody may have kept a copy of what it had done so far. */
	if (visit->note >= 0) {
		rf_occupant_hold(visit->note);
		if (rf_workspace_reload(&visit->kept, ledger->name, err) < 0)
			return err->code;
	}
	point = rf_ledger_add(ledger, visit->upper, note->command);
	if (!point) {
		rf_fail_say(err, -E2BIG, "workspace `%s` has too many points", ledger->name);
		return rf_fail_hint(err, "`ringfort gc` drops those that nobody needs");
	}
	if (note->agent && rf_ledger_set_agent(point, note->agent) < 0)
		return rf_fail(err, -ENOMEM, "note the run");
	snprintf(point->status, sizeof(point->status), "%s", note->status);
	snprintf(point->name, sizeof(point->name), "%s", note->name ? note->name : "");
	point->changes = delta->count;
	for (size_t i = 0; i < delta->count; i++)
		point->bytes += delta->changes[i].after.size;
	if (note->is_undone)
		ledger->head = point->parent;
	rf_pool_close(visit->pool, visit->upper);
	if (rf_workspace_save(&visit->kept, false, err) < 0)
		return err->code;
	rf_fd_done(&visit->held); /* it is the workspace's from here on */
	visit->is_kept = true;
	return 0;
}

/*
 * Merges the oldest points where there are too many, and forgets the oldest that were undone.  The run is kept; what fails here
 * is left to the next one.
 */
static void trim(struct rf_visit *visit)
{
	struct rf_swept swept;
	struct rf_err ignored;
	size_t merged, dropped;

	if (!visit->is_kept || !visit->most_points || visit->kept.ledger.is_applying)
		return;
	dropped = rf_sweep_undone(&visit->kept.ledger, visit->most_points);
	if (dropped > 0 && rf_workspace_save(&visit->kept, true, &ignored) < 0)
		return;
	if (rf_merge_points(&visit->kept, visit->most_points, &merged, &ignored) < 0)
		merged = 0;
	if (dropped + merged > 0)
		rf_sweep(0, &swept, &ignored);
}

void rf_visit_close(struct rf_visit *visit)
{
	struct rf_err ignored;

	if (visit->held >= 0)
		rf_room_end(&visit->room, visit->held);
	rf_room_done(&visit->room);
	if (visit->held >= 0)
		rf_pool_remove(visit->pool, visit->upper, &ignored);
	if (visit->note >= 0)
		rf_occupant_leave(visit->kept.folder, &visit->note);
	rf_fd_done(&visit->held);
	trim(visit);
	rf_fd_done(&visit->pool);
	rf_fd_done(&visit->tree);
	rf_workspace_close(&visit->kept);
	rf_replica_free(visit->replica);
	visit->replica = NULL;
	free(visit->lowers);
	free(visit->base);
	visit->lowers = NULL;
	visit->base = NULL;
}
