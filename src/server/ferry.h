/*
 * The clerk's part in a box's network: a way out that its key's ceiling allows, with credentials of its tenant's.
 *
 * The front says a policy and names; the clerk meets the policy with the ceiling itself, adds the credentials with their values, has a gateway open a
 * way out for that, and seals the connection (wire/gate.h) before it gives it away.  So the connection, in whose hands ever, leads to no more than the
 * ceiling does, and the agent's policy where it is for one, and no value is in it.
 *
 * Gateways are the clerk's, one for each tenant, so that boxes share a process with their own tenant's credentials only; they are started when they are first
 * needed, and again when they have died.  All of them end with the clerk.
 */
#ifndef RF_SERVER_FERRY_H
#define RF_SERVER_FERRY_H

#include "server/clerk.h"

rf_clerk_fn rf_ferry_cross;

#endif
