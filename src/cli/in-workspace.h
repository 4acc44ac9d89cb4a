/*
 * A run in a workspace, as the command line has it: --workspace NAME, or DIR for this run alone.
 */
#ifndef RF_CLI_IN_WORKSPACE_H
#define RF_CLI_IN_WORKSPACE_H

#include "base/err.h"
#include "cli/request.h"
#include "result/result.h"

/* Finds what request->workspace names, for the plan.  Does nothing where it names nothing. */
int rf_in_workspace_open(struct rf_request *request, struct rf_err *err);

/* Makes the layer for the run that follows. */
int rf_in_workspace_begin(struct rf_request *request, struct rf_err *err);

/* Tells what the run changed, and keeps it where the workspace is kept. */
void rf_in_workspace_end(struct rf_request *request, struct rf_result *result);

/* What ran, in a line, for the log. */
void rf_in_workspace_command(char *const *argv, char *text, size_t size);

void rf_in_workspace_done(struct rf_request *request);

#endif
