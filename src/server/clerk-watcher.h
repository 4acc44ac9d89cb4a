/*
 * The clerk's line to the watcher.
 *
 * Who has the keys connects and hands it over: the clerk itself has given up what a watcher wants to see proven.  One question at a time, of
 * whatever thread; a line that broke is none until another is brought.
 */
#ifndef RF_SERVER_CLERK_WATCHER_H
#define RF_SERVER_CLERK_WATCHER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Takes a connection in place of the one that there was. */
void rf_clerk_watcher_take(int *fd);

/* Asks with words; gives the answer in `out`, ended by a NUL that does not count.  -EHOSTDOWN: no watcher stands. */
int rf_clerk_watcher_ask(const char *const *words, size_t count, struct rf_buf *out,
			 struct rf_err *err);

/* Tells of an event (borrows), and waits until it is written.  The same; on failure `*ret_is_said`: it may be written nevertheless, or later. */
struct rf_audit_event;
int rf_clerk_watcher_tell(const struct rf_audit_event *event, bool *ret_is_said,
			  struct rf_err *err);

#endif
