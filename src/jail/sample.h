/*
 * The sampler: what a box uses, seen from outside without a cgroup.
 *
 * Walks the processes beneath pid 1 in /proc.  A look costs tens of microseconds for a handful of
 * processes.  Memory is what would be gone if the box were not there: private and shared anonymous
 * pages by their share (PSS), page tables, and the scratch file system, of which a mapped file counts
 * twice.  What only the kernel sees (buffers of pipes and sockets) is missed; memory that could hide
 * there altogether (memfds, System V) is refused by the filter of such a box.
 *
 * A process can make itself unreadable (PR_SET_DUMPABLE, or a program that it may run and not read).  What it wrote is then taken for
 * the most that it can have written in its processor time: far too much for one that works, and little for one that sleeps.  One that
 * has ended is closed to us, too, until it is waited for, which adds it to what its parent wrote: so it counts only after a while.
 */
#ifndef RF_JAIL_SAMPLE_H
#define RF_JAIL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rf_sample {
	uint64_t memory_bytes;
	uint64_t cpu_ns;
	uint64_t pids;          /* processes and threads, pid 1 not counted */
	uint64_t disk_bytes;    /* in the scratch file system; they count as memory, too */
	uint64_t written_bytes; /* to disks, those who ended and were waited for included */
	bool is_init_closed;    /* what pid 1 waited for is not in it: it does not let us look */
};

/*
 * What was seen at the last look, and what each process had computed until then.  Who has not computed since has
 * taken no memory, written nothing and made no process: so a box that sleeps is looked at by its processes'
 * clocks alone, at a hundredth of the price.
 *
 * That is good only if all of them are known, and a walk can miss one: who has made another and is gone before it is looked at has
 * left it to a parent whose list was read already.  So two walks must have found the same, clocks and all, with nobody gone: who was
 * missed by the first is in the list by the second.  Begins as zeros.
 */
#define RF_SAMPLE_KNOWN 16 /* a box with more of them is looked at as a whole */

struct rf_sample_memo {
	struct {
		pid_t pid;
		uint64_t own_ns;
	} known[RF_SAMPLE_KNOWN];
	size_t count;
	bool is_whole;   /* all that were listed were there, and had memory */
	bool is_trusted; /* and the walk before this one found the same */
	struct rf_sample sample;
};

/* Processes that have ended and are not waited for, and since when.  Begins as zeros. */
#define RF_SAMPLE_ENDED 64 /* more than so many count at once */

struct rf_sample_ended {
	struct {
		pid_t pid;
		uint64_t since_ns;
		uint64_t parent_ns; /* what its parent had computed then */
		bool is_seen;       /* by the walk that is under way */
	} items[RF_SAMPLE_ENDED];
};

/* How a box is looked at. */
struct rf_sample_look {
	pid_t init;       /* its pid 1 */
	bool has_scratch; /* a file system in memory, at /tmp */
	struct rf_sample_ended
		*ended; /* of earlier looks, where written_bytes is wanted (borrows); or NULL */
	uint64_t
		exact_above; /* exact memory costs more: up to so many bytes an upper bound will do */
	struct rf_sample_memo *memo; /* of earlier looks with the same words (borrows), or NULL */
};

void rf_sample_take(const struct rf_sample_look *look, struct rf_sample *ret_sample);

/* The processes of a box, pid 1 first.  Gives `*ret_pids`, to be freed; returns how many, or 0 when memory is gone or they are too many. */
size_t rf_sample_list(pid_t init, pid_t **ret_pids);

#define RF_SAMPLE_EVERY  10000000ull  /* nanoseconds between two looks */
#define RF_SAMPLE_SELDOM 100000000ull /* where nothing can happen sooner */

/*
 * How long a box that lives for `age_ns` and may have `left_bytes` more can go without a look: as long as all processors
 * together need to fill that.  Pure.  A young one is looked at as often as ever: what it used is told afterwards.
 */
uint64_t rf_sample_pause(uint64_t left_bytes, uint64_t age_ns, unsigned processors);

#endif
