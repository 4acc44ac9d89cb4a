/*
 * A box of the kernel's steps alone, for bench/floor.c to measure.
 *
 * What a box of Ringfort's asks of the kernel is asked here in the cheapest way that is known, and nothing else is done: no
 * request, no policy, no proof, no record, no result, no second look.  Nothing of src/ takes part but the numbers of the
 * system calls.  A step that fails ends the program: a box that lacks one would be measured too cheap.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FLOOR_STEPS 24 /* room for the times of one box */

/* What all boxes of a process have in common. */
struct floor_plan {
	const char *const *argv;
	bool has_loopback; /* the network namespace of each box has a loopback that is up */
	bool is_ahead;     /* pid 1 waits to be told before it starts the program */
	bool is_alone; /* the only box: it makes its root itself, and has our standard streams */
};

struct floor_box {
	pid_t pid;
	int pidfd, wake;
	int mounts; /* holds its mount namespace: the kernel dissolves it when this is closed */
	char name[64];
	uint64_t at_ns[FLOOR_STEPS]; /* when each step was over; 0: there was none */
};

uint64_t floor_now_ns(void);
_Noreturn void floor_die(const char *what);
void floor_must(long result, const char *what); /* dies of a negative one */

/* What each of at_ns is, or NULL beyond the last. */
const char *floor_step(unsigned i);

/* --- floor-group.c: control groups, named after `owner`, the process that sweeps them up --- */

void floor_group_open(pid_t owner);
void floor_group_name(char *name, size_t size, unsigned worker, unsigned number);
void floor_group_make(const char *name);
void floor_group_enter(const char *name); /* in the child */
int floor_group_unified(
	const char *name); /* where there is one for all: a descriptor to be born into; else -1 */
void floor_group_remove(const char *name);
/* Ends what is still in groups of ours and of those who did not live to do it, and removes them. */
void floor_group_sweep(void);

/* --- floor-root.c, floor-rules.c: what is the same in every box --- */

#define FLOOR_WORK "/work" /* where a box has the current directory */

/*
 * Makes the boxes' root the one of this mount namespace.  With `has_work` it has the current directory, too, for each box
 * to get an idmapped copy of, which only the mount namespace can make that it is in.
 */
void floor_root_build(bool has_work);
/* Opens what the rules are on, in that root. */
void floor_rules_open(int init);
void floor_rules_enforce(bool has_loopback); /* in the child */

/* --- floor-box.c --- */

/* Once in a process, before its first box; afterwards it lives in the boxes' root. */
void floor_prepare(const struct floor_plan *wanted);
/* Up to the exec of pid 1. */
void floor_start(struct floor_box *box, unsigned worker, unsigned number);
void floor_wake(struct floor_box *box);
/* Until pid 1 is reaped.  Gives its status. */
int floor_wait(struct floor_box *box);
/* What nobody waits for: its mounts and groups. */
void floor_done(struct floor_box *box);

#endif
