/*
 * Programs that run in the background of a sandbox: what they write is kept, up to a point, for who asks; they are written to, and signalled.
 *
 * They belong to the front: when it dies, their streams end, and what they wrote is gone.  The programs themselves are the sandbox's.
 */
#ifndef RF_SERVER_BACKGROUND_H
#define RF_SERVER_BACKGROUND_H

#include "server/front.h"

struct rf_background;

/* Starts what a call orders, in the sandbox that it names; the call is answered when it runs, or can't be run. */
void rf_background_start(struct rf_api_call *call);

/* The one that a call names by sandbox and number, if it is its tenant's; else that is answered, and NULL given. */
struct rf_background *rf_background_find(struct rf_api_call *call);

/* What it is: running or ended, and with what result. */
void rf_background_describe(const struct rf_background *program, struct rf_buf *out);

/*
 * Writes what it wrote from `cursor` on; true if that is something, or nothing more will come.  A cursor counts the bytes of both streams; what is
 * older than what is kept is left out, and its length told.
 */
bool rf_background_read(const struct rf_background *program, uint64_t cursor, struct rf_buf *out);

/* Calls `fn` once, when there is more to read or it has ended. */
void rf_background_await(struct rf_background *program, struct rf_api_call *call,
			 void (*fn)(struct rf_api_call *call));

/* Writes to its standard input (all or nothing: -EAGAIN), and ends that. */
int rf_background_write(struct rf_background *program, const void *data, size_t len, bool is_last,
			struct rf_err *err);
int rf_background_signal(struct rf_background *program, int signal, struct rf_err *err);

/* Forgets all; those that run are ended. */
void rf_background_free_all(struct rf_front *front);

#endif
