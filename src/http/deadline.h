/*
 * Many deadlines on one timer of the loop.
 *
 * Each connection has some, and sets them anew with every step; the loop looks at all of its timers in each round. So these are kept in a heap, of
 * which the loop knows only the first.
 */
#ifndef RF_HTTP_DEADLINE_H
#define RF_HTTP_DEADLINE_H

#include <stddef.h>

#include "base/loop.h"

struct rf_deadlines;

typedef void rf_deadline_fn(void *data);

/* In its owner's storage, who cancels it before that is gone. */
struct rf_deadline {
	struct rf_deadlines *all;
	uint64_t at_ns;  /* when it is looked at: its place in the heap goes by it */
	uint64_t due_ns; /* when it is due, that or later; UINT64_MAX: it was cancelled */
	size_t place;    /* in the heap, from 1; 0: not set */
	rf_deadline_fn *fn;
	void *data;
};

int rf_deadlines_new(struct rf_loop *loop, struct rf_deadlines **ret_all, struct rf_err *err);

/* All deadlines are cancelled before. */
void rf_deadlines_free(struct rf_deadlines *all);

/*
 * Makes a deadline that is not set; -ENOMEM if there is no room for one more.  Room is made here, so that setting it can't
 * fail.  rf_deadline_done() gives it back.
 */
int rf_deadline_init(struct rf_deadline *deadline, struct rf_deadlines *all, rf_deadline_fn *fn,
		     void *data);
void rf_deadline_done(struct rf_deadline *deadline);

/* Calls back once, at `at_ns` of rf_loop_now() or soon after; instead of any time that was set before. */
void rf_deadline_set(struct rf_deadline *deadline, uint64_t at_ns);
void rf_deadline_cancel(struct rf_deadline *deadline);

#endif
