/* ringfort policy check: what is wrong in policies. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/shelf.h"

/* Reads one file and all that it extends, and joins them, since `final` may object. */
static bool check(struct rf_shelf *shelf, const char *path)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;
	char *file = NULL;
	bool is_right = rf_shelf_policy_file(shelf, path, &policy, &file, &err) >= 0;

	if (is_right)
		printf("%s: ok\n", path);
	else
		rf_cmd_complain(file ? file : path, &err);
	rf_policy_free(policy);
	free(file);
	return is_right;
}

int rf_cmd_policy_check(int argc, char **argv)
{
	const struct rf_option *option;
	const char *value;
	struct rf_err err = RF_ERR_INIT;
	struct rf_shelf shelf = { 0 };
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
	if (rf_shelf_init(&shelf, NULL, &err) < 0) {
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	for (; at < argc; at++)
		if (!check(&shelf, argv[at]))
			code = 1;
	rf_shelf_done(&shelf);
	return code;
}
