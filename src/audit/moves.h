/*
 * What is done with workspaces, for the record: a state kept, taken back, or let out to the directory.
 *
 * A command tells it when it is done, by a connection of its own; where no watcher stands there is nobody to tell.
 */
#ifndef RF_AUDIT_MOVES_H
#define RF_AUDIT_MOVES_H

#include <stdint.h>

#include "audit/event.h"
#include "audit/teller.h"
#include "base/err.h"

/* Texts are borrowed, and may be NULL. */
struct rf_move {
	enum rf_audit_kind kind; /* RF_AUDIT_CHECKPOINT, _UNDO, _APPLY, or _RECOVERY of an apply */
	const char *workspace, *agent, *box;
	uint32_t point;      /* where the workspace is then; 0 is the directory itself */
	const char *name;    /* of a checkpoint */
	const char *by;      /* "hand", "watcher", "launcher", "shadow" */
	const char *verdict; /* "applied", "refused", "finished", "taken back"; or a shadow's */
	const char *reason;  /* in words */
	uint64_t added, modified, deleted;
};

/* Adds it to what a teller says next. */
int rf_moves_add(struct rf_teller *teller, const struct rf_move *move, struct rf_err *err);

/* Tells it now, and waits until it is written.  Returns 0 where nobody stands. */
int rf_moves_tell(const struct rf_move *moves, size_t count, struct rf_err *err);

#endif
