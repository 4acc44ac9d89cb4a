/*
 * What a box uses, right now: from its own cgroups where it has them, else from /proc.
 *
 * Two figures no group keeps.  How many processes were begun: in a pid namespace of the box's own they are
 * numbered one after the other, so the highest number that lives tells, whether the others do or not.  (A
 * lesser box has none: there only those count that are seen.)  How many bytes were written: what processes
 * passed to write(2) and its like; of one that ended the kernel adds it to the parent that waited for it.
 */
#ifndef RF_WATCH_GAUGE_H
#define RF_WATCH_GAUGE_H

#include <stddef.h>
#include <stdint.h>

#include "watch/herd.h"

#define RF_GAUGE_UNKNOWN UINT64_MAX

struct rf_gauge_figures {
	uint64_t memory; /* bytes */
	uint64_t cpu_ns; /* so far */
	uint64_t pids;   /* processes and threads; pid 1 is not counted */
	uint64_t begun;  /* processes so far, pid 1 not counted */
	uint64_t
		refused; /* processes that were one too many, so far; 0 where no group counts them */
	uint64_t written; /* bytes so far */
	uint64_t disk;    /* bytes on its own file system */
};

struct rf_gauge {
	struct rf_gauge_figures last;
	struct rf_gauge_seen *seen; /* of a lesser box: its processes at the last look, in order */
	size_t seen_count;
	uint64_t begun, written; /* summed up */
	enum {
		RF_GAUGE_ASK,
		RF_GAUGE_OWN,
		RF_GAUGE_OTHER
	} disk; /* whether its /tmp is a file system of its own */
};

void rf_gauge_done(struct rf_gauge *gauge);

/* Looks; the figures are in `last`, those that can't be known RF_GAUGE_UNKNOWN. */
void rf_gauge_look(struct rf_gauge *gauge, const struct rf_herd *herd);

#endif
