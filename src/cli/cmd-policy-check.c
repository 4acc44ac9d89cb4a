/* ringfort policy check: what is wrong in policies. */
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/request.h"

int rf_cmd_policy_check(int argc, char **argv)
{
	const struct rf_option *option;
	const char *value;
	struct rf_err err = RF_ERR_INIT;
	int at = 1, got, code = 0;

	got = rf_option_next(RF_CMD_POLICY_CHECK, argc, argv, &at, &option, &value, &err);
	if (got < 0) {
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	if (got > 0 || at == argc) { /* --help, or nothing to check */
		rf_command_help(RF_CMD_POLICY_CHECK, got > 0 ? stdout : stderr);
		return got > 0 ? 0 : RF_EXIT_FAILED;
	}
	for (; at < argc; at++) {
		struct rf_policy *policy = NULL;

		err = RF_ERR_INIT;
		if (rf_request_read_policy(argv[at], "/", &policy, &err) < 0) {
			rf_cmd_complain(argv[at], &err);
			code = 1;
		} else {
			printf("%s: ok\n", argv[at]);
		}
		rf_policy_free(policy);
	}
	return code;
}
