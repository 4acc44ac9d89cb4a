/*
 * Whose key it is: what the front was shown is looked up, and answered with a connection to the warden on the key's terms.
 */
#ifndef RF_SERVER_CONCIERGE_H
#define RF_SERVER_CONCIERGE_H

#include "server/household.h"
#include "server/pass.h"
#include "wire/wire.h"

/* Gives the front a connection on these terms, as the answer to its request `id`. */
int rf_concierge_hand_over(struct landlord *l, uint64_t id, const struct rf_pass_holder *holder,
			   const char *ceiling, struct rf_err *err);

/* Answers a KEY of the front's. */
void rf_concierge_answer(struct landlord *l, const struct rf_wire_message *message);

/* Tells the front which keys are no longer there, if the folder of keys has changed since the last look. */
void rf_concierge_withdraw(struct landlord *l);

/* What the front was given is forgotten: it is gone. */
void rf_concierge_forget(struct landlord *l);

/* Makes the first key of a server that has none, and shows it. */
int rf_concierge_provide(const struct landlord *l, struct rf_err *err);

#endif
