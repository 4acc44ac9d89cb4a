/* ringfort policy schema: the policy language as JSON Schema. */
#include <errno.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/option.h"
#include "policy/schema.h"

int rf_cmd_policy_schema(int argc, char **argv)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	const struct rf_option *option;
	const char *value;
	struct rf_err err = RF_ERR_INIT;
	int at = 1, got;

	rf_buf_init(&out, RF_MAX_JSON);
	got = rf_option_next(RF_CMD_POLICY_SCHEMA, argc, argv, &at, &option, &value, &err);
	if (got == 0 && at < argc)
		got = rf_fail_say(&err, -EINVAL, "policy schema takes no argument: `%.60s`",
				  argv[at]);
	if (got < 0) {
		rf_cmd_complain(NULL, &err);
		return RF_EXIT_FAILED;
	}
	if (got > 0) { /* --help */
		rf_command_help(RF_CMD_POLICY_SCHEMA, stdout);
		return 0;
	}
	rf_schema_json(&out);
	return rf_cmd_print(&out);
}
