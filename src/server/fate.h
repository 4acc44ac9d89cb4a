/*
 * Why there is no such sandbox: one that ended is told with its reason, as far as the register knows it.
 */
#ifndef RF_SERVER_FATE_H
#define RF_SERVER_FATE_H

#include "server/api-call.h"

/* True if the register is asked first: the error is answered when it has said what it knows. */
bool rf_fate_ask(struct rf_api_call *call, const struct rf_api_error *error);

#endif
