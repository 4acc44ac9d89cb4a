/* The list of languages: `ringfort run --list-langs`. */
#ifndef RF_CLI_LANG_LIST_H
#define RF_CLI_LANG_LIST_H

#include "cli/request.h"

/*
 * Prints every language with its program on this machine and that program's version, which it is
 * asked for in a box: whatever lies on a PATH is no more to be trusted than other code.  Gives the
 * exit code.
 */
int rf_lang_list_print(const struct rf_request *request);

#endif
