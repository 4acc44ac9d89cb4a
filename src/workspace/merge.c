/* Several layers made into one: see merge.h. */
#include "workspace/merge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/closed.h"
#include "workspace/copy.h"
#include "workspace/recall.h"
#include "workspace/stack.h"

#define OPAQUE       "user.overlay.opaque"
#define APPLIES_MOST 16 /* whose inverses lie beneath; half of them can be taken back at least */

/* A folder that is to be put together, of those layers that show it. */
struct part {
	struct part *next, *before;
	bool is_closed; /* nothing beneath all of the layers shows through */
	size_t count;
	size_t *which; /* of the layers, from the top down */
	char path[];
};

/* A merge under way. */
struct merge {
	const struct rf_stack *stack;
	size_t count; /* of its layers are merged; the others lie beneath */
	int into;
	struct part *first, *last;
	int *dirs; /* of the part that is worked on, as many as there are layers */
	struct rf_err *err;
};

/* ------------------------------------------------------------- parts */

/* Appends a part of which no layer is known yet. */
static struct part *queue(struct merge *m, const char *folder, const char *name)
{
	size_t len = strlen(folder) + 1 + strlen(name);
	struct part *part = calloc(1, sizeof(*part) + len + 1);

	if (part)
		part->which = calloc(m->count, sizeof(*part->which));
	if (!part || !part->which) {
		free(part);
		return NULL;
	}
	snprintf(part->path, len + 1, "%s%s%s", folder, *folder ? "/" : "", name);
	part->before = m->last;
	*(m->last ? &m->last->next : &m->first) = part;
	m->last = part;
	return part;
}

static void drop_parts(struct merge *m)
{
	for (struct part *part = m->first, *next; part; part = next) {
		next = part->next;
		free(part->which);
		free(part);
	}
}

static bool is_opaque(int folder)
{
	char value[2];

	return fgetxattr(folder, OPAQUE, value, sizeof(value)) == 1 && value[0] == 'y';
}

/*
 * Notes which layers show the folder `name` of a part, from its `first` on.  Returns 1 if what lies beneath all of these
 * layers must not show through, 0 if it may, or a negative errno.
 */
static int see_through(const struct merge *m, const struct part *in, size_t first, const char *name,
		       struct part *part)
{
	for (size_t i = first; i < in->count; i++) {
		RF_AUTO_FD int dir = rf_closed_open(m->dirs[i], name, O_RDONLY | O_DIRECTORY);

		if (dir == -ENOENT)
			continue;
		if (dir == -ENOTDIR || dir == -ELOOP)
			return 1; /* it took the place of something */
		if (dir < 0)
			return dir;
		part->which[part->count++] = in->which[i];
		if (is_opaque(dir))
			return 1;
	}
	return 0;
}

/* What one layer says about a folder. */
enum word {
	SILENT,
	SHOWS,
	HIDES
};

static enum word ask(int layer, const char *path)
{
	RF_AUTO_FD int at = rf_fd_copy(layer, 3);
	char name[NAME_MAX + 1];

	while (at >= 0) {
		size_t len = strcspn(path, "/");
		bool hides = is_opaque(at);
		int next;

		if (len >= sizeof(name))
			return HIDES;
		memcpy(name, path, len);
		name[len] = '\0';
		next = rf_closed_open(at, name, O_RDONLY | O_DIRECTORY);
		if (next < 0)
			return next == -ENOENT && !hides ? SILENT : HIDES;
		close(at);
		at = next;
		if (!path[len])
			return SHOWS;
		path += len + 1;
	}
	return HIDES;
}

/* True if the layers beneath show a folder of this path. */
static bool is_beneath(const struct merge *m, const char *path)
{
	enum word word = SILENT;

	for (size_t i = m->count; i < m->stack->count && word == SILENT; i++)
		word = ask(m->stack->layers[i], path);
	return word == SHOWS;
}

/* ------------------------------------------------------------- names */

static int put_folder(struct merge *m, const struct part *in, size_t first, const char *name,
		      int out)
{
	RF_AUTO_FD int made = -1;
	struct part *part = queue(m, in->path, name);
	int hides;

	if (!part)
		return -ENOMEM;
	hides = see_through(m, in, first, name, part);
	if (hides < 0)
		return hides;
	/*
	 * A folder that is in one layer alone, overlayfs lists as it is, with the names that say what was deleted.  So
	 * one that is new here is closed, and has none.
	 */
	hides = !in->is_closed && (hides || !is_beneath(m, part->path));
	part->is_closed = hides || in->is_closed;
	if (mkdirat(out, name, 0700) < 0)
		return -errno;
	made = hides ? openat(out, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	return hides && (made < 0 || fsetxattr(made, OPAQUE, "y", 1, 0) < 0) ? -errno : 0;
}

/* A file is shared; one that has as many names as a file may have is copied. */
static int put_file(int dir, const char *name, int out, const struct stat *st)
{
	if (linkat(dir, name, out, name, 0) == 0)
		return 0;
	if (errno != EMLINK && errno != EPERM && errno != EACCES)
		return -errno;
	if (S_ISCHR(st->st_mode))
		return mknodat(out, name, st->st_mode, makedev(0, 0)) < 0 ? -errno : 0;
	return rf_copy_exactly(dir, name, out, name);
}

/* The first layer that has a name has it for all; of folders, all that show through make one. */
static int put_name(struct merge *m, const struct part *in, const char *name, int out)
{
	for (size_t i = 0; i < in->count; i++) {
		struct stat st;

		if (fstatat(m->dirs[i], name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT)
				continue;
			return -errno;
		}
		if (S_ISDIR(st.st_mode))
			return put_folder(m, in, i, name, out);
		/* Where nothing can show through, overlayfs would list a name that says so. */
		if (in->is_closed && S_ISCHR(st.st_mode))
			return 0;
		return put_file(m->dirs[i], name, out, &st);
	}
	return 0;
}

/* Puts the names of the i-th layer of a part that no layer above it has. */
static int put_names(struct merge *m, const struct part *in, size_t i, int out)
{
	int copy = openat(m->dirs[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct stat st;

	if (!stream) {
		code = -errno;
		rf_fd_done(&copy);
		return code;
	}
	for (struct dirent *entry; code == 0 && (entry = readdir(stream));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fstatat(out, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		code = put_name(m, in, entry->d_name, out);
	}
	closedir(stream);
	return code;
}

/* ------------------------------------------------------------- folders */

static int open_folder(int top, const char *path)
{
	return rf_path_open_within(top, *path ? path : ".", O_RDONLY | O_DIRECTORY);
}

static int put_part(struct merge *m, const struct part *part)
{
	RF_AUTO_FD int out = open_folder(m->into, part->path);
	size_t opened = 0;
	int code = out < 0 ? out : 0;

	for (; opened < part->count && code == 0; opened++) {
		m->dirs[opened] = open_folder(m->stack->layers[part->which[opened]], part->path);
		if (m->dirs[opened] < 0) {
			code = m->dirs[opened];
			break;
		}
	}
	for (size_t i = 0; i < part->count && code == 0; i++)
		code = put_names(m, part, i, out);
	while (opened > 0)
		close(m->dirs[--opened]);
	return code;
}

/* Owner, mode, times and attributes, from the depth up: a folder may deny what its content needed. */
static int finish_parts(struct merge *m)
{
	for (const struct part *part = m->last; part; part = part->before) {
		RF_AUTO_FD int in = open_folder(m->stack->layers[part->which[0]], part->path);
		RF_AUTO_FD int out = in < 0 ? -1 : open_folder(m->into, part->path);
		int code = in < 0 ? in : out < 0 ? out : rf_copy_look(in, out);

		if (code < 0)
			return code;
	}
	return 0;
}

static int merge_into(const struct rf_stack *stack, size_t count, int into)
{
	struct merge m = { .stack = stack, .count = count, .into = into };
	struct part *top = queue(&m, "", "");
	int code = top ? 0 : -ENOMEM;

	m.dirs = calloc(count, sizeof(*m.dirs));
	for (size_t i = 0; code == 0 && i < count; i++)
		top->which[top->count++] = i;
	if (!m.dirs)
		code = -ENOMEM;
	for (const struct part *part = top; part && code == 0; part = part->next)
		code = put_part(&m, part);
	if (code == 0)
		code = finish_parts(&m);
	free(m.dirs);
	drop_parts(&m);
	return code;
}

int rf_merge_layers(int pool, const struct rf_stack *stack, size_t count, char id[RF_LAYER_ID],
		    struct rf_err *err)
{
	RF_AUTO_FD int held = -1;
	RF_AUTO_FD int into = -1;
	struct rf_err ignored;
	struct stat st;
	int code;

	if (rf_pool_name(id) < 0 || fstat(stack->layers[0], &st) < 0)
		return rf_fail(err, -EIO, "name a layer");
	held = rf_pool_make(pool, id, &st, err);
	if (held < 0)
		return held;
	into = rf_pool_open_layer(pool, id);
	code = into < 0 ? into : merge_into(stack, count, into);
	if (code == 0) {
		rf_pool_close(pool, id);
		return rf_fd_take(&held);
	}
	rf_pool_remove(pool, id, &ignored);
	return rf_fail(err, code, "merge %zu layers", count);
}

/* ------------------------------------------------------------- points */

/* What may be merged into the point behind it. */
static bool is_nobodys(const struct rf_ledger *ledger, const struct rf_point *point)
{
	const struct rf_apply_note *apply = rf_ledger_last_apply(ledger);
	size_t children = 0;

	if (point->name[0] || point->id == ledger->head || (apply && apply->point == point->id))
		return false;
	for (const struct rf_point *p = point + 1; p < ledger->points + ledger->count; p++)
		children += p->parent == point->id;
	return children == 1;
}

/* Makes one point of `count`, from the top down: the first of them, with what all of them changed. */
static int merge_run(struct rf_workspace *workspace, int pool, struct rf_point **points,
		     size_t count, struct rf_err *err)
{
	struct rf_ledger *ledger = &workspace->ledger;
	bool *keeps = calloc(ledger->count, sizeof(*keeps));
	struct rf_seen_list seen = { 0 };
	struct rf_stack stack = { 0 };
	RF_AUTO_FD int held = -1;
	char id[RF_LAYER_ID];
	int code = keeps ? 0 : rf_fail(err, -ENOMEM, "merge layers");

	if (code == 0)
		code = rf_workspace_open_stack(workspace, points[0]->id, &stack, err);
	if (code == 0) {
		held = rf_merge_layers(pool, &stack, count, id, err);
		code = held < 0 ? held : 0;
	}
	if (code == 0)
		code = rf_recall_run(workspace, pool, points, count, &seen, err);
	if (code == 0)
		code = rf_recall_save_layer(pool, id, &seen, err);
	if (code == 0) {
		memset(keeps, true, ledger->count * sizeof(*keeps));
		memcpy(points[0]->layer, id, sizeof(id));
		points[0]->parent = points[count - 1]->parent;
		points[0]->began = points[count - 1]->began;
		for (size_t i = 1; i < count; i++) {
			points[0]->changes += points[i]->changes;
			points[0]->bytes += points[i]->bytes;
			keeps[points[i] - ledger->points] = false;
		}
		rf_ledger_prune(ledger, keeps);
		code = rf_workspace_save(workspace, true, err);
	}
	rf_stack_done(&stack);
	rf_seen_done(&seen);
	free(keeps);
	return code;
}

/*
 * Finds the oldest run of points beneath the head that can be made one, at most `most` of them.  They go to `points` from
 * the top down; returns how many they are, 0 if there is no such run.
 */
static size_t find_run(const struct rf_ledger *ledger, size_t most, struct rf_point **points)
{
	size_t count = 0, found = 0, first;

	for (struct rf_point *p = rf_ledger_point(ledger, ledger->head); p;
	     p = rf_ledger_point(ledger, p->parent))
		points[count++] = p;
	for (size_t i = count; i-- > 0 && found < most;) {
		if (found == 0)
			first = i;
		found++;
		if (is_nobodys(ledger, points[i]))
			continue;
		if (found > 1)
			break;
		found = 0; /* it stands alone */
	}
	if (found < 2)
		return 0;
	memmove(points, &points[first + 1 - found], found * sizeof(void *));
	return found;
}

/* ------------------------------------------------------------- applies */

static bool has_root_between(const struct rf_ledger *ledger, uint32_t low, uint32_t high)
{
	for (size_t i = 0; i < ledger->count; i++)
		if (ledger->points[i].parent == 0 && ledger->points[i].began >= low &&
		    ledger->points[i].began < high)
			return true;
	return false;
}

/* Opens what the directory was before the first apply: all inverses over it. */
static int open_inverses(const struct rf_workspace *workspace, int pool, struct rf_stack *stack,
			 struct rf_err *err)
{
	const struct rf_ledger *ledger = &workspace->ledger;
	int base, code = 0;

	for (size_t i = 0; i < ledger->apply_count && code == 0; i++)
		code = rf_stack_add_named(stack, pool, ledger->applies[i].inverse, err);
	if (code < 0)
		return code;
	base = rf_workspace_open_base(workspace, err);
	return base < 0 ? base : rf_stack_add(stack, base, RF_STACK_BASE, err);
}

/*
 * Makes one of the oldest applies where there are many.  They can't be taken back one by one then; what they
 * overwrote lies beneath earlier points as before, so none of these may have begun between them.
 */
static int merge_applies(struct rf_workspace *workspace, int pool, struct rf_err *err)
{
	struct rf_ledger *ledger = &workspace->ledger;
	struct rf_apply_note *applies = ledger->applies;
	struct rf_stack stack = { 0 };
	RF_AUTO_FD int held = -1;
	size_t count = ledger->apply_count - APPLIES_MOST / 2;
	char id[RF_LAYER_ID];

	while (count > 1 && has_root_between(ledger, applies[0].since, applies[count - 1].since))
		count--;
	if (count < 2)
		return 0;
	if (open_inverses(workspace, pool, &stack, err) == 0)
		held = rf_merge_layers(pool, &stack, count, id, err);
	rf_stack_done(&stack);
	if (held < 0)
		return err->code;
	memcpy(applies[count - 1].inverse, id, sizeof(id));
	applies[count - 1].is_own = false;
	ledger->apply_count -= count - 1;
	memmove(applies, applies + count - 1, ledger->apply_count * sizeof(*applies));
	return rf_workspace_save(workspace, true, err);
}

/* ------------------------------------------------------------- both */

static size_t depth(const struct rf_ledger *ledger)
{
	size_t count = 0;

	for (const struct rf_point *p = rf_ledger_point(ledger, ledger->head); p;
	     p = rf_ledger_point(ledger, p->parent))
		count++;
	return count;
}

int rf_merge_points(struct rf_workspace *workspace, size_t most, size_t *ret_merged,
		    struct rf_err *err)
{
	struct rf_ledger *ledger = &workspace->ledger;
	char path[4096];
	RF_AUTO_FD int pool = -1;
	struct rf_point **points;
	size_t enough = most - most / 4, before = depth(ledger);
	int code = 0;

	*ret_merged = 0;
	if ((before <= most && ledger->apply_count <= APPLIES_MOST) || ledger->is_applying)
		return 0;
	pool = rf_pool_open(true, path, sizeof(path), err);
	points = calloc(before + 1, sizeof(void *));
	if (pool < 0 || !points)
		code = pool < 0 ? pool : rf_fail(err, -ENOMEM, "merge layers");
	if (code == 0 && ledger->apply_count > APPLIES_MOST)
		code = merge_applies(workspace, pool, err);
	enough = before > most ? enough : before;
	while (code == 0 && depth(ledger) > enough) {
		size_t count = find_run(ledger, depth(ledger) - enough + 1, points);

		if (count == 0)
			break;
		code = merge_run(workspace, pool, points, count, err);
	}
	free(points);
	*ret_merged = before - depth(ledger);
	return code;
}
