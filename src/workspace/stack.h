/*
 * A stack of layers, from the top down: what a workspace is at one of its points.
 *
 * The last one is the directory that it lies over.  Each has an id; a layer that is in two stacks has the same in
 * both.
 */
#ifndef RF_WORKSPACE_STACK_H
#define RF_WORKSPACE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RF_STACK_BASE 0 /* the id of the directory */

struct rf_stack {
	int *layers; /* descriptors of folders */
	uint64_t *ids;
	size_t count;
	size_t runs; /* how many of them boxes wrote; the others have what was in the directory */
};

/* Puts a layer (takes) beneath the others. */
int rf_stack_add(struct rf_stack *stack, int layer, uint64_t id, struct rf_err *err);

/* The same for the layer of the pool that is called `name`. */
int rf_stack_add_named(struct rf_stack *stack, int pool, const char *name, struct rf_err *err);

/*
 * Keeps the sweeper from all layers until rf_stack_done(), so that the workspace need not be locked any longer while they
 * are read.  To be called while it still is: nothing but its ledger's names keeps them until then.
 */
int rf_stack_hold(const struct rf_stack *stack, struct rf_err *err);

/* True if somebody holds the layer whose folder of changes `layer` is, so. */
bool rf_stack_is_held(int layer);

void rf_stack_done(struct rf_stack *stack);

#endif
