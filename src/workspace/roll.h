/* The names in a folder of ours: workspaces, agents. */
#ifndef RF_WORKSPACE_ROLL_H
#define RF_WORKSPACE_ROLL_H

#include "base/err.h"

/*
 * Calls `fn` for each, in their order, until it returns another thing than 0, and returns that.  What is no name, as what is
 * just being made, is passed over.  `what` they are, for an error.
 */
int rf_roll_each(int folder, const char *what, int (*fn)(void *data, const char *name), void *data,
		 struct rf_err *err);

#endif
