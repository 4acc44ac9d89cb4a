/*
 * For handlers of the API: a box for one of the tenant's agents.
 *
 * The clerk is asked for what the agent may do, and what the box is asked for with becomes all of that which the request does not tighten; it has the agent's workspace, unless the
 * request names one.  That no more is given is the warden's to see to, which reads the agent itself.
 */
#ifndef RF_SERVER_AGENT_USE_H
#define RF_SERVER_AGENT_USE_H

#include "server/api-call.h"

/* Calls `go`, now where the order names no agent, or later; or answers with an error. */
void rf_agent_use(struct rf_api_call *call, void (*go)(struct rf_api_call *call));

#endif
