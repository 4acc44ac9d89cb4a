/*
 * Paths with `..` on the command line.
 *
 * In a policy `..` is refused, because what it means depends on symbolic links that may change until
 * somebody reads it.  Whoever types ../data means the folder that is there at this moment, so it is
 * looked up, once, and what goes into the policy is the path that was found.
 */
#ifndef RF_CLI_DOTS_H
#define RF_CLI_DOTS_H

#include "base/err.h"

/* Gives `rule`, SRC[:DEST], with an SRC that has no `..` in it; to be freed with free(). */
int rf_dots_resolve(const char *rule, char **ret_rule, struct rf_err *err);

#endif
