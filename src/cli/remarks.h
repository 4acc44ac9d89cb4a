/* Remarks on a run: what a person should know besides the program's own output. */
#ifndef RF_CLI_REMARKS_H
#define RF_CLI_REMARKS_H

#include <stdbool.h>

#include "result/result.h"

/* Prints them on standard error; `wants_stats`: and what it used. */
void rf_remarks_print(const struct rf_result *result, bool wants_stats);

#endif
