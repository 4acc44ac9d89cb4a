/* ringfort policy explain: the plan that options and policy come to. */
#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/call-rows.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/request.h"
#include "policy/explain.h"

int rf_cmd_policy_explain(int argc, char **argv)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_call_rows rows = { 0 };
	struct rf_request request;
	struct rf_err err = RF_ERR_INIT;
	int code = 0;

	rf_buf_init(&out, RF_MAX_JSON);
	if (rf_request_read(RF_CMD_POLICY_EXPLAIN, argc, argv, false, &request, &err) < 0) {
		rf_cmd_complain(request.file, &err);
		code = RF_EXIT_FAILED;
	} else if (request.wants_help) {
		rf_command_help(RF_CMD_POLICY_EXPLAIN, stdout);
	} else if (rf_call_rows_make(request.plan, &rows, &err) < 0) {
		rf_cmd_complain(NULL, &err);
		code = RF_EXIT_FAILED;
	} else {
		const struct rf_explain_calls calls = { rows.rows, rows.count };

		if (request.is_json)
			rf_explain_json(request.plan, &calls, &out);
		else
			rf_explain_text(request.plan, &calls, &out);
		code = request.is_json ? rf_cmd_print(&out) : rf_cmd_print_page(&out);
	}
	rf_call_rows_done(&rows);
	rf_request_done(&request);
	return code;
}
