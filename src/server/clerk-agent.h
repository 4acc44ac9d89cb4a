/* For others of the clerk's who work with what an agent has. */
#ifndef RF_SERVER_CLERK_AGENT_H
#define RF_SERVER_CLERK_AGENT_H

#include "server/clerk.h"

/* -EBUSY, and whose it is, where an agent of the tenant's has this workspace, or may have it; `besides` one of this name, or NULL. */
int rf_clerk_agent_spares(const struct rf_clerk_asker *who, const char *workspace,
			  const char *besides, struct rf_err *err);

#endif
