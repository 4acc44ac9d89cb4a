/*
 * A server's warden: found again or started, lost, and left for the next server or ended.
 *
 * Boxes that are kept are the warden's, so what becomes of it becomes of them.  It outlives a server that was killed, for a grace; the next server of the same
 * user's finds it at a socket in $RUN, sees that it is the same program in the same place (wire/peer.h), and owns it from then on.  One that
 * dies takes its boxes along; another is started.
 */
#ifndef RF_SERVER_TENURE_H
#define RF_SERVER_TENURE_H

#include "server/household.h"

/* Finds the one of a server before us, or starts one. */
int rf_tenure_begin(struct landlord *l, struct rf_err *err);

/* Before the server ends: whether it is left for the next one, or ends, too.  The connection is ended by rf_household_end(). */
void rf_tenure_end(struct landlord *l, bool is_kept);

#endif
