/*
 * The sampler: what a box uses, seen from outside without a cgroup.
 *
 * Walks the processes beneath pid 1 in /proc.  A look costs tens of microseconds for a handful of
 * processes.  Memory is what would be gone if the box were not there: private and shared anonymous
 * pages by their share (PSS), page tables, and the scratch file system, of which a mapped file counts
 * twice.  What only the kernel sees (buffers of pipes and sockets) is missed; memory that could hide
 * there altogether (memfds, System V) is refused by the filter of such a box.
 */
#ifndef RF_JAIL_SAMPLE_H
#define RF_JAIL_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rf_sample {
	uint64_t memory_bytes;
	uint64_t cpu_ns;
	uint64_t pids;          /* processes and threads, pid 1 not counted */
	uint64_t disk_bytes;    /* in the scratch file system; they count as memory, too */
	uint64_t written_bytes; /* to disks, those who ended and were waited for included */
};

/* How a box is looked at. */
struct rf_sample_look {
	pid_t init;          /* its pid 1 */
	bool has_scratch;    /* a file system in memory, at /tmp */
	bool counts_written; /* wants written_bytes */
	uint64_t
		exact_above; /* exact memory costs more: up to so many bytes an upper bound will do */
};

void rf_sample_take(const struct rf_sample_look *look, struct rf_sample *ret_sample);

#define RF_SAMPLE_EVERY  10000000ull  /* nanoseconds between two looks */
#define RF_SAMPLE_SELDOM 100000000ull /* where nothing can happen sooner */

/*
 * How long a box that lives for `age_ns` and may have `left_bytes` more can go without a look: as long as all processors
 * together need to fill that.  Pure.  A young one is looked at as often as ever: what it used is told afterwards.
 */
uint64_t rf_sample_pause(uint64_t left_bytes, uint64_t age_ns, unsigned processors);

#endif
