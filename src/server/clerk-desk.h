/* Who answers what is asked of the clerk: see the table in clerk-table.c. */
#ifndef RF_SERVER_CLERK_DESK_H
#define RF_SERVER_CLERK_DESK_H

#include "server/clerk.h"

/* clerk-desk.c */
rf_clerk_fn rf_clerk_desk_key;
/* clerk-audit.c */
rf_clerk_fn rf_clerk_audit_events, rf_clerk_audit_follow, rf_clerk_audit_breakers,
	rf_clerk_audit_breaker, rf_clerk_audit_figures;
/* clerk-quota.c */
rf_clerk_fn rf_clerk_quota_room;
/* clerk-approval.c */
rf_clerk_fn rf_clerk_approval_list, rf_clerk_approval_get, rf_clerk_approval_decide;
/* clerk-workspace.c */
rf_clerk_fn rf_clerk_workspace_make, rf_clerk_workspace_list, rf_clerk_workspace_get,
	rf_clerk_workspace_remove, rf_clerk_workspace_send, rf_clerk_workspace_settle;
/* clerk-agent.c */
rf_clerk_fn rf_clerk_agent_make, rf_clerk_agent_list, rf_clerk_agent_get, rf_clerk_agent_remove,
	rf_clerk_agent_replace, rf_clerk_agent_use;

#endif
