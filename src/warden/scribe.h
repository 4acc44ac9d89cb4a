/*
 * A warden's line to the watcher: what is to be recorded, and what is to be asked, without ever waiting.
 *
 * A warden has one thread, and a watcher may be busy, stopped or dead.  So a note is sent and its answer comes on
 * the loop, or after RF_SCRIBE_WAIT_MS the news that there is none; meanwhile everybody else is served.  A watcher
 * that is late counts as none from then on, until it is heard of again.
 *
 * What nobody waits for (the end of a run) is kept until a watcher has it: the one that is late, or the next one,
 * which is looked for now and then.  A note that a watcher took away with it unanswered is sent again to the next one, and may
 * then be in the log twice.
 */
#ifndef RF_WARDEN_SCRIBE_H
#define RF_WARDEN_SCRIBE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "wire/wire.h"

#define RF_SCRIBE_WAIT_MS 2000 /* that a watcher has to answer */

struct rf_scribe;
struct rf_scribe_note; /* one that was sent, or is to be */

/* `answer`: what the watcher says, "" for "written"; or NULL, and `why` says why there is none. */
typedef void rf_scribe_fn(void *data, const char *answer, const struct rf_err *why);

int rf_scribe_new(struct rf_loop *loop, struct rf_scribe **ret_scribe, struct rf_err *err);

/* Gives what is left a last moment, then forgets it.  Accepts NULL. */
void rf_scribe_free(struct rf_scribe *scribe);

/* Connects, if need be.  -ENOENT, -ECONNREFUSED: no watcher stands; -ETIMEDOUT: the last question is still open. */
int rf_scribe_reach(struct rf_scribe *scribe, struct rf_err *err);

/* The same for what does not wait for an answer: fails, too, where the loop has yet to hear that the watcher is gone. */
int rf_scribe_demand(struct rf_scribe *scribe, struct rf_err *err);

/* Which connection it is: another one is to another watcher, perhaps.  0: there is none. */
uint64_t rf_scribe_era(const struct rf_scribe *scribe);

/*
 * Sends a TELL or an ASK with that body (takes what is in it).  `fn` is called once, from the loop, never from
 * here; NULL: nobody waits.  `ret_note` (or NULL) is good until then.  Fails only when memory or room is gone.
 */
int rf_scribe_say(struct rf_scribe *scribe, enum rf_wire_type type, struct rf_buf *body,
		  rf_scribe_fn *fn, void *data, struct rf_scribe_note **ret_note,
		  struct rf_err *err);

/*
 * Shows a box that lives (audit/sight.h; takes what is in it), by a pidfd and a hand on its network or -1 (both borrowed).  Nobody
 * waits for that.
 */
int rf_scribe_show(struct rf_scribe *scribe, struct rf_buf *sight, int pidfd, int hand,
		   struct rf_err *err);

/* Nobody waits for it any more: its `fn` is not called, and another watcher need not have it. */
void rf_scribe_drop(struct rf_scribe_note *note);

/* True if somebody waits for an answer. */
bool rf_scribe_is_awaited(const struct rf_scribe *scribe);

#endif
