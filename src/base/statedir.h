/*
 * $STATE: where Ringfort keeps what outlives the machine's being up.
 *
 * /var/lib/ringfort for root; for others $XDG_STATE_HOME/ringfort, or .local/state/ringfort in the home
 * that the list of users names.  Of the caller's own, with mode 0700, or it is not used.
 */
#ifndef RF_BASE_STATEDIR_H
#define RF_BASE_STATEDIR_H

#include <stdbool.h>
#include <stddef.h>

#define RF_STATEDIR_OF_ROOT "/var/lib/ringfort"

/* Its path, or false where an ordinary user has no home. */
bool rf_statedir_path(char *path, size_t size);

/* Opens it, `may_make`: and makes it, and what leads to it, if need be.  Returns a descriptor or a negative errno. */
int rf_statedir_open(bool may_make);

/* The same for a folder of it, which is made with mode 0700. */
int rf_statedir_open_in(const char *name, bool may_make);

#endif
