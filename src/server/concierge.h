/*
 * Whose key it is: what the front was shown is looked up, and answered with connections to the warden and the clerk on the key's terms.
 */
#ifndef RF_SERVER_CONCIERGE_H
#define RF_SERVER_CONCIERGE_H

#include "server/household.h"
#include "server/pass.h"
#include "wire/wire.h"

/* Gives the front connections to the warden and the clerk on these terms, as the answer to its request `id`. */
int rf_concierge_hand_over(struct landlord *l, uint64_t id, const struct rf_pass_holder *holder,
			   const char *ceiling, struct rf_err *err);

/* Answers a KEY of the front's. */
void rf_concierge_answer(struct landlord *l, const struct rf_wire_message *message);

/* Whose a key is that the front was given a holder for; NULL: it was not. */
const char *rf_concierge_tenant(const struct landlord *l, const char *key);

/* There is another clerk: gives the front a connection to it for each key that it knows. */
void rf_concierge_renew(struct landlord *l);

/* Tells the front which keys are no longer there, if the folder of keys has changed since the last look. */
void rf_concierge_withdraw(struct landlord *l);

/* Takes all back that the front was given: the warden behind it is another one. */
void rf_concierge_revoke_all(struct landlord *l);

/* Gives the front the connection for local clients. */
int rf_concierge_welcome_guests(struct landlord *l, struct rf_err *err);

/* What the front was given is forgotten: it is gone. */
void rf_concierge_forget(struct landlord *l);

/* Makes the first key of a server that has none, and shows it. */
int rf_concierge_provide(const struct landlord *l, struct rf_err *err);

#endif
