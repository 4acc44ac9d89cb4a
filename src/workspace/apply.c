/* Writes what a workspace changed back to its directory: see apply.h. */
#include "workspace/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/closed.h"
#include "workspace/copy.h"
#include "workspace/inverse.h"
#include "workspace/only.h"
#include "workspace/recall.h"

#define TEMPORARY_BYTES 16
#define TEMPORARY       (sizeof(".ringfort-") + 2 * TEMPORARY_BYTES)

/* An apply under way. */
struct work {
	struct rf_workspace *workspace;
	const struct rf_apply_options *options;
	struct rf_apply *apply;
	struct rf_stack before, after; /* the directory, and what it is to become */
	struct rf_seen_list seen;      /* what the workspace knows of the directory */
	struct rf_seen_list applied;   /* of that, what its applies wrote */
	struct rf_seen *found; /* what the directory had at each change when it was decided */
	bool is_back;          /* an apply is taken back */
	int held, base, pool;  /* the directory, locked; the same; all layers */
	struct rf_err *err;
};

/* ------------------------------------------------------------- deciding */

/* Whether the directory has at `path` what the workspace saw there. */
static int is_as_seen(struct work *w, const char *path)
{
	const struct rf_seen *then = rf_seen_find(&w->seen, path);
	struct rf_seen now;
	int code = rf_seen_look(w->base, path, &now);

	if (code < 0)
		return rf_fail(w->err, code, "look at %.100s", path);
	return then && !then->is_unsure && rf_seen_is_same(then, &now);
}

/*
 * Known before anything is written: what denies its owner to read it stays, even if we can.  In the directory it could
 * neither be looked at again nor be taken back.
 */
static bool is_closed(struct work *w, const struct rf_change *change)
{
	const char *name;
	RF_AUTO_FD int dir = -1;
	int needed = S_ISDIR(change->after.mode) ? R_OK | X_OK : R_OK;

	if (!S_ISREG(change->after.mode) && !S_ISDIR(change->after.mode))
		return false;
	if (geteuid() != 0 && change->new < w->after.runs && rf_closed_is(change->after.mode))
		return true;
	dir = rf_copy_open_parent(w->after.layers[change->new], change->path, &name);
	return dir < 0 || faccessat(dir, name, needed, AT_EACCESS) < 0;
}

/* True if the folder that the change is made in is in the directory, and we may make nothing in it. */
static bool is_fixed(struct work *w, const struct rf_change *change)
{
	const char *name;
	RF_AUTO_FD int dir = rf_copy_open_parent(w->base, change->path, &name);

	return dir >= 0 && faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0;
}

/* What can be written to the directory: files, folders and links, and of its own also pipes. */
static bool can_write(const struct work *w, const struct rf_change *change)
{
	mode_t mode = change->after.mode;

	return !mode || S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) ||
	       (S_ISFIFO(mode) && change->new >= w->after.runs);
}

/* What can be put back once it is overwritten; who listens on a socket would not know of another one. */
static bool can_keep(const struct rf_change *change)
{
	mode_t mode = change->before.mode;

	return !mode || S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) || S_ISFIFO(mode);
}

static int decide_one(struct work *w, const struct rf_change *change, enum rf_apply_stay *ret_stay)
{
	const char *const *only = w->options->only;
	int same;

	*ret_stay = RF_APPLY_MADE;
	if (only && !rf_only_covers(only, change->path) && !rf_only_is_way(only, change)) {
		*ret_stay = RF_APPLY_NOT_MEANT;
		return 0;
	}
	if (change->is_end || !can_write(w, change) || !can_keep(change)) {
		*ret_stay = RF_APPLY_NO_FILE;
		return 0;
	}
	if (is_closed(w, change)) {
		*ret_stay = RF_APPLY_CLOSED;
		return 0;
	}
	if (change->protects && !w->is_back && !rf_only_is(only, change->path)) {
		*ret_stay = RF_APPLY_PROTECTED;
		return 0;
	}
	same = is_as_seen(w, change->path);
	if (same < 0)
		return same;
	if (!same && w->options->on_conflict != RF_APPLY_THEIRS)
		*ret_stay = RF_APPLY_CONFLICT;
	return 0;
}

/*
 * A change of an apply that was broken off was decided then.  It may have been made or not; something else in the
 * directory is somebody's work since.
 */
static int decide_again(struct work *w, int inverse, const struct rf_change *change,
			enum rf_apply_stay *ret_stay)
{
	struct rf_seen now, old = { 0 }, new = { 0 };
	bool is_there = change->after.mode &&
			change->new == w->after.count - 1; /* in the directory itself */
	int kept = is_there ? 0 : rf_inverse_has(inverse, change->path),
	    code = rf_seen_look(w->base, change->path, &now);

	*ret_stay = kept > 0 ? RF_APPLY_MADE : RF_APPLY_NOT_MEANT;
	if (kept > 0 && code == 0)
		code = rf_seen_look(inverse, change->path, &old);
	if (kept > 0 && code == 0 && change->after.mode)
		code = rf_seen_look(w->after.layers[change->new], change->path, &new);
	if (kept < 0 || code < 0)
		return rf_fail(w->err, kept < 0 ? kept : code, "look at %.100s", change->path);
	if (S_ISCHR(old.mode))
		old.mode = 0; /* a whiteout: nothing was there */
	if (kept > 0 && !rf_seen_is_same(&old, &now) && !rf_seen_is_same(&new, &now) && now.mode &&
	    w->options->on_conflict != RF_APPLY_THEIRS)
		*ret_stay = RF_APPLY_CONFLICT;
	return 0;
}

static int by_path(const void *path, const void *change)
{
	return strcmp(path, ((const struct rf_change *)change)->path);
}

/* The change of the folder that the path lies in, or NULL. */
static const struct rf_change *change_above(const struct rf_apply *apply, const char *path)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX];

	if (!slash || slash - path >= PATH_MAX)
		return NULL;
	memcpy(above, path, (size_t)(slash - path));
	above[slash - path] = '\0';
	return bsearch(above, apply->delta.changes, apply->delta.count,
		       sizeof(*apply->delta.changes), by_path);
}

/*
 * What becomes of the folder above that is not made or removed; RF_APPLY_MADE if there is none.  Those above have been
 * decided: where the nearest is made, so are the rest.
 */
static enum rf_apply_stay stay_above(const struct rf_apply *apply, const char *path)
{
	const struct rf_change *nearest = change_above(apply, path);
	char above[PATH_MAX];

	if (nearest && apply->stays[nearest - apply->delta.changes] == RF_APPLY_MADE)
		return RF_APPLY_MADE;
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const struct rf_change *found;
		size_t len = (size_t)(slash - path);
		enum rf_apply_stay stay;

		if (len >= sizeof(above))
			break;
		memcpy(above, path, len);
		above[len] = '\0';
		found = bsearch(above, apply->delta.changes, apply->delta.count, sizeof(*found),
				by_path);
		stay = found ? apply->stays[found - apply->delta.changes] : RF_APPLY_MADE;
		if (stay != RF_APPLY_MADE && stay != RF_APPLY_NOT_MEANT)
			return stay;
	}
	return RF_APPLY_MADE;
}

/* A folder that comes (perhaps it has come before), goes, or has another mode is opened first if it has to be. */
static bool is_opened(const struct rf_change *change)
{
	return S_ISDIR(change->before.mode) != S_ISDIR(change->after.mode) ||
	       (S_ISDIR(change->after.mode) && change->kind == RF_CHANGE_MODE);
}

/* True if the folder that the change is made in is one that is opened first. */
static bool is_in_opened(const struct rf_apply *apply, const char *path)
{
	const struct rf_change *found = change_above(apply, path);

	return found && is_opened(found) &&
	       apply->stays[found - apply->delta.changes] == RF_APPLY_MADE;
}

/* What lies in a folder that is not made, or not removed, stays as that does; and so does what can't be made there. */
static void stay_with_parents(struct work *w)
{
	struct rf_apply *apply = w->apply;

	for (size_t i = 0; i < apply->delta.count; i++) {
		const struct rf_change *change = &apply->delta.changes[i];

		if (apply->stays[i] != RF_APPLY_MADE)
			continue;
		apply->stays[i] = stay_above(apply, change->path);
		if (apply->stays[i] == RF_APPLY_MADE && change->kind != RF_CHANGE_MODE &&
		    is_fixed(w, change) && !is_in_opened(apply, change->path))
			apply->stays[i] = RF_APPLY_FIXED;
	}
}

static int count(struct work *w)
{
	struct rf_apply *apply = w->apply;

	for (size_t i = 0; i < apply->delta.count; i++) {
		apply->made += apply->stays[i] == RF_APPLY_MADE;
		apply->conflicts += apply->stays[i] == RF_APPLY_CONFLICT;
		apply->protects += apply->stays[i] == RF_APPLY_PROTECTED;
	}
	if (apply->protects) {
		rf_fail_say(w->err, -EPERM, "%zu of the changes act later on the host",
			    apply->protects);
		return rf_fail_hint(
			w->err,
			"look at them, then name each of them with --only, or everything else");
	}
	if (apply->conflicts && w->options->on_conflict == RF_APPLY_REFUSE) {
		rf_fail_say(w->err, -EEXIST, "the directory has changed beneath %zu of the changes",
			    apply->conflicts);
		return rf_fail_hint(w->err, "--ours leaves what the directory has, --theirs puts "
					    "what the workspace has");
	}
	if (w->options->is_whole && apply->made < apply->delta.count)
		return rf_fail_say(
			w->err, -ENOTSUP,
			"%zu of the changes are pipes, sockets, or can't be read or written",
			apply->delta.count - apply->made);
	return 0;
}

/* What is there now, so that what is changed from now on is noticed before it is overwritten. */
static int look_at_all(struct work *w)
{
	free(w->found);
	w->found = calloc(w->apply->delta.count + 1, sizeof(*w->found));
	if (!w->found)
		return rf_fail(w->err, -ENOMEM, "decide what to apply");
	for (size_t i = 0; i < w->apply->delta.count; i++)
		if (w->apply->stays[i] == RF_APPLY_MADE)
			rf_seen_glance(w->base, w->apply->delta.changes[i].path, &w->found[i]);
	return 0;
}

/* Finds the changes and decides each.  `inverse`: that of an apply that was broken off, or -1. */
static int decide(struct work *w, int inverse)
{
	struct rf_apply *apply = w->apply;
	int code = 0;

	if (rf_delta_find(&w->before, &w->after, &apply->delta, w->err) < 0)
		return w->err->code;
	apply->stays = calloc(apply->delta.count + 1, sizeof(*apply->stays));
	if (!apply->stays)
		return rf_fail(w->err, -ENOMEM, "decide what to apply");
	for (size_t i = 0; i < apply->delta.count && code == 0; i++)
		code = inverse >= 0 ? decide_again(w, inverse, &apply->delta.changes[i],
						   &apply->stays[i])
				    : decide_one(w, &apply->delta.changes[i], &apply->stays[i]);
	if (code == 0)
		code = look_at_all(w);
	if (code < 0)
		return code;
	stay_with_parents(w);
	return count(w);
}

/* ------------------------------------------------------------- making the changes */

/*
 * A name of ours beside `path`, for a copy that is not yet in its place.  Nobody else can guess it, since it follows
 * from the name of the inverse; whoever was killed finds it again by that.
 */
static void temporary(const struct work *w, const char *path, char temp[TEMPORARY])
{
	const struct rf_apply_note *note = rf_ledger_last_apply(&w->workspace->ledger);
	uint8_t hash[RF_SHA256_BYTES];
	struct rf_sha256 sha;
	int len = snprintf(temp, TEMPORARY, ".ringfort-");

	rf_sha256_init(&sha);
	rf_sha256_add(&sha, note->inverse, sizeof(note->inverse));
	rf_sha256_add(&sha, path, strlen(path));
	rf_sha256_end(&sha, hash);
	for (size_t i = 0; i < TEMPORARY_BYTES; i++)
		len += snprintf(temp + len, TEMPORARY - (size_t)len, "%02x", hash[i]);
}

/* Takes a copy of ours away; a folder of ours is empty, and one with something in it is not ours. */
static int drop_temporary(int dir, const char *temp)
{
	if (unlinkat(dir, temp, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return unlinkat(dir, temp, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

static int take_away(struct work *w, const struct rf_change *change)
{
	const char *name;
	RF_AUTO_FD int dir = rf_copy_open_parent(w->base, change->path, &name);
	bool is_folder = S_ISDIR(change->before.mode);

	if (dir == -ENOENT || dir == -ENOTDIR)
		return 0;
	if (dir < 0)
		return dir;
	if (unlinkat(dir, name, is_folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
		return 0;
	return errno == ENOTDIR || errno == EISDIR
		       ? 0
		       : -errno; /* done before: something else is there by now */
}

static int set_mode(int dir, const char *name, mode_t mode)
{
	RF_AUTO_FD int file = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	return file < 0 || chmod(link, mode) < 0 ? -errno : 0;
}

/* True if somebody changed what is there since it was decided. */
static bool has_changed(struct work *w, const struct rf_change *change)
{
	const struct rf_seen *then = &w->found[change - w->apply->delta.changes];
	struct rf_seen now;

	if (rf_seen_glance(w->base, change->path, &now) < 0)
		return true;
	if (S_ISDIR(then->mode) || S_ISDIR(now.mode))
		return false; /* what is in it is looked at name by name */
	return now.mode && (now.ino != then->ino || now.ctime_ns != then->ctime_ns);
}

/* The mode that is to be set: all of it where it is the directory's own, else what may get out. */
static mode_t mode_for(const struct work *w, const struct rf_change *change)
{
	return change->new < w->after.runs ? rf_copy_mode(change->after.mode)
					   : change->after.mode & 07777;
}

/* Copied beside it and moved there: at every moment the old one is there, or the new one. */
static int put(struct work *w, const struct rf_change *change)
{
	const char *name;
	RF_AUTO_FD int from =
		rf_copy_open_parent(w->after.layers[change->new], change->path, &name);
	RF_AUTO_FD int to = rf_copy_open_parent(w->base, change->path, &name);
	bool is_folder = S_ISDIR(change->after.mode);
	char temp[TEMPORARY];
	int code;

	if (from < 0 || to < 0)
		return from < 0 ? from : to;
	if (change->kind == RF_CHANGE_MODE) /* a folder's own comes last, too */
		return set_mode(to, name, mode_for(w, change) | (is_folder ? 0700 : 0));
	if (change->kind == RF_CHANGE_ATTRIBUTES && is_folder) {
		code = rf_copy_attributes(from, name, to, name);
		return code < 0 ? code : set_mode(to, name, mode_for(w, change));
	}
	temporary(w, change->path, temp);
	code = (change->new < w->after.runs ? rf_copy : rf_copy_exactly)(from, name, to, temp);
	if (code == 0 && is_folder)
		code = set_mode(to, temp, mode_for(w, change) | 0700); /* its own comes last */
	if (code == 0 && has_changed(w, change)) {
		drop_temporary(to, temp);
		return -ESTALE;
	}
	if (code == 0 && renameat(to, temp, to, name) < 0) {
		code = -errno;
		drop_temporary(to, temp);
		if (is_folder && (code == -EEXIST || code == -ENOTEMPTY))
			code = 0; /* it is there, with something in it */
	}
	return code;
}

/* Takes away what an apply that was killed had copied and not yet moved. */
static int clean_up(struct work *w)
{
	for (size_t i = 0; i < w->apply->delta.count; i++) {
		const char *name;
		RF_AUTO_FD int dir =
			rf_copy_open_parent(w->base, w->apply->delta.changes[i].path, &name);
		char temp[TEMPORARY];
		int code;

		if (dir < 0 || w->apply->stays[i] == RF_APPLY_NOT_MEANT)
			continue;
		temporary(w, w->apply->delta.changes[i].path, temp);
		code = drop_temporary(dir, temp);
		if (code < 0)
			return rf_fail(w->err, code, "remove what was copied");
	}
	return 0;
}

static bool takes_away(const struct rf_change *change)
{
	return change->kind == RF_CHANGE_DELETED ||
	       (change->kind == RF_CHANGE_TYPE &&
		(S_ISDIR(change->before.mode) || S_ISDIR(change->after.mode)));
}

/* Changed by somebody while we were at it: theirs to decide. */
static int leave(struct work *w, size_t i)
{
	w->apply->stays[i] = RF_APPLY_CONFLICT;
	w->apply->made--;
	w->apply->conflicts++;
	return 0;
}

/* Modes of folders, from the depth up: one may deny what its content needed. */
static int set_folder_modes(struct work *w)
{
	const struct rf_delta *delta = &w->apply->delta;

	for (size_t i = delta->count; i-- > 0;) {
		const struct rf_change *change = &delta->changes[i];
		const char *name;
		RF_AUTO_FD int dir = -1;
		int code;

		if (w->apply->stays[i] != RF_APPLY_MADE || !S_ISDIR(change->after.mode))
			continue;
		dir = rf_copy_open_parent(w->base, change->path, &name);
		code = dir < 0 ? dir : set_mode(dir, name, mode_for(w, change));
		if (code < 0)
			return rf_fail(w->err, code, "set the mode of %.100s", change->path);
	}
	return 0;
}

/* A folder may deny that anything in it is removed; one that goes, or will be another anyway, does so no more. */
static void open_folders(struct work *w)
{
	for (size_t i = 0; i < w->apply->delta.count; i++) {
		const struct rf_change *change = &w->apply->delta.changes[i];
		const char *name;
		RF_AUTO_FD int dir = -1;
		struct stat st;

		if (w->apply->stays[i] != RF_APPLY_MADE || !is_opened(change))
			continue;
		dir = rf_copy_open_parent(w->base, change->path, &name);
		if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode) && faccessat(dir, name, R_OK | X_OK, AT_EACCESS) == 0 &&
		    faccessat(dir, name, W_OK, AT_EACCESS) < 0)
			set_mode(dir, name, (st.st_mode & 07777) | 0700);
	}
}

/* It holds something that is not ours to remove. */
static void leave_folder(struct work *w, size_t i)
{
	const struct rf_change *change = &w->apply->delta.changes[i];
	const char *name;
	RF_AUTO_FD int dir = rf_copy_open_parent(w->base, change->path, &name);

	if (dir >= 0)
		set_mode(dir, name, change->before.mode & 07777);
	w->apply->stays[i] = RF_APPLY_IN_USE;
	w->apply->made--;
}

/* What goes, from the depth up; then what comes, from the top down. */
static int make_changes(struct work *w)
{
	const struct rf_delta *delta = &w->apply->delta;
	int code = 0;

	open_folders(w);
	for (size_t i = delta->count; i-- > 0 && code == 0;) {
		if (w->apply->stays[i] != RF_APPLY_MADE || !takes_away(&delta->changes[i]))
			continue;
		code = has_changed(w, &delta->changes[i]) ? -ESTALE
							  : take_away(w, &delta->changes[i]);
		if (code == -ESTALE)
			code = leave(w, i);
		if (code == -ENOTEMPTY || code == -EEXIST) {
			leave_folder(w, i);
			code = 0;
		}
		if (code < 0)
			rf_fail(w->err, code, "remove %.100s", delta->changes[i].path);
	}
	for (size_t i = 0; i < delta->count && code == 0; i++) {
		if (w->apply->stays[i] != RF_APPLY_MADE ||
		    delta->changes[i].kind == RF_CHANGE_DELETED)
			continue;
		code = put(w, &delta->changes[i]);
		if (code == -ESTALE)
			code = leave(w, i);
		if (code < 0)
			rf_fail(w->err, code, "write %.100s", delta->changes[i].path);
	}
	if (code == 0)
		code = set_folder_modes(w);
	if (code == 0 && w->options->is_durable && syncfs(w->base) < 0)
		code = rf_fail(w->err, -errno, "write the directory to the disk");
	if (code < 0)
		rf_fail_hint(w->err,
			     "what was done is kept track of: `apply` goes on, `undo` goes back");
	return code;
}

/* Notes what the directory has at a change from here on, for all that began before the apply. */
static int note(struct work *w, const struct rf_change *change, int layer, struct rf_seen *now)
{
	int code = layer < 0 ? 0 : rf_seen_look(layer, change->path, now);

	if (S_ISCHR(now->mode))
		now->mode = 0; /* a whiteout: nothing is there */
	now->ino = 0;          /* by its content alone */
	now->ctime_ns = 0;
	now->since = rf_ledger_last_apply(&w->workspace->ledger)->since;
	now->path = change->path;
	return code < 0 ? code : rf_seen_set(&w->applied, now);
}

/* What was written is what the workspace knows of the directory; what somebody wrote since is not. */
static int note_seen(struct work *w)
{
	int code = 0;

	for (size_t i = 0; i < w->apply->delta.count && code == 0; i++) {
		const struct rf_change *change = &w->apply->delta.changes[i];
		struct rf_seen now = { 0 };

		if (w->apply->stays[i] == RF_APPLY_MADE)
			code = note(w, change,
				    change->after.mode ? w->after.layers[change->new] : -1, &now);
	}
	if (code < 0)
		return rf_fail(w->err, code, "note what was written");
	return rf_recall_save_applied(w->workspace, &w->applied, w->err);
}

/* ------------------------------------------------------------- forward and back */

/* Of several workspaces over one directory, one writes to it at a time. */
static int hold_base(struct work *w)
{
	int code = rf_workspace_wait(w->base);

	if (code == -EWOULDBLOCK) {
		rf_fail_say(w->err, -EBUSY, "somebody else writes to %.150s",
			    w->workspace->ledger.base);
		return rf_fail_hint(w->err,
				    "another workspace over it is being applied, or a program "
				    "holds a lock on it: wait for that, or end it");
	}
	return code < 0 ? rf_fail(w->err, code, "lock %.150s", w->workspace->ledger.base) : 0;
}

static int open_work(struct work *w)
{
	char path[4096];

	w->pool = rf_pool_open(true, path, sizeof(path), w->err);
	if (w->pool < 0)
		return w->err->code;
	w->held = rf_workspace_open_base(w->workspace, w->err);
	if (w->held < 0)
		return w->err->code;
	w->base = w->held;
	if (hold_base(w) < 0 || rf_workspace_open_stack(w->workspace, 0, &w->before, w->err) < 0 ||
	    rf_recall(w->workspace, w->pool, w->workspace->ledger.head, &w->seen, w->err) < 0)
		return w->err->code;
	return rf_recall_load_applied(w->workspace, &w->applied, w->err);
}

static int finish(struct work *w)
{
	if (make_changes(w) < 0 || note_seen(w) < 0)
		return w->err->code;
	w->workspace->ledger.is_applying = false;
	if (rf_workspace_save(w->workspace, w->options->is_durable, w->err) < 0)
		return w->err->code;
	if (w->apply->conflicts && w->options->on_conflict == RF_APPLY_REFUSE)
		return rf_fail_say(
			w->err, -EEXIST,
			"%zu of the changes were not made: the directory changed meanwhile",
			w->apply->conflicts);
	return 0;
}

/* What the directory was before the last apply: the inverse, over the directory. */
static int open_inverse(struct work *w, struct rf_stack *stack)
{
	const struct rf_apply_note *apply = rf_ledger_last_apply(&w->workspace->ledger);
	int base;

	rf_stack_done(stack);
	if (rf_stack_add_named(stack, w->pool, apply->inverse, w->err) < 0)
		return w->err->code;
	base = rf_fd_copy(w->base, 3);
	return base < 0 ? rf_fail(w->err, -errno, "open the directory")
			: rf_stack_add(stack, base, RF_STACK_BASE, w->err);
}

/*
 * Finds the changes of an apply that was broken off, as they were when it began: from what it kept, over the directory,
 * to what it applied.
 */
static int decide_broken(struct work *w)
{
	const struct rf_apply_note *apply = rf_ledger_last_apply(&w->workspace->ledger);

	if (open_inverse(w, &w->before) < 0 ||
	    rf_workspace_open_stack(w->workspace, apply->point, &w->after, w->err) < 0 ||
	    decide(w, w->before.layers[0]) < 0)
		return w->err->code;
	return clean_up(w);
}

static int go_on(struct work *w)
{
	return decide_broken(w) < 0 ? w->err->code : finish(w);
}

static int go(struct work *w)
{
	struct rf_ledger *ledger = &w->workspace->ledger;
	RF_AUTO_FD int held = -1;
	char id[RF_LAYER_ID];

	if (ledger->is_applying)
		return go_on(w);
	if (rf_workspace_open_stack(w->workspace, ledger->head, &w->after, w->err) < 0 ||
	    decide(w, -1) < 0)
		return w->err->code;
	if (w->apply->made == 0)
		return 0;
	held = rf_inverse_make(w->pool, w->base, w->apply, w->options->is_durable, id, w->err);
	if (held < 0)
		return held;
	if (!rf_ledger_add_apply(ledger, id)) {
		rf_fail_say(w->err, -E2BIG, "workspace `%s` has too many applies", ledger->name);
		return rf_fail_hint(w->err, "`ringfort gc` drops those that nobody needs");
	}
	ledger->is_applying = true;
	if (rf_workspace_save(w->workspace, w->options->is_durable, w->err) < 0)
		return w->err->code;
	return finish(w);
}

/* What was there before the apply is what the workspace will know of the directory. */
static int note_old(struct work *w)
{
	int code = 0;

	for (size_t i = 0; i < w->apply->delta.count && code == 0; i++) {
		struct rf_seen old = { 0 };

		if (w->apply->stays[i] == RF_APPLY_MADE)
			code = note(w, &w->apply->delta.changes[i], w->before.layers[0], &old);
	}
	return code < 0 ? rf_fail(w->err, code, "note what was there before") : 0;
}

/* All of it, once it is known that nothing else was changed. */
static int go_back_broken(struct work *w)
{
	struct rf_apply *apply = w->apply;

	if (decide_broken(w) < 0 || note_old(w) < 0 || open_inverse(w, &w->after) < 0)
		return w->err->code;
	rf_apply_done(apply);
	*apply = (struct rf_apply){ 0 };
	rf_stack_done(&w->before);
	if (rf_workspace_open_stack(w->workspace, 0, &w->before, w->err) < 0)
		return w->err->code;
	if (rf_delta_find(&w->before, &w->after, &apply->delta, w->err) < 0)
		return w->err->code;
	apply->stays = calloc(apply->delta.count + 1, sizeof(*apply->stays));
	apply->made = apply->delta.count;
	if (apply->stays)
		return look_at_all(w);
	return rf_fail(w->err, -ENOMEM, "decide what to take back");
}

static int go_back(struct work *w)
{
	struct rf_ledger *ledger = &w->workspace->ledger;
	int code;

	w->is_back = true;
	if (!rf_ledger_last_apply(ledger)) {
		rf_fail_say(w->err, -ENOENT,
			    "workspace `%s` has nothing applied that could be taken back",
			    ledger->name);
		return rf_fail_hint(w->err, "`ringfort undo` goes back a run");
	}
	if (ledger->is_applying)
		code = go_back_broken(w);
	else
		code = open_inverse(w, &w->after) < 0 ? w->err->code : decide(w, -1);
	if (code < 0)
		return w->err->code;
	ledger->is_applying = true; /* whoever is killed from here on can go on, or back */
	if (rf_workspace_save(w->workspace, w->options->is_durable, w->err) < 0 ||
	    make_changes(w) < 0 || note_seen(w) < 0)
		return w->err->code;
	if (w->apply->conflicts) { /* only the inverse still has what was there */
		rf_fail_say(
			w->err, -EEXIST,
			"%zu of the changes were not taken back: the directory changed meanwhile",
			w->apply->conflicts);
		return rf_fail_hint(w->err,
				    "`ringfort undo --theirs` overwrites what it has there");
	}
	rf_ledger_drop_apply(ledger);
	ledger->is_applying = false;
	return rf_workspace_save(w->workspace, w->options->is_durable, w->err);
}

static int run(int (*how)(struct work *w), struct rf_workspace *workspace,
	       const struct rf_apply_options *options, struct rf_apply *ret_apply,
	       struct rf_err *err)
{
	struct work w = { .workspace = workspace,
			  .options = options,
			  .apply = ret_apply,
			  .held = -1,
			  .pool = -1,
			  .err = err };
	const struct rf_apply_note *last = rf_ledger_last_apply(&workspace->ledger);
	bool is_last = last && (how == go_back || workspace->ledger.is_applying);
	uint32_t point = is_last ? last->point : workspace->ledger.head;
	int code;

	*ret_apply = (struct rf_apply){ 0 };
	code = open_work(&w) < 0 ? err->code : how(&w);
	ret_apply->point = point;
	rf_stack_done(&w.before);
	rf_stack_done(&w.after);
	rf_seen_done(&w.seen);
	rf_seen_done(&w.applied);
	free(w.found);
	rf_fd_done(&w.held);
	rf_fd_done(&w.pool);
	return code;
}

int rf_apply_head(struct rf_workspace *workspace, const struct rf_apply_options *options,
		  struct rf_apply *ret_apply, struct rf_err *err)
{
	return run(go, workspace, options, ret_apply, err);
}

int rf_apply_undo(struct rf_workspace *workspace, const struct rf_apply_options *options,
		  struct rf_apply *ret_apply, struct rf_err *err)
{
	return run(go_back, workspace, options, ret_apply, err);
}

void rf_apply_done(struct rf_apply *apply)
{
	rf_delta_done(&apply->delta);
	free(apply->stays);
	apply->stays = NULL;
}
