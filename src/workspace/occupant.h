/*
 * Who runs a program in a workspace: noted in its folder by the launcher, for those who find the folder locked.
 *
 * A note says which process and when it was started, so one that was left by somebody who was killed names nobody, whoever
 * has the number now; and which layer it writes to.  Whoever holds the lock on the note keeps the launcher from ending
 * its run meanwhile.
 */
#ifndef RF_WORKSPACE_OCCUPANT_H
#define RF_WORKSPACE_OCCUPANT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "workspace/pool.h"

/* One that was found, alive; its note is locked. */
struct rf_occupant {
	int note, pidfd;
	pid_t pid;
	char layer[RF_LAYER_ID];
	int top; /* a descriptor of its own, of the folder that has what it changes; or -1: the layer's */
	int64_t began_ns; /* when its run did, on the clock of files */
};

/*
 * Notes this process in the folder of a workspace that it has locked; `top` as in struct rf_occupant.  Returns the note's
 * descriptor.
 */
int rf_occupant_note(int folder, const char *layer, int top, int64_t began_ns, struct rf_err *err);

/* Waits until nobody else holds the note: from then on, until we leave, nobody does. */
void rf_occupant_hold(int note);

/* Takes the note away, and closes it. */
void rf_occupant_leave(int folder, int *note);

/* Finds who runs there: a pidfd, or -ESRCH if nobody does. */
int rf_occupant_find(int folder);

/* Finds who runs there, and locks its note.  To be closed in any case.  -ESRCH: nobody does. */
void rf_occupant_init(struct rf_occupant *occupant);
int rf_occupant_open(int folder, struct rf_occupant *ret_occupant, struct rf_err *err);
void rf_occupant_close(struct rf_occupant *occupant);

/*
 * Ends what runs there, as a user at its terminal would, so that what it changed is kept; waits for the end.  Does nothing
 * where nobody runs anything.
 */
int rf_occupant_stop(int folder, const char *name, struct rf_err *err);

#endif
