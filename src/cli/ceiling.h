/*
 * A ceiling for a program that ringfort becomes: the policy's text in a file without a name.
 */
#ifndef RF_CLI_CEILING_H
#define RF_CLI_CEILING_H

#include "base/err.h"

/*
 * Reads the policy that `what` names (a profile or a file, as in rf_shelf_policy()) and gives a
 * descriptor that exec passes on; every path in the text is absolute.  On failure returns a
 * negative errno, and gives `*ret_file`, the file that the error is about, or NULL.
 */
int rf_ceiling_open(const char *what, char **ret_file, struct rf_err *err);

#endif
