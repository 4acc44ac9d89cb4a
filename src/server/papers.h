/*
 * Who a server is, for clients that want it proven: its certificate, key, and the authority of its clients, as files that were named to it.
 *
 * Read and checked as a whole, at the start and whenever it is asked to; what is wrong then changes nothing.
 */
#ifndef RF_SERVER_PAPERS_H
#define RF_SERVER_PAPERS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct rf_papers_paths {
	const char *certificate, *key; /* both, or neither */
	const char *clients;           /* whose certificate a client needs; or NULL */
};

/* Whether there are any. */
bool rf_papers_are_named(const struct rf_papers_paths *paths);

/* Reads and checks them; `message` has what the front is told of them then (pass.h), to be ended with rf_papers_done() in any case. */
int rf_papers_read(const struct rf_papers_paths *paths, struct rf_buf *message, struct rf_err *err);

/* Nothing of a key is left in memory. */
void rf_papers_done(struct rf_buf *message);

#endif
