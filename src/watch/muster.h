/*
 * The muster: runs that are under way as far as the log says, and who is to tell of their end.
 *
 * A run belongs to the connection that told of its start.  Where that ends, its launcher may still live and tell of
 * the end on another one, or it is dead: the muster holds it by a pidfd, and when that says that it is gone the run is
 * lost.  A watcher that begins reads the log back to where the one before it began, and does the same for every
 * run that has no end there.  So each run that was recorded has an end in the log, whoever was killed, and only one: whoever
 * was not answered tells it again, and a muster remembers the last ends.
 */
#ifndef RF_WATCH_MUSTER_H
#define RF_WATCH_MUSTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/event.h"
#include "base/err.h"
#include "base/loop.h"

#define RF_MUSTER_ADOPTED                                                                          \
	"adopted" /* the verdict of a `recovery`: a run that goes on under another watcher */

#define RF_MUSTER_ENDS 512

struct rf_muster_run {
	char box[33], agent[65], program[65], tenant[65];
	pid_t pid;         /* of its launcher */
	uint64_t since_ns; /* since 1970: when it was told of */
};

struct rf_muster;

/* `on_lost` is called for a run whose launcher is gone; it is forgotten then. */
int rf_muster_new(struct rf_loop *loop,
		  void (*on_lost)(void *data, const struct rf_muster_run *run), void *data,
		  struct rf_muster **ret_muster, struct rf_err *err);
void rf_muster_free(struct rf_muster *muster);

/* An event was recorded that `teller` told; NULL: it is read in the log.  Other kinds than of runs are passed over. */
void rf_muster_hear(struct rf_muster *muster, const struct rf_audit_event *event,
		    const void *teller);

/*
 * True if `teller`, which is the process `pid`, told of that box, and not of its end.  One that told another watcher so has
 * come back with it.
 */
bool rf_muster_has(struct rf_muster *muster, const char *box, const void *teller, pid_t pid);

/*
 * True if the end of that box is recorded: whoever had no answer to it tells it again.  The last RF_MUSTER_ENDS are known, and those of the part of the
 * log that was read.
 */
bool rf_muster_has_ended(const struct rf_muster *muster, const char *box);

/* Whose box it is, of one that is under way and a server's: a tenant, or NULL. */
const char *rf_muster_tenant(const struct rf_muster *muster, const char *box);

/* The connection of `teller` has ended, which was the process `pid`: as long as that lives, they may go on. */
void rf_muster_leave(struct rf_muster *muster, const void *teller, pid_t pid);

/* What a watcher before this one left. */
struct rf_muster_past {
	pid_t killed; /* its pid, if it did not end in order; or 0 */
};

/* Reads the log in `dir`, before it is opened to be written.  Runs that have no end in it are in the muster then. */
int rf_muster_read(struct rf_muster *muster, int dir, struct rf_muster_past *ret_past,
		   struct rf_err *err);

/* Holds each of those by its launcher: `on_kept` is called for one that lives, `on_lost` for others. */
void rf_muster_take_over(struct rf_muster *muster,
			 void (*on_kept)(void *data, const struct rf_muster_run *run));

#endif
