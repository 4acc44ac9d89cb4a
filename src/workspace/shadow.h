/*
 * A shadow run's way to the directory: all of its changes, or none.
 *
 * Until it is verified, what such a run changed is a layer that no ledger names, and whoever is killed leaves something
 * that the next sweep takes away.  Then it becomes a workspace of its own, shadow-N, and is applied at once; from the
 * first note of that in the ledger on it goes on, or back, as any apply does.  The workspace stays, so that `undo` takes
 * the apply back: the newest few of each directory.
 */
#ifndef RF_WORKSPACE_SHADOW_H
#define RF_WORKSPACE_SHADOW_H

#include <stdbool.h>

#include "base/err.h"
#include "workspace/apply.h"
#include "workspace/visit.h"

#define RF_SHADOW_KEPT 8 /* of each directory */

/* What is to be applied; all borrowed. */
struct rf_shadow {
	struct rf_visit *visit;       /* of the run, which is over; rf_visit_see() was called */
	const struct rf_delta *delta; /* what it changed */
	const char *command, *agent;  /* for the log; the latter or NULL */
	const char *const
		*allowed; /* NULL-ended: what acts later and may be applied all the same */
	bool is_durable;
};

/* Fails where an apply to `base`, or to a directory in or above it, was broken off. */
int rf_shadow_check(const char *base, struct rf_err *err);

/*
 * Applies it.  On success visit->kept is the open workspace that can take it back.  -EPERM, -EEXIST and -ENOTSUP:
 * refused, and `ret_apply` (to be freed in any case) says for which changes.  After any failure the directory is as it
 * was, unless visit->kept is open: then its apply could not be finished, nor taken back.
 */
int rf_shadow_apply(const struct rf_shadow *shadow, struct rf_apply *ret_apply, struct rf_err *err);

#endif
