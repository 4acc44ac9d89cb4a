/*
 * The steward in a watcher's process: gives it the clocks and a random key, has recorded what it
 * notes, and keeps its state in a file.
 *
 * A state that can't be read is set aside and told of in the log; the watcher begins with all breakers
 * closed then, and nothing spent.  It is written at once when a breaker changes, and else at most
 * once a second, so a kill -9 costs the count of the last second and no open breaker.
 */
#ifndef RF_WATCH_KEEPER_H
#define RF_WATCH_KEEPER_H

#include "base/err.h"
#include "watch/watcher.h"

#define RF_KEEPER_FOLDER "watch" /* in $STATE */

struct rf_keeper;

/*
 * Takes the folder `dir` that the state lies in, a program to be told of alarms or NULL (watch/hook.h), and what the watcher was started
 * with (watch/settings.h); borrows all of them.  Gives `*ret_keeper`.
 */
int rf_keeper_new(int dir, const char *hook, const char *settings, struct rf_keeper **ret_keeper,
		  struct rf_err *err);

/* Saves the state.  Accepts NULL. */
void rf_keeper_free(struct rf_keeper *keeper);

/* What the watcher calls (borrowed). */
const struct rf_watcher_guest *rf_keeper_guest(const struct rf_keeper *keeper);

#endif
