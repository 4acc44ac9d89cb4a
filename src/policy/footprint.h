/*
 * A footprint: which files a run used, how, and which programs it started.
 *
 * Noted one by one by who watches a run (jail/onlooker.h), each path once with all that was done to it; learn-files.h makes rules of
 * it.  Bounded: what is beyond the bound is counted and not kept, and then nobody takes it for the whole.
 */
#ifndef RF_POLICY_FOOTPRINT_H
#define RF_POLICY_FOOTPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/arena.h"
#include "policy/plan.h"

#define RF_FOOTPRINT_MAX 32768 /* paths */

enum rf_use {
	RF_USE_LOOK = 1 << 0,    /* whether it is there, and what it is */
	RF_USE_READ = 1 << 1,    /* opened; of a folder: its names */
	RF_USE_WRITE = 1 << 2,   /* opened to be written, or its mode, times or length changed */
	RF_USE_MAKE = 1 << 3,    /* of a folder: something in it is made, replaced or removed */
	RF_USE_EXEC = 1 << 4,    /* started as a program */
	RF_USE_LINKS = 1 << 5,   /* of a folder: a link in it was followed */
	RF_USE_FOLDER = 1 << 6,  /* it is one */
	RF_USE_OUTSIDE = 1 << 7, /* the host has it, and the box did not */
};

struct rf_footprint_step {
	const char *path;   /* in the box: absolute, normal; of a program as it was named */
	const char *source; /* OUTSIDE: where it lies on the host; else NULL */
	unsigned how;       /* enum rf_use */
};

struct rf_footprint {
	struct rf_footprint_step *steps; /* in the order in which they were first seen */
	size_t count, room;
	uint32_t *slots; /* a hash of paths: index + 1, or 0 */
	size_t left_out; /* that were too many, or could not be seen */
	bool is_watched; /* somebody notes: an empty one says that nothing was used */
	struct rf_arena *memory;
};

/* True for a place that a policy shows: what every box has, and what is brought along, is nobody's to learn. */
bool rf_footprint_is_granted(const struct rf_place *place);

/* Notes a use (borrows both; `source` may be NULL). */
void rf_footprint_note(struct rf_footprint *footprint, const char *path, const char *source,
		       unsigned how);

void rf_footprint_done(struct rf_footprint *footprint);

#endif
