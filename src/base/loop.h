/*
 * One loop drives a process.
 *
 * Descriptors, timers and signals are all events with a callback and a handle that changes or
 * cancels it.  Single-threaded; a callback may add, change and cancel any event, its own included.
 */
#ifndef RF_BASE_LOOP_H
#define RF_BASE_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct rf_loop;
struct rf_event;

enum {
	RF_LOOP_READ = 1,
	RF_LOOP_WRITE = 2,
	RF_LOOP_HANGUP = 4
};

/* `what` holds RF_LOOP_* bits for a descriptor, the signal's number, or 0 for a timer. */
typedef void rf_event_fn(void *data, int what);

int rf_loop_new(struct rf_loop **ret_loop, struct rf_err *err);
void rf_loop_free(struct rf_loop *loop);

/*
 * For a loop that waits often with the same timer before it, as one that serves requests and has told that it will do something soon: the
 * timer is told to the kernel once, and not with each wait, which makes the kernel set the processor's own timer and take it back; in a virtual machine
 * either may leave the guest.  Costs a descriptor.  To be called once, before anything is given up.
 */
int rf_loop_keep_clock(struct rf_loop *loop, struct rf_err *err);

/*
 * Watches `fd` (borrows) for `want` (RF_LOOP_READ, RF_LOOP_WRITE, or 0 to pause; hang-ups and
 * errors are always told).  A regular file counts as always ready.
 */
int rf_loop_watch(struct rf_loop *loop, int fd, int want, rf_event_fn *fn, void *data,
		  struct rf_event **ret_event, struct rf_err *err);
void rf_event_want(struct rf_event *event, int want);

/* Calls back once at `at_ns` of CLOCK_MONOTONIC; rf_event_again() sets it anew. */
int rf_loop_timer(struct rf_loop *loop, uint64_t at_ns, rf_event_fn *fn, void *data,
		  struct rf_event **ret_event, struct rf_err *err);
void rf_event_again(struct rf_event *event, uint64_t at_ns);

/* Calls back for each signal in `set`, which the caller has blocked. */
int rf_loop_signals(struct rf_loop *loop, const sigset_t *set, rf_event_fn *fn, void *data,
		    struct rf_err *err);

/* Stops the event and forgets it; accepts NULL.  The descriptor stays open. */
void rf_event_cancel(struct rf_event *event);

/* Runs until rf_loop_stop(). */
int rf_loop_run(struct rf_loop *loop, struct rf_err *err);
void rf_loop_stop(struct rf_loop *loop);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t rf_loop_now(void);

/* The same as it was when this turn of the loop began, for what need not be exact; outside of one, now. */
uint64_t rf_loop_turn(void);

#endif
