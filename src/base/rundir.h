/*
 * $RUN: where Ringfort keeps what lives no longer than the machine is up.
 *
 * /run/ringfort for root; for others $XDG_RUNTIME_DIR/ringfort, or /run/user/UID/ringfort where that
 * variable is not set.  Of the caller's own, with mode 0700, or it is not used.
 */
#ifndef RF_BASE_RUNDIR_H
#define RF_BASE_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>

#define RF_RUNDIR_OF_ROOT "/run/ringfort"

/* Its path, or false where an ordinary user has no runtime directory. */
bool rf_rundir_path(char *path, size_t size);

/* Opens it, `may_make`: and makes it if need be.  Returns a descriptor or a negative errno. */
int rf_rundir_open(bool may_make);

#endif
