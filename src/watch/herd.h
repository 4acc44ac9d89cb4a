/*
 * All processes of a box, seen from outside: who they are, and a signal to every one of them.
 *
 * Its pid 1 is held by a pidfd, which somebody brought who is its parent; everything else the kernel is
 * asked for.  Who gets a signal is held by a pidfd, too, and seen to be in the box while it is: a number that
 * went to somebody else meanwhile is never signalled.
 */
#ifndef RF_WATCH_HERD_H
#define RF_WATCH_HERD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define RF_HERD_MOST 4096 /* processes that are looked at */

enum rf_herd_group {
	RF_HERD_UNIFIED, /* version 2: all in one */
	RF_HERD_MEMORY,  /* version 1 from here on */
	RF_HERD_PIDS,
	RF_HERD_CPUACCT,
	RF_HERD_GROUPS
};

struct rf_herd {
	int pidfd;                  /* of pid 1, or -1 */
	pid_t init;                 /* its number, outside */
	uint64_t space;             /* the box's own pid namespace; 0: it has none */
	int groups[RF_HERD_GROUPS]; /* the folders of the box's own cgroups, or -1 */
};

void rf_herd_init(struct rf_herd *herd);
void rf_herd_done(struct rf_herd *herd);

/*
 * Takes the pidfd (on success) of the pid 1 of the box with this id.  Fails with -EPERM if that is not a child
 * of `parent`, or is not the first of a pid namespace of its own where `is_lesser` does not say so.
 */
int rf_herd_open(struct rf_herd *herd, int *pidfd, pid_t parent, const char *box, bool is_lesser,
		 struct rf_err *err);

/* True while pid 1 is not dead. */
bool rf_herd_is_alive(const struct rf_herd *herd);

/* True if pid 1 is still the child of `parent`: else that has ended. */
bool rf_herd_is_child(const struct rf_herd *herd, pid_t parent);

/* The processes, pid 1 among them, at most RF_HERD_MOST; gives how many. */
size_t rf_herd_list(const struct rf_herd *herd, pid_t *pids);

/*
 * Stops every process, until none is left that runs, or some milliseconds have passed: then false, and it is to be
 * called again.  Whoever is stopped can't wake the others; a timer of its own may wake it: see rf_herd_turns().
 */
bool rf_herd_stop(const struct rf_herd *herd);

/* True if none of them runs. */
bool rf_herd_is_stopped(const struct rf_herd *herd);

/*
 * How often their threads were given a processor, in all: the same figure as before means that nobody ran or ended in
 * between.  0 where the kernel's freezer holds them, which nothing of theirs can undo.
 */
uint64_t rf_herd_turns(const struct rf_herd *herd);

/* Lets all of them go on. */
void rf_herd_continue(const struct rf_herd *herd);

/* Kills all of them, stopped or not. */
void rf_herd_kill(const struct rf_herd *herd);

/* The folder of the box's own group in a hierarchy, by the text of /proc/PID/cgroup; "" if it has none there. */
void rf_herd_path(const char *text, const char *controller, const char *box, bool is_pure,
		  char *path, size_t size);

#endif
