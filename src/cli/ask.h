/* Asks the user's watcher something, for a command that prints or does what it says. */
#ifndef RF_CLI_ASK_H
#define RF_CLI_ASK_H

#include "base/buf.h"
#include "base/err.h"

#define RF_ASK_MOST (4 * 1024 * 1024) /* bytes of an answer */

/*
 * Asks with words, the last of which is NULL; gives the answer in `out`.  -ENOENT and -ECONNREFUSED: no watcher
 * stands, which `without` says ("there are no breakers").
 */
int rf_ask_watcher(const char *const *words, const char *without, struct rf_buf *out,
		   struct rf_err *err);

#endif
