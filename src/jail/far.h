/*
 * A box that a warden keeps: what life.h is to a box of our own.
 *
 * The streams are pipes of ours either way, so whoever moves them need not know the difference.
 */
#ifndef RF_JAIL_FAR_H
#define RF_JAIL_FAR_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "jail/box.h"
#include "result/result.h"
#include "wire/errand.h"

struct rf_outward;

#define RF_FAR_START_MS 20000 /* that a warden has to start a run, or to refuse it */

struct rf_far {
	int fd;                      /* the connection; borrowed */
	struct rf_result *result;    /* borrowed */
	void (*on_exit)(void *data); /* it is over, and the result says how */
	void *data;
	struct rf_outward *
		outward; /* the way out that was asked for it, which goes to the warden; or NULL; borrowed */
	struct rf_event *event, *patience; /* until the warden says that it has started */
	bool has_exited;
	/* What the warden is to be told, and could not be yet: its socket is full. */
	uint64_t signals; /* a bit each, as the kernel holds them */
	bool is_end_due;
	enum rf_limit end_for;
};

/*
 * Asks for the run (borrows the errand) and leaves our ends of its streams in box->stdio.  The result
 * is filled when on_exit() is called, but for the output.
 */
int rf_far_start(struct rf_far *far, struct rf_box *box, struct rf_loop *loop,
		 const struct rf_errand *errand, struct rf_err *err);

void rf_far_signal(struct rf_far *far, int signal);

/* Kills it, for a limit or (RF_LIMIT_COUNT) for none. */
void rf_far_end(struct rf_far *far, enum rf_limit limit);

#endif
