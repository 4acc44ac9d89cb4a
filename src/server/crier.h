/*
 * Has others told what happened: starts the herald, and reads for it what the log gets.
 *
 * The log is followed from its end on; where the herald dies, another one goes on with what comes.  Nothing of a server's waits for it: what it does not
 * take in time is not told: the log has it all the same.
 */
#ifndef RF_SERVER_CRIER_H
#define RF_SERVER_CRIER_H

#include "base/err.h"
#include "base/loop.h"
#include "wire/wire.h"

struct rf_crier;
struct rf_charter;
struct rf_notary;

/* Whether there is anybody to tell, by what the operator said. */
bool rf_crier_is_wanted(const struct rf_charter *charter);

/* Reads the secrets that are named, or says which one can't be; for who only checks. */
int rf_crier_check(const struct rf_charter *charter, struct rf_err *err);

/* Borrows all.  Gives; NULL where nobody is to be told. */
int rf_crier_new(struct rf_loop *loop, const struct rf_charter *charter, const char *folder,
		 struct rf_notary *notary, struct rf_crier **ret_crier, struct rf_err *err);
void rf_crier_free(struct rf_crier *crier);

/* A request that the front has answered, in its own words; passed on as they are, if they are any.  Accepts NULL. */
void rf_crier_pass_span(struct rf_crier *crier, const struct rf_wire_message *message);

#endif
