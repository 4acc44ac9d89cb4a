/*
 * Where the operator's own commands (`ringfort approval`) are given a connection to the clerk: a socket in $RUN, apart from the one that speaks HTTP.
 *
 * Whoever is let in sees and decides about writes of all tenants, so it must not go through the front: one that was taken over would have it, too.  We look at who comes (the same
 * user, in no sandbox; root proves it), make a connection on an operator's terms, hand it over, and hang up.  Of what is said we read that something is asked, and nothing else.
 * docs/protocols/clerk.md tells the conversation.
 */
#ifndef RF_SERVER_OFFICE_H
#define RF_SERVER_OFFICE_H

#include "server/household.h"

struct rf_office;

/* Opens it; gives `*ret_office`. */
int rf_office_open(struct landlord *l, struct rf_office **ret_office, struct rf_err *err);
void rf_office_close(struct rf_office *office);

#endif
