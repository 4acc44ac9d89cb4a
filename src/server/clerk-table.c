/*
 * What can be asked of the clerk: who may ask, how much a question may bring, and who answers it (clerk-desk.h).
 *
 * To add a question: a number in enum rf_clerk_question, a row here, a handler, and a route of the front's that asks it (petition.h).
 */
#include "server/agent-ask.h"
#include "server/api-key.h"
#include "server/clerk-desk.h"
#include "server/clerk.h"
#include "server/fare.h"
#include "server/ferry.h"

#define READ (RF_SCOPE_READ | RF_SCOPE_RUN | RF_SCOPE_ADMIN)
#define RUN  (RF_SCOPE_RUN | RF_SCOPE_ADMIN)

/* clang-format off */
const struct rf_clerk_row rf_clerk_table[RF_CLERK_QUESTIONS] = {
	[RF_CLERK_PASSAGE] = { "passage", RUN, RF_FARE_ASK, 0, rf_ferry_cross },
	[RF_CLERK_AUDIT]    = { "audit",    READ,  4096, 0, rf_clerk_audit_events },
	[RF_CLERK_BREAKERS] = { "breakers", READ,  0,    0, rf_clerk_audit_breakers },
	[RF_CLERK_BREAKER]  = { "breaker",  RF_SCOPE_ADMIN, 4096, 0, rf_clerk_audit_breaker },
	[RF_CLERK_FIGURES]  = { "figures",  RF_SCOPE_ADMIN, 0,    0, rf_clerk_audit_figures },
	[RF_CLERK_FOLLOW]    = { "follow",   READ,  4096, 0, rf_clerk_audit_follow },
	[RF_CLERK_APPROVALS] = { "approvals", READ | RF_SCOPE_OPERATOR, 4096, 0, rf_clerk_approval_list },
	[RF_CLERK_APPROVAL]  = { "approval",  READ | RF_SCOPE_OPERATOR, 256,  0, rf_clerk_approval_get },
	[RF_CLERK_DECIDE]    = { "decision",  RF_SCOPE_ADMIN | RF_SCOPE_OPERATOR, 4096, 0, rf_clerk_approval_decide },
	[RF_CLERK_KEY]              = { "key",              READ, 0,   0, rf_clerk_desk_key },
	[RF_CLERK_WORKSPACE_MAKE]   = { "make workspace",   RUN,  256, 0, rf_clerk_workspace_make },
	[RF_CLERK_WORKSPACE_LIST]   = { "list workspaces",  READ, 0,   0, rf_clerk_workspace_list },
	[RF_CLERK_WORKSPACE_GET]    = { "get workspace",    READ, 256, 0, rf_clerk_workspace_get },
	[RF_CLERK_WORKSPACE_REMOVE] = { "remove workspace", RUN,  256, 0, rf_clerk_workspace_remove },
	[RF_CLERK_WORKSPACE_ROOM]   = { "copy workspace",   RUN,  256, 0, rf_clerk_quota_room },
	[RF_CLERK_WORKSPACE_SEND]   = { "send fork",        RUN,  256, 0, rf_clerk_workspace_send },
	[RF_CLERK_WORKSPACE_SETTLE] = { "settle fork",      RUN,  256, 0, rf_clerk_workspace_settle },
	[RF_CLERK_AGENT_MAKE]   = { "make agent",   RUN,  RF_AGENT_ASK_MOST, 0, rf_clerk_agent_make },
	[RF_CLERK_AGENT_LIST]   = { "list agents",  READ, 512, 0, rf_clerk_agent_list },
	[RF_CLERK_AGENT_GET]    = { "get agent",    READ, 256, 0, rf_clerk_agent_get },
	[RF_CLERK_AGENT_REMOVE] = { "remove agent", RUN,  256, 0, rf_clerk_agent_remove },
	[RF_CLERK_AGENT_REPLACE] = { "replace agent", RUN, RF_AGENT_ASK_MOST, 0, rf_clerk_agent_replace },
	[RF_CLERK_AGENT_USE]    = { "use agent",    RUN,  RF_AGENT_ASK_MOST, 0, rf_clerk_agent_use },
};
/* clang-format on */
