/*
 * The cgroup wall: memory, processes and processor share, for the box as a whole.
 *
 * Version 2 and version 1 are equals.  A box gets a group of its own beneath the caller's, so that
 * the caller's limits hold for it too; with version 2 beneath the nearest ancestor that may have
 * children with controllers (a delegated slice of an ordinary user among them).  The groups that it
 * passes on the way do not hold it: the least of their limits becomes the box's own, or `missing` says so.
 * Controllers that can't be had leave their limits to others, and the grades say so.
 */
#ifndef RF_JAIL_CGROUP_H
#define RF_JAIL_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct rf_box;

enum rf_group {
	RF_GROUP_UNIFIED, /* version 2: all controllers in one */
	RF_GROUP_MEMORY,  /* version 1 from here on */
	RF_GROUP_PIDS,
	RF_GROUP_CPU,
	RF_GROUP_CPUACCT,
	RF_GROUP_COUNT
};

/* The least that groups allow which do not hold the box; UINT64_MAX: no limit. */
struct rf_cgroup_limits {
	uint64_t memory_bytes, high_bytes, pids;
	uint64_t cpu_us; /* of RF_CGROUP_PERIOD: see cgroup-limits.h */
	bool is_unknown; /* one of them could not be looked at */
};

#define RF_CGROUP_LIMITS_NONE                                                                      \
	((struct rf_cgroup_limits){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, false })

struct rf_cgroup {
	int dirs[RF_GROUP_COUNT];        /* the box's group, or -1 */
	char paths[RF_GROUP_COUNT][256]; /* its absolute path, or "" */
	int oom;                         /* see rf_cgroup_watch_oom(), or -1 */
	bool has_memory, has_pids, has_cpu, has_cputime;
	struct rf_cgroup_limits passed; /* of the caller's groups that the box does not lie in */
};

/* What the groups counted; a figure that no group has is UINT64_MAX. */
struct rf_cgroup_usage {
	uint64_t memory_peak, cpu_ns, pids_peak;
	uint64_t oom_kills, pids_refused;
};

void rf_cgroup_init(struct rf_cgroup *cgroup);

/* True if the box has a group of its own. */
bool rf_cgroup_is_used(const struct rf_cgroup *cgroup);

/* The wall's two parts: makes and limits the groups; enters them (version 1, or a lesser box: else see box.c). */
int rf_cgroup_raise(struct rf_box *box, struct rf_err *err);
int rf_cgroup_enter(struct rf_box *box, struct rf_err *err);

/*
 * The part of rf_cgroup_raise() that takes long, which others may do (hands.h): makes and limits the
 * groups of version 1.  Leaves errno alone, and touches nothing of the box but its `cgroup`.
 */
void rf_cgroup_make(struct rf_box *box);

/* Asks the kernel whether the calling process is in every group that was made. */
int rf_cgroup_prove(const struct rf_box *box, struct rf_err *err);

void rf_cgroup_usage(const struct rf_cgroup *cgroup, struct rf_cgroup_usage *ret_usage);

/* Processor time so far, or UINT64_MAX where no group counts it. */
uint64_t rf_cgroup_cpu_ns(const struct rf_cgroup *cgroup);

/*
 * Version 1 kills one process when memory runs out; version 2 can be told to kill all of them.  Gives a
 * descriptor (the group keeps it) that can be read once one was killed, or -1: there is nothing to do.
 */
int rf_cgroup_watch_oom(struct rf_cgroup *cgroup);

/*
 * Takes the limit of processor time away from a box that is being killed: dying takes some, of pid 1 first and then of each process, and a small share for many
 * of them would let the others run on for seconds.  Goes by the paths: who is left after a launcher has no descriptors.
 */
void rf_cgroup_let_die(const struct rf_cgroup *cgroup);

/*
 * Removes the groups; their processes are dead, but the kernel may need a moment.  One that can't be
 * removed keeps its path, and rf_cgroup_is_used() says so.
 */
void rf_cgroup_done(struct rf_cgroup *cgroup);

/*
 * Removes one group by its path, killing what is in it: for what a dead launcher left behind.  Returns
 * true if it is gone.
 */
bool rf_cgroup_remove(const char *path);

/* For `doctor`: where a box's groups would lie and what they can do. */
struct rf_cgroup_report {
	int version; /* 2, 1, or 0 for none */
	bool has_memory, has_pids, has_cpu, has_cputime, has_kill;
	char where[256];
	char why_not[192]; /* the first thing that stood in the way, or "" */
};
void rf_cgroup_probe(struct rf_cgroup_report *ret_report);

#endif
