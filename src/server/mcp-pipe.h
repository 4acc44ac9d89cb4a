/*
 * MCP on standard input and output: one message a line, carried to /mcp of a server of its own and back.
 *
 * It knows as little of the protocol as it takes to carry it: which answer belongs to which request, since each is a connection of its own; what the head of a request must say of its
 * body; and that a cancelled request is a connection that is closed.  So there is one server of MCP, and it is the same for both carriers.
 *
 * When the input ends, what was asked has a few seconds to be answered; then everything ends, with all sandboxes.
 */
#ifndef RF_SERVER_MCP_PIPE_H
#define RF_SERVER_MCP_PIPE_H

#include "base/err.h"

/*
 * Serves until the input ends, or nobody reads the output any more.  `folder` is where our programs are; `ceiling` is the text of the policy that no box goes
 * beyond, or NULL: large limits, no network and no file of this machine.
 */
int rf_mcp_pipe_serve(const char *folder, const char *ceiling, struct rf_err *err);

#endif
