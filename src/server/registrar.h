/*
 * Who keeps the register (register.h): hears of sandboxes from the warden, and answers the front what it asks.
 *
 * The front names a key: only what belongs to the tenant of a key that it was given a holder for is answered.
 */
#ifndef RF_SERVER_REGISTRAR_H
#define RF_SERVER_REGISTRAR_H

#include "server/household.h"
#include "wire/wire.h"

/* What the warden tells of sandboxes. */
void rf_registrar_hear(struct landlord *l, const struct rf_wire_message *message);

/* All sandboxes have ended with their warden. */
void rf_registrar_lose_all(struct landlord *l);

/* Answers an ASK of the front's. */
void rf_registrar_answer(struct landlord *l, const struct rf_wire_message *message);

#endif
