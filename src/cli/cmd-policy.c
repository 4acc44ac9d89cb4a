/* ringfort policy: check a policy, explain what it comes to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/option.h"
#include "cli/request.h"
#include "jail/calls.h"
#include "policy/explain.h"

static void print_help(FILE *out)
{
	fputs("usage: ringfort policy check FILE...\n"
	      "       ringfort policy explain [OPTIONS] [--] [PROGRAM]\n\n"
	      "check     reads policies and says what is wrong, with line and column.\n"
	      "explain   prints the plan: every file, right, limit and system call rule of the "
	      "box\n"
	      "          that `ringfort run` with the same options would make.\n",
	      out);
	rf_option_help(out);
	fputs("\nexamples:\n"
	      "  ringfort policy check agent.yaml\n"
	      "  ringfort policy explain --policy agent.yaml --write ./out\n"
	      "  ringfort policy explain --profile strict --json\n",
	      out);
}

static int check(int argc, char **argv)
{
	int code = 0;

	if (argc < 2) {
		print_help(stderr);
		return RF_EXIT_FAILED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(stdout);
		return 0;
	}
	for (int i = 1; i < argc; i++) {
		struct rf_policy *policy = NULL;
		struct rf_err err = RF_ERR_INIT;

		if (rf_request_read_policy(argv[i], "/", &policy, &err) < 0) {
			rf_cmd_complain(argv[i], &err);
			code = 1;
		} else {
			printf("%s: ok\n", argv[i]);
		}
		rf_policy_free(policy);
	}
	return code;
}

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

static int explain(int argc, char **argv)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_explain_calls calls = { 0 };
	struct rf_request request;
	struct rf_err err = RF_ERR_INIT;
	int code = 0;

	rf_buf_init(&out, RF_MAX_JSON);
	if (rf_request_read(argc, argv, false, &request, &err) < 0) {
		rf_cmd_complain(request.file, &err);
		code = RF_EXIT_FAILED;
	} else if (request.wants_help || request.wants_version) {
		print_help(stdout);
	} else {
		struct rf_explain_call *rows = call_rows(request.plan, &calls.count);

		calls.rows = rows;
		if (request.is_json)
			rf_explain_json(request.plan, &calls, &out);
		else
			rf_explain_text(request.plan, &calls, &out);
		if (out.data && !out.has_failed)
			rf_fd_write(STDOUT_FILENO, out.data, out.len);
		free(rows);
	}
	rf_request_done(&request);
	return code;
}

int rf_cmd_policy(int argc, char **argv)
{
	struct rf_err err;

	if (argc >= 2 && strcmp(argv[1], "check") == 0)
		return check(argc - 1, argv + 1);
	if (argc >= 2 && strcmp(argv[1], "explain") == 0)
		return explain(argc - 1, argv + 1);
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		print_help(stdout);
		return 0;
	}
	if (argc < 2) {
		print_help(stderr);
		return RF_EXIT_FAILED;
	}
	rf_fail_say(&err, -EINVAL, "policy has no command `%.60s`", argv[1]);
	rf_fail_hint(&err, "there are `check` and `explain`");
	rf_cmd_complain(NULL, &err);
	return RF_EXIT_FAILED;
}
