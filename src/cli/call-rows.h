/* The rows that `policy explain` prints of system calls: the jail's table, and what profiles take. */
#ifndef RF_CLI_CALL_ROWS_H
#define RF_CLI_CALL_ROWS_H

#include "base/err.h"
#include "policy/explain.h"
#include "policy/plan.h"

struct rf_call_rows {
	struct rf_explain_call *rows;
	size_t count;
	char **texts; /* that rows point to */
	size_t text_count;
	struct rf_ruleset **rulesets;
	size_t ruleset_count;
};

/* Reads the plan's profiles and makes the rows (borrows the plan).  To be freed in any case. */
int rf_call_rows_make(const struct rf_plan *plan, struct rf_call_rows *ret_rows,
		      struct rf_err *err);
void rf_call_rows_done(struct rf_call_rows *rows);

#endif
