/*
 * Who runs a program in a workspace: noted in its folder by the launcher, for those who find the folder locked.
 *
 * A note says which process and when it was started, so one that was left by somebody who was killed names nobody, whoever
 * has the number now.
 */
#ifndef RF_WORKSPACE_OCCUPANT_H
#define RF_WORKSPACE_OCCUPANT_H

#include "base/err.h"

/* Notes this process in the folder of a workspace that it has locked, and takes the note away. */
int rf_occupant_note(int folder, struct rf_err *err);
void rf_occupant_leave(int folder);

/* Finds who runs there: a pidfd, or -ESRCH if nobody does. */
int rf_occupant_find(int folder);

/*
 * Ends what runs there, as a user at its terminal would, so that what it changed is kept; waits for the end.  Does nothing
 * where nobody runs anything.
 */
int rf_occupant_stop(int folder, const char *name, struct rf_err *err);

#endif
