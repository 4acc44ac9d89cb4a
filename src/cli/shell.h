/* What `ringfort shell` adds to a run: which shell, its prompt, and a word of greeting. */
#ifndef RF_CLI_SHELL_H
#define RF_CLI_SHELL_H

#include "base/err.h"
#include "cli/request.h"

/*
 * Before the plan is made: with a terminal on standard input the box gets one too, where nobody
 * named a program it is a shell, and the prompt says where one is.
 */
int rf_shell_choose(struct rf_request *request, struct rf_err *err);

/* Says on a terminal what the box sees, how to leave it, and the plan's notes; false: said nothing. */
bool rf_shell_greet(const struct rf_request *request);

#endif
