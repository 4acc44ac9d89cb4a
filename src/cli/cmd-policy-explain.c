/* ringfort policy explain: the plan that options and policy come to. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/request.h"
#include "jail/calls.h"
#include "policy/explain.h"

static const char *words_of(const struct rf_call_group *group, enum rf_call_verdict verdict)
{
	static const char *const words[] = {
		[RF_CALL_ALLOW] = "allowed",
		[RF_CALL_FAKE] = "answered, not made",
		[RF_CALL_REFUSE] = "refused (EPERM)",
		[RF_CALL_ABSENT] = "absent (ENOSYS)",
	};

	if (verdict == RF_CALL_ALLOW && group->in_sampled != RF_CALL_ALLOW)
		return "allowed where a cgroup limits memory";
	if (verdict == RF_CALL_ALLOW && group->check)
		return "allowed after a look at the arguments";
	return words[verdict];
}

/* The jail's table of calls in the words of `explain`, for the filter that this plan would get. */
static struct rf_explain_call *call_rows(const struct rf_plan *plan, size_t *ret_count)
{
	const struct rf_call_options options = {
		.syscalls = plan->syscalls,
		.has_inet = plan->link == RF_LINK_HOST || plan->has_loopback,
		.has_unix = plan->has_unix,
	};
	struct rf_explain_call *rows;
	size_t count = 0;

	for (size_t g = 0; g < rf_call_group_count; g++)
		count += rf_call_groups[g].count;
	rows = calloc(count + 1, sizeof(*rows));
	*ret_count = 0;
	for (size_t g = 0; rows && g < rf_call_group_count; g++) {
		const struct rf_call_group *group = &rf_call_groups[g];
		enum rf_call_verdict verdict = rf_call_verdict(group, &options);

		for (size_t i = 0; i < group->count; i++)
			rows[(*ret_count)++] = (struct rf_explain_call){
				.name = group->calls[i].name,
				.verdict = words_of(group, verdict),
				.why = group->why,
			};
	}
	return rows;
}

int rf_cmd_policy_explain(int argc, char **argv)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_explain_calls calls = { 0 };
	struct rf_request request;
	struct rf_err err = RF_ERR_INIT;
	int code = 0;

	rf_buf_init(&out, RF_MAX_JSON);
	if (rf_request_read(RF_CMD_POLICY_EXPLAIN, argc, argv, false, &request, &err) < 0) {
		rf_cmd_complain(request.file, &err);
		code = RF_EXIT_FAILED;
	} else if (request.wants_help) {
		rf_command_help(RF_CMD_POLICY_EXPLAIN, stdout);
	} else {
		struct rf_explain_call *rows = call_rows(request.plan, &calls.count);

		calls.rows = rows;
		if (request.is_json)
			rf_explain_json(request.plan, &calls, &out);
		else
			rf_explain_text(request.plan, &calls, &out);
		code = request.is_json ? rf_cmd_print(&out) : rf_cmd_print_page(&out);
		free(rows);
	}
	rf_request_done(&request);
	return code;
}
