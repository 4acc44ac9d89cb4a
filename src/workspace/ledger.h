/*
 * The ledger of a workspace: where it begins, and what was done in it.
 *
 * Every run leaves a layer and with it a point; a point's parent is the one that the run began at.  So the points are
 * a tree, whose root, point 0, is the base as it was found.  The head is where the next run begins.  A checkpoint is
 * a point with a name, and to undo is to put the head elsewhere: neither touches a file of the workspace.
 *
 * Kept as JSON, and read as strictly as a stranger's.
 */
#ifndef RF_WORKSPACE_LEDGER_H
#define RF_WORKSPACE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "workspace/pool.h"

#define RF_LEDGER_POINTS  4096 /* at most */
#define RF_LEDGER_APPLIES 256  /* at most */
#define RF_LEDGER_NAME    64   /* bytes of a workspace's or a checkpoint's name, with its end */

struct rf_point {
	uint32_t id, parent;
	uint32_t began; /* the id of the first of the runs that were merged in it, or its own */
	char layer[RF_LAYER_ID];
	char name[RF_LEDGER_NAME]; /* as a checkpoint, or "" */
	int64_t time;              /* seconds since 1970 */
	char *command;             /* what ran, cut to a line */
	char *agent;               /* for whom, or NULL */
	char status[16];           /* how it ended, as in the result */
	uint64_t changes, bytes;   /* how many files, and how much they hold */
};

/*
 * An apply: the directory is another one since.  Its inverse is a layer that has what it overwrote, so that over the
 * directory it is what the directory was; it lies beneath all that began before.
 */
struct rf_apply_note {
	char inverse[RF_LAYER_ID];
	uint32_t point; /* that was applied */
	uint32_t since; /* the id of the point to come, when it was */
	bool is_own;    /* and not that of the workspace that this one is a fork of */
};

struct rf_ledger {
	char name[RF_LEDGER_NAME];
	char *base;                    /* absolute */
	uint64_t dev, ino;             /* of the base, when the workspace was made */
	int64_t time;                  /* when that was */
	uint32_t head, next;           /* the point to begin at, and the id of the point to come */
	struct rf_apply_note *applies; /* and not taken back; the last one last */
	size_t apply_count;
	bool is_applying;        /* the last one has not come to its end */
	bool is_shadow;          /* of a shadow run: kept while that can be taken back */
	struct rf_point *points; /* by their ids, and so parents before children */
	size_t count;
};

int rf_ledger_parse(const char *text, size_t len, struct rf_ledger *ret_ledger, struct rf_err *err);
void rf_ledger_format(const struct rf_ledger *ledger, struct rf_buf *out);
void rf_ledger_done(struct rf_ledger *ledger);

/* A name of letters, digits, `-`, `_` and `.`, that begins with one of the first two. */
bool rf_ledger_is_name(const char *text);

/* The point with this id, or NULL: also for 0. */
struct rf_point *rf_ledger_point(const struct rf_ledger *ledger, uint32_t id);

/* Adds one behind the head and moves the head there.  Gives it (borrowed), or NULL without memory or room. */
struct rf_point *rf_ledger_add(struct rf_ledger *ledger, const char *layer, const char *command);

int rf_ledger_set_agent(struct rf_point *point, const char *agent);

/* The last apply, if it is the workspace's own to take back, or NULL. */
struct rf_apply_note *rf_ledger_last_apply(const struct rf_ledger *ledger);

/* Finds a point by the name of a checkpoint or by `@ID`.  Point 0 is the directory itself. */
int rf_ledger_find_point(const struct rf_ledger *ledger, const char *word, uint32_t *ret_id,
			 struct rf_err *err);

/* Notes that the head is being applied.  Gives the note (borrowed), or NULL without memory or room. */
struct rf_apply_note *rf_ledger_add_apply(struct rf_ledger *ledger, const char *inverse);

/* Forgets the last apply: it is taken back. */
void rf_ledger_drop_apply(struct rf_ledger *ledger);

/* The id of the first run beneath a point, which began with the directory itself, or 0. */
uint32_t rf_ledger_root(const struct rf_ledger *ledger, uint32_t id);

/*
 * The layers that a point is made of, from the top down: those of runs first, then the inverses of what was applied
 * since the first of those runs.  Gives an array (to be freed, its names borrowed) that ends in NULL, and how many of
 * them are of runs.  NULL without memory.
 */
const char **rf_ledger_layers(const struct rf_ledger *ledger, uint32_t id, size_t *ret_runs);

/* True for a shadow run's that came to nothing: nothing of it is in the directory, and nobody went on in it. */
bool rf_ledger_is_spent(const struct rf_ledger *ledger);

/* Drops the points for which `keeps` is false. */
void rf_ledger_prune(struct rf_ledger *ledger, const bool *keeps);

#endif
