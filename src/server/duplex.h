/*
 * Bytes between two connections, both ways and untouched: what a WebSocket to a port of a sandbox becomes.
 *
 * Each way slows down when its reader does.  The end of one side is passed on; when both have ended, or one is broken, it is over.
 */
#ifndef RF_SERVER_DUPLEX_H
#define RF_SERVER_DUPLEX_H

#include "http/deadline.h"
#include "http/stream.h"

struct rf_duplex;

/* All of one process. */
struct rf_duplex_host {
	struct rf_duplex *first;
	size_t count;
};

/* Makes one whose two streams are then moved to (rf_exchange_take(), rf_call_take()), with rf_duplex_on_event() and it as their owner.  `tag` is the caller's. */
int rf_duplex_new(struct rf_duplex_host *host, struct rf_deadlines *deadlines, void *tag,
		  struct rf_duplex **ret_duplex, struct rf_err *err);
struct rf_stream *rf_duplex_stream(struct rf_duplex *duplex, int side);
void rf_duplex_on_event(void *duplex, int what);

/* Both streams are there: begins; `fn` is told when it is over, and it is no more. */
void rf_duplex_begin(struct rf_duplex *duplex, void (*fn)(void *data), void *data);

/* Ends it; nobody is told.  Streams that are not there are no matter. */
void rf_duplex_free(struct rf_duplex *duplex);

/* Ends those whose tag is this one; NULL: all.  Each is told as over. */
void rf_duplex_end(struct rf_duplex_host *host, const void *tag);

#endif
