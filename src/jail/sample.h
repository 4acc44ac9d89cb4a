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
	uint64_t written_bytes; /* to disks, those who ended and were waited for included */
};

/*
 * Looks at the box whose pid 1 is `init`.  Exact memory costs more, so below `exact_above` bytes
 * of resident memory an upper bound will do.
 */
void rf_sample_take(pid_t init, bool has_scratch, uint64_t exact_above,
		    struct rf_sample *ret_sample);

#endif
