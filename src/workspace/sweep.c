/*
 * Takes away what no workspace needs any more: see sweep.h.
 *
 * A run holds its layer until a ledger names it.  So the ledgers are read twice: the layers that none of them names
 * are held, as far as no run holds them, and what is in no ledger even then is nobody's.
 */
#include "workspace/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/merge.h"
#include "workspace/workspace.h"

#define HELD_MAX 256

/* A sweep under way. */
struct sweep {
	int pool;
	struct dirent **layers;
	int count;
	bool *are_used;
	size_t most; /* points, or 0: they stay */
	struct rf_swept *swept;
	struct rf_err *err;
};

void rf_sweep_mark(const struct rf_ledger *ledger, bool *keeps)
{
	const struct rf_apply_note *apply = rf_ledger_last_apply(ledger);

	memset(keeps, 0, ledger->count * sizeof(*keeps));
	/* Children come behind their parents, so one way back through them is enough. */
	for (size_t i = ledger->count; i-- > 0;) {
		const struct rf_point *point = &ledger->points[i];

		if (point->id == ledger->head || point->name[0] ||
		    (apply && point->id == apply->point))
			keeps[i] = true;
		if (!keeps[i] || point->parent == 0)
			continue;
		keeps[rf_ledger_point(ledger, point->parent) - ledger->points] = true;
	}
}

/* The oldest point that was undone and that nothing stands on, or the number of points. */
static size_t oldest_end(const struct rf_ledger *ledger, const bool *keeps, bool *has_child)
{
	memset(has_child, 0, ledger->count * sizeof(*has_child));
	for (size_t i = 0; i < ledger->count; i++)
		if (ledger->points[i].parent)
			has_child[rf_ledger_point(ledger, ledger->points[i].parent) -
				  ledger->points] = true;
	for (size_t i = 0; i < ledger->count; i++)
		if (!keeps[i] && !has_child[i])
			return i;
	return ledger->count;
}

size_t rf_sweep_undone(struct rf_ledger *ledger, size_t most)
{
	bool *keeps = calloc(2 * ledger->count + 1, sizeof(*keeps)), *stays;
	size_t undone = 0, enough = most - most / 4, dropped = 0;

	if (!keeps)
		return 0;
	rf_sweep_mark(ledger, keeps);
	for (size_t i = 0; i < ledger->count; i++)
		undone += !keeps[i];
	while (undone > most || (dropped > 0 && undone > enough)) {
		size_t end = oldest_end(ledger, keeps, keeps + ledger->count);

		stays = end < ledger->count ? malloc(ledger->count * sizeof(*stays)) : NULL;
		if (!stays)
			break;
		memset(stays, true, ledger->count * sizeof(*stays));
		stays[end] = false;
		rf_ledger_prune(ledger, stays);
		free(stays);
		rf_sweep_mark(ledger, keeps);
		undone--;
		dropped++;
	}
	free(keeps);
	return dropped;
}

static int drop_points(struct sweep *s, const char *name)
{
	struct rf_workspace workspace;
	struct rf_err ignored;
	bool *keeps;
	size_t before, merged;
	int code = 0;

	if (rf_workspace_open_now(name, &workspace, &ignored) < 0)
		return 0;
	before = workspace.ledger.count;
	keeps = calloc(before + 1, sizeof(*keeps));
	if (!keeps) {
		rf_workspace_close(&workspace);
		return rf_fail(s->err, -ENOMEM, "sweep");
	}
	rf_sweep_mark(&workspace.ledger, keeps);
	rf_ledger_prune(&workspace.ledger, keeps);
	if (workspace.ledger.count != before)
		code = rf_workspace_save(&workspace, true, s->err);
	s->swept->points += before - workspace.ledger.count;
	/* What can't be merged stays, and is no reason to keep the rest. */
	if (code == 0 && rf_merge_points(&workspace, s->most, &merged, &ignored) == 0)
		s->swept->merged += merged;
	free(keeps);
	rf_workspace_close(&workspace);
	return code;
}

static void use(struct sweep *s, const char *layer)
{
	int low = 0, high = s->count;

	while (low < high) {
		int middle = low + (high - low) / 2,
		    order = strcmp(s->layers[middle]->d_name, layer);

		if (order == 0)
			s->are_used[middle] = true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
}

static int look_at(void *data, const char *name)
{
	struct sweep *s = data;
	struct rf_ledger ledger;
	int code;

	if (s->most && drop_points(s, name) < 0)
		return s->err->code;
	code = rf_workspace_peek(name, &ledger, s->err);
	if (code == -ENOENT) { /* removed meanwhile */
		*s->err = RF_ERR_INIT;
		return 0;
	}
	for (size_t i = 0; code == 0 && i < ledger.apply_count; i++)
		use(s, ledger.applies[i].inverse);
	for (size_t i = 0; code == 0 && i < ledger.count; i++)
		use(s, ledger.points[i].layer);
	rf_ledger_done(&ledger);
	return code; /* a ledger that can't be read may name any of them */
}

/* True if somebody reads the layer, who opened it while a ledger named it. */
static bool is_read(int pool, const char *layer)
{
	RF_AUTO_FD int changes = rf_pool_open_layer(pool, layer);

	return changes >= 0 && rf_stack_is_held(changes);
}

/* Holds what seems to be nobody's, as much as there are descriptors for; the next sweep has the rest. */
static void hold_unused(struct sweep *s, int *held)
{
	int left = HELD_MAX;

	for (int i = 0; i < s->count; i++) {
		held[i] = -1;
		if (s->are_used[i] || left == 0)
			continue;
		held[i] = openat(s->pool, s->layers[i]->d_name,
				 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (held[i] >= 0 && (flock(held[i], LOCK_EX | LOCK_NB) < 0 ||
				     is_read(s->pool, s->layers[i]->d_name)))
			rf_fd_done(&held[i]); /* a run's, or a reader's */
		left -= held[i] >= 0;
	}
}

static int remove_unused(struct sweep *s, int *held)
{
	int code, first = 0;

	hold_unused(s, held);
	s->most = 0;
	code = rf_workspace_each(look_at, s, s->err);
	for (int i = 0; i < s->count; i++) {
		if (code == 0 && held[i] >= 0 && !s->are_used[i]) {
			int failed = rf_pool_remove(s->pool, s->layers[i]->d_name, s->err);

			s->swept->layers += failed == 0;
			first = first ? first : failed; /* the others go all the same */
		}
		rf_fd_done(&held[i]);
	}
	return code < 0 ? code : first;
}

/* A shadow run that was killed before it came to anything has left its workspace. */
static int drop_spent(void *data, const char *name)
{
	struct rf_workspace workspace;
	struct rf_ledger ledger;
	struct rf_err ignored;
	bool is_spent =
		rf_workspace_peek(name, &ledger, &ignored) == 0 && rf_ledger_is_spent(&ledger);

	(void)data;
	rf_ledger_done(&ledger);
	if (!is_spent || rf_workspace_open_now(name, &workspace, &ignored) < 0)
		return 0;
	if (!rf_ledger_is_spent(&workspace.ledger) || rf_workspace_remove(&workspace, &ignored) < 0)
		rf_workspace_close(&workspace);
	return 0;
}

static int is_layer(const struct dirent *entry)
{
	return rf_pool_is_id(entry->d_name);
}

int rf_sweep(size_t most, struct rf_swept *ret_swept, struct rf_err *err)
{
	char path[4096];
	RF_AUTO_FD int pool = rf_pool_open(false, path, sizeof(path), err);
	struct sweep s = { .pool = pool, .most = most, .swept = ret_swept, .err = err };
	int code, *held;

	*ret_swept = (struct rf_swept){ 0 };
	if (pool == -ENOENT) { /* nothing was ever kept */
		*err = RF_ERR_INIT;
		return 0;
	}
	if (pool < 0)
		return pool;
	rf_workspace_sweep();
	if (rf_workspace_each(drop_spent, NULL, err) < 0)
		return err->code;
	s.count = scandir(path, &s.layers, is_layer, alphasort);
	if (s.count < 0)
		return rf_fail(err, -errno, "list the layers");
	s.are_used = calloc((size_t)s.count + 1, sizeof(*s.are_used));
	code = s.are_used ? rf_workspace_each(look_at, &s, err) : rf_fail(err, -ENOMEM, "sweep");
	held = code == 0 ? calloc((size_t)s.count + 1, sizeof(*held)) : NULL;
	if (code == 0)
		code = held ? remove_unused(&s, held) : rf_fail(err, -ENOMEM, "sweep");
	free(held);
	for (int i = 0; i < s.count; i++)
		free(s.layers[i]);
	free(s.layers);
	free(s.are_used);
	return code;
}
