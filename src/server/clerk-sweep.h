/*
 * What a clerk that was killed has left of workspaces: half-made ones, such as were being taken away, and sums that were being written.
 *
 * Only names that clerks give are looked at, and no link is followed.  Who may still be working on one is another clerk (the one of a server that was killed a moment ago, that of
 * `ringfort mcp`): each has a shared lock on the folder of tenants for as long as it lives, and who finds itself alone sweeps.
 */
#ifndef RF_SERVER_CLERK_SWEEP_H
#define RF_SERVER_CLERK_SWEEP_H

#define RF_CLERK_SWEEP_NEW  ".new-"  /* before a number of 16 digits: is being made */
#define RF_CLERK_SWEEP_GONE ".gone-" /* the same: is being taken away */

/* Takes the lock, for good, and sweeps where nobody else is there: what is found is taken away by a thread, so nobody waits for it. */
void rf_clerk_sweep_begin(void);

#endif
