/*
 * Agents: $STATE/agents/ID, with the policy that the agent's runs go by.
 *
 * An agent has a workspace that is called as it is, where it finds what it did before and nobody else's.  The policy is a
 * copy: who changes the file that it came from changes no agent.
 */
#ifndef RF_WORKSPACE_AGENT_H
#define RF_WORKSPACE_AGENT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Notes an agent with its policy.  -EEXIST: there is one of this name. */
int rf_agent_make(const char *id, const struct rf_buf *policy, struct rf_err *err);

bool rf_agent_exists(const char *id);

/* Its policy, as text, is added to `policy`.  -ENOENT: there is no such agent. */
int rf_agent_read(const char *id, struct rf_buf *policy, struct rf_err *err);

/* Takes the note away; the workspace is left to the caller. */
int rf_agent_remove(const char *id, struct rf_err *err);

/* Calls `fn` with the name of each, sorted.  A result other than 0 ends it and is returned. */
int rf_agent_each(int (*fn)(void *data, const char *id), void *data, struct rf_err *err);

#endif
