/*
 * The record of one `ringfort run`: told to the user's watcher, where one stands.
 *
 * What a trial run held back is sent after its end: that is told with the run's id, as the requests of the run itself are.
 *
 * It connects before the command line is read, so that the watcher looks at us meanwhile.  A run in a warden's
 * box is recorded by the warden.
 */
#ifndef RF_CLI_RECORDER_H
#define RF_CLI_RECORDER_H

#include <stdint.h>

#include "audit/account.h"
#include "audit/teller.h"
#include "cli/request.h"
#include "jail/run.h"

struct rf_recorder {
	struct rf_teller teller;
	const struct rf_request *request; /* borrowed */
	struct rf_outward *outward;       /* the run's way out, or NULL; borrowed */
	struct rf_err why;                /* why there is no watcher */
	char box[17];                     /* of the run that was told of; or "" */
	bool is_shown;                    /* that watcher knows the box */
	uint64_t told_ms;                 /* when it was last told of the network */
	bool is_unwatched;                /* nobody keeps what its policy says of breakers */
	struct rf_account account; /* what the watcher and its gateway are to know of each other */
	bool is_kept;              /* its start is known to be in the log */
	bool is_late;              /* the watcher did not answer in time */
	bool has_books;            /* the gateway goes by the watcher's */
	bool is_far;               /* a warden records it */
	bool is_release;           /* what is sent after a run */
	size_t request_count;      /* requests that the gateway told of */
	/* Called before the end is told, for who has more to tell of the run; or NULL. */
	void (*on_last)(void *data, struct rf_recorder *recorder, const struct rf_result *result);
	void *last_data;
};

void rf_recorder_init(struct rf_recorder *recorder);
void rf_recorder_done(struct rf_recorder *recorder);

/* Sees to it that `options` has the run told of before it starts, as its plan wants. */
void rf_recorder_attend(struct rf_recorder *recorder, const struct rf_request *request,
			struct rf_run_options *options);

/*
 * The same for the requests of the run `box` that were held back, and are to be sent through `outward` (borrows both).  With
 * `audit: required`, or budgets and the like, it fails where no watcher stands.
 */
int rf_recorder_attend_release(struct rf_recorder *recorder, const struct rf_request *request,
			       const char *box, struct rf_outward *outward, struct rf_err *err);

/* Before each of them: tells of those before it.  On failure it is not to be sent, since nobody would know of it or count it. */
int rf_recorder_before_send(struct rf_recorder *recorder, struct rf_err *err);

/*
 * At the end: tells the rest.  `failed` (borrows, or NULL) is the request that `err` is about, `index` its place among all; one that
 * the gateway has not told of is told of here.  What can't be told becomes a warning of the result.
 */
void rf_recorder_end_release(struct rf_recorder *recorder, const struct rf_gate_held *failed,
			     size_t index, const struct rf_err *err, struct rf_result *result);

/* Tells how it ended; a failure becomes a warning of the result. */
void rf_recorder_end(struct rf_recorder *recorder, struct rf_result *result);

#endif
