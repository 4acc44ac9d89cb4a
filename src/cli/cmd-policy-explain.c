/* ringfort policy explain: the plan that options and policy come to. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/call-rows.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/request.h"
#include "jail/program.h"
#include "policy/explain.h"

/* What the plan's commands stand for on this machine; `set` owns the texts. */
static struct rf_explain_program *program_rows(const struct rf_program_set *set)
{
	struct rf_explain_program *rows = calloc(set->program_count + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < set->program_count; i++)
		rows[i] =
			(struct rf_explain_program){ set->programs[i].path, set->programs[i].why };
	return rows;
}

static int print_plan(const struct rf_request *request, const struct rf_call_rows *rows,
		      const struct rf_program_set *set, struct rf_buf *out)
{
	struct rf_explain_program *programs = set ? program_rows(set) : NULL;
	const struct rf_explain_calls calls = { rows->rows, rows->count, programs,
						programs ? set->program_count : 0 };

	if (request->is_json)
		rf_explain_json(request->plan, &calls, out);
	else
		rf_explain_text(request->plan, &calls, out);
	free(programs);
	return request->is_json ? rf_cmd_print(out) : rf_cmd_print_page(out);
}

int rf_cmd_policy_explain(int argc, char **argv)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_call_rows rows = { 0 };
	struct rf_program_set *set = NULL;
	struct rf_request request;
	struct rf_err err = RF_ERR_INIT;
	int code = 0;

	rf_buf_init(&out, RF_MAX_JSON);
	if (rf_request_read(RF_CMD_POLICY_EXPLAIN, argc, argv, false, &request, &err) < 0) {
		rf_cmd_complain(request.file, &err);
		code = RF_EXIT_FAILED;
	} else if (request.wants_help) {
		rf_command_help(RF_CMD_POLICY_EXPLAIN, stdout);
	} else if (rf_call_rows_make(request.plan, &rows, &err) < 0 ||
		   (request.plan->commands && rf_program_find(request.plan, &set, &err) < 0)) {
		rf_cmd_complain(NULL, &err);
		code = RF_EXIT_FAILED;
	} else {
		code = print_plan(&request, &rows, set, &out);
	}
	rf_program_free(set);
	rf_call_rows_done(&rows);
	rf_request_done(&request);
	return code;
}
