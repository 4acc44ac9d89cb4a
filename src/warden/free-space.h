/*
 * Free space of the disk that tenants' workspaces lie on, watched while boxes write there.
 *
 * Keys, log and register lie on the same disk: full, it would leave nothing recorded, and so nothing begun.  Each box has its own
 * limits.disk, and many together can still fill a disk that others fill, too.  So below a margin the box that wrote most of late is
 * ended, as if it had reached that limit; and the next one when as much again as an eighth of the margin is gone.
 */
#ifndef RF_WARDEN_FREE_SPACE_H
#define RF_WARDEN_FREE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

#define RF_FREE_SPACE_MARGIN (64ull << 20) /* bytes, where the owner says nothing */

struct warden;

/* Zeros at first. */
struct rf_free_space {
	struct rf_event *timer; /* or NULL: no box has a workspace */
	uint64_t noted_ns;      /* when it was last noted who writes */
	uint64_t stopped_at;    /* what was left when a box was ended; 0: none was, of late */
	bool is_ending;         /* one that was ended was not gone at the last look */
};

/* What is to be left of the disk, by the owner's word (struct rf_wire_own). */
uint64_t rf_free_space_margin(const struct warden *warden);

/* A box with a workspace begins. */
void rf_free_space_begin(struct warden *warden);
void rf_free_space_end(struct warden *warden);

/* Pure: nanoseconds until the margin can be reached; and whether a box is to be ended now. */
uint64_t rf_free_space_pause(uint64_t left, uint64_t margin);
bool rf_free_space_is_due(uint64_t left, uint64_t margin, uint64_t stopped_at);

#endif
