/*
 * What the files of pid 1 share: how a process is made, becomes a program, and what is said of it.
 */
#ifndef RF_INIT_INIT_H
#define RF_INIT_INIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "init/orders.h"

/* What to start, and under which conditions. */
struct init_start {
	struct rf_orders orders;
	char *const *argv, *const *env;
	const char *workdir;
	uint32_t umask;
	uint32_t number; /* of the program in a kept box, or 0 */
	int fds[4];      /* there: its streams and maybe itself, as they came; count in fd_count */
	int fd_count;
};

_Noreturn void init_leave(int code);

/* True if the launcher will hear of it. */
bool init_report(const struct rf_report *report);

/*
 * Waits for whoever has ended, if somebody has, and gives what it used.  What it wrote to disks the launcher can't always see: the
 * kernel adds it to what pid 1 did, and of that tells nobody but root.  So it is reported, a mebibyte at a time.
 */
struct rusage;
int init_reap(int *ret_status, struct rusage *ret_used);

/* The same for a program that ended, with what is left of the box's own file system. */
void init_report_end(struct rf_report *report, const struct rf_orders *orders);

/* Finds the words of a program in `len` bytes, for `start`; they stay where they are, and there is one at a time. */
int init_lay_words(struct rf_words *words, size_t len, struct init_start *start);

/* Takes the umask and the working directory of those words; says so if that can't be entered. */
int init_settle(const struct init_start *start);

/*
 * A child that shares our memory and runs become(data), while we wait for its exec or its end.  Gives its pid or a
 * negative errno.
 */
long init_make_process(void (*become)(void *), void *data);

/*
 * The same in a box where others run, who may stop it: it is let go on, and killed if that does not help within half a
 * second or so.  Nobody keeps pid 1 waiting for longer.
 */
long init_make_process_among(void (*become)(void *), void *data);

/* The choke point, with a struct init_start: the only place in Ringfort where a program of a box begins. */
void init_become_program(void *data);

/* Who can't wait for the program, or not tell the time, would wait for ever. */
_Noreturn void init_give_up(const struct rf_orders *orders);

uint64_t init_now_ns(const struct rf_orders *orders);

/* What is left until `deadline_ns`; does not come back when it has passed. */
struct timespec init_time_left(uint64_t deadline_ns, const struct rf_orders *orders);

#endif
