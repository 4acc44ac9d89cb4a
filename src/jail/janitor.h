/*
 * The janitor: cleans up after a launcher that was killed.
 *
 * The box itself dies with its launcher, by the kernel; cgroups and records stay, and nobody would
 * be there to remove them before the next start.  A run that lasts longer than a moment therefore
 * gets a second process, which does nothing but wait for the launcher's end.
 */
#ifndef RF_JAIL_JANITOR_H
#define RF_JAIL_JANITOR_H

#include "jail/box.h"

struct rf_janitor {
	pid_t pid; /* 0: none */
	int life;  /* closed with the launcher */
};

/* Starts one for a box that has something to remove.  A failure to start is no failure of the run. */
void rf_janitor_start(struct rf_janitor *janitor, const struct rf_box *box);

/* Sends it home; the launcher cleans up by itself. */
void rf_janitor_stop(struct rf_janitor *janitor);

/*
 * Starts one for a launcher that stays: when that is gone, all that its boxes left is taken away.
 * Sent home like the other.
 */
void rf_janitor_stand(struct rf_janitor *janitor);

#endif
