/*
 * Which languages this machine has programs for: looked at once, before the front gives up files.
 */
#ifndef RF_SERVER_TOOLS_H
#define RF_SERVER_TOOLS_H

#include "policy/lang.h"

void rf_tools_look(void);

/* The words that run a file of that language, "deno run"; NULL: it was not there. */
const char *rf_tools_find(const struct rf_lang *lang);

#endif
