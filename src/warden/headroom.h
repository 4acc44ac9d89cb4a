/*
 * Whether this machine has memory for one more box, so that boxes never drive it into the kernel's OOM killer.
 *
 * A box counts for what it uses, and at least for a reserve, since it has just begun or may wake up.  What it uses is gone from MemAvailable
 * already; what it lacks up to the reserve is kept free.  A margin is left to the machine.
 */
#ifndef RF_WARDEN_HEADROOM_H
#define RF_WARDEN_HEADROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct warden;

/* Pure: `lacking` is what all boxes that live lack up to the reserve, together. */
bool rf_headroom_fits(uint64_t available, uint64_t margin, uint64_t reserve, uint64_t lacking);

/* MemAvailable of a text as /proc/meminfo has it, in bytes; UINT64_MAX if it is not there. */
uint64_t rf_headroom_read(const char *meminfo);

/* 0, or -EDQUOT: by what the owner said (struct rf_wire_own). */
int rf_headroom_check(struct warden *warden, struct rf_err *err);

#endif
