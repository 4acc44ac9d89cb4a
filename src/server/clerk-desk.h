/* Who answers what is asked of the clerk: see the table in clerk-table.c. */
#ifndef RF_SERVER_CLERK_DESK_H
#define RF_SERVER_CLERK_DESK_H

#include "server/clerk.h"

/* clerk-desk.c */
rf_clerk_fn rf_clerk_desk_key;
/* clerk-audit.c */
rf_clerk_fn rf_clerk_audit_events, rf_clerk_audit_breakers, rf_clerk_audit_breaker,
	rf_clerk_audit_figures;
/* clerk-workspace.c */
rf_clerk_fn rf_clerk_workspace_make, rf_clerk_workspace_list, rf_clerk_workspace_get,
	rf_clerk_workspace_remove;

#endif
