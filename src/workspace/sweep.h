/* Takes away what no workspace needs any more. */
#ifndef RF_WORKSPACE_SWEEP_H
#define RF_WORKSPACE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "workspace/ledger.h"

struct rf_swept {
	size_t points; /* that led nowhere, dropped from ledgers */
	size_t merged; /* that were made one with the next */
	size_t layers; /* removed */
};

/*
 * Removes the layers that no ledger names and no run holds.  `most`: if not 0, first drops from each workspace the
 * points that were undone (neither its head nor a checkpoint stands on them), and merges the oldest of those that are
 * left where more than so many lie beneath its head.  A workspace that is in use is passed over.
 */
int rf_sweep(size_t most, struct rf_swept *ret_swept, struct rf_err *err);

/* Which points stand beneath the head or a checkpoint; `keeps` has a place for each. */
void rf_sweep_mark(const struct rf_ledger *ledger, bool *keeps);

/*
 * Where more than `most` points were undone, forgets the oldest of those until there are three quarters of that.  Returns how
 * many; the ledger is the caller's to save.
 */
size_t rf_sweep_undone(struct rf_ledger *ledger, size_t most);

#endif
