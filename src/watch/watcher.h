/*
 * The watcher: keeps the audit log, for every process of its user that has something to tell.
 *
 * One process, one loop, and a thread that does nothing but wait for the disk.  An event is acknowledged when it
 * is written: then no death of a process loses it.  The disk is synced every RF_WATCHER_SYNC_MS: a loss of
 * power takes at most what came since.  Each client is heard in turn, some packets at a time, and waits for its
 * answers: one that floods the watcher fills its own socket and nobody else's.
 *
 * What it can't keep it says so, and whoever must be recorded is not run.  A client that goes away without
 * having told of the end of a run is told of in its place.
 */
#ifndef RF_WATCH_WATCHER_H
#define RF_WATCH_WATCHER_H

#include <stdint.h>
#include <sys/types.h>

#include "audit/event.h"
#include "audit/store.h"
#include "base/buf.h"
#include "base/err.h"

#define RF_WATCHER_SYNC_MS 50
#define RF_WATCHER_SIGN_MS 1000
#define RF_WATCHER_ANCHORS 4

struct rf_watcher_options {
	int listener; /* a socket of packets; borrowed */
	int owner;    /* whose end is ours, once nobody is connected any more; or -1; borrowed */
	struct rf_store_options store;           /* its on_head is the watcher's own */
	const char *anchors[RF_WATCHER_ANCHORS]; /* where heads are told; or NULL */
};

struct rf_watcher; /* one that runs */
struct rf_loop;
struct rf_sight;

/* What reads along, in the watcher's own process: after an event is written, and when somebody asks. */
struct rf_watcher_guest {
	/* Before anybody is heard: on this loop it may have timers of its own.  May be NULL. */
	int (*on_begin)(void *data, struct rf_watcher *watcher, struct rf_loop *loop,
			struct rf_err *err);
	/* Nobody is heard any more, and the log is still open.  May be NULL. */
	void (*on_finish)(void *data);
	/* Borrows the event; may add others with rf_watcher_note(). */
	void (*on_event)(void *data, struct rf_watcher *watcher,
			 const struct rf_audit_event *event);
	/* Answers words that it knows: 1 and an answer in `out`, 0 if it does not know them, or an error. */
	int (*on_ask)(void *data, struct rf_watcher *watcher, pid_t asker, const char *const *words,
		      size_t count, struct rf_buf *out, struct rf_err *err);
	/* Who told of a box shows it, by a pidfd of its pid 1, and a hand on its network or -1 (to be taken).  May be NULL. */
	int (*on_sight)(void *data, struct rf_watcher *watcher, pid_t teller,
			const struct rf_sight *sight, int *pidfd, int *hand, struct rf_err *err);
	void *data;
};

/* Serves until SIGTERM, SIGINT or SIGHUP; or until its owner is gone, and all who tell it something are.  `guest` may be NULL. */
int rf_watcher_serve(const struct rf_watcher_options *options, const struct rf_watcher_guest *guest,
		     struct rf_err *err);

/* How long the oldest record has waited that is not on the disk yet; 0: all are. */
uint64_t rf_watcher_lag_ns(const struct rf_watcher *watcher);

/* Records an event of the watcher's own. */
int rf_watcher_note(struct rf_watcher *watcher, const struct rf_audit_event *event,
		    struct rf_err *err);

#endif
