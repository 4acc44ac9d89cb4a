/* ringfort mcp: sandboxes as tools for agents; the program ringfort-mcp does the work. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/ceiling.h"
#include "cli/cmd.h"
#include "cli/option.h"
#include "cli/service.h"

/* Reads the options; 1 if help was asked for. */
static int read_line(int argc, char **argv, const char **ret_ceiling, struct rf_err *err)
{
	const struct rf_option *option;
	const char *value;
	int at = 1, got;

	while ((got = rf_option_next(RF_CMD_MCP, argc, argv, &at, &option, &value, err)) > 0) {
		if (option->id == RF_OPTION_HELP)
			return 1;
		*ret_ceiling = value;
	}
	if (got == 0 && at < argc) {
		got = rf_fail_say(err, -EINVAL, "mcp has no argument `%.60s`", argv[at]);
		rf_fail_hint(err, "see `ringfort mcp --help`");
	}
	return got;
}

/* Becomes the server of MCP.  Returns only on failure. */
static int become(const char *ceiling, char **ret_file, struct rf_err *err)
{
	const char *argv[4] = { "ringfort-mcp" };
	char number[16];

	if (ceiling) {
		int fd = rf_ceiling_open(ceiling, ret_file, err);

		if (fd < 0)
			return err->code;
		snprintf(number, sizeof(number), "%d", fd);
		argv[1] = "--ceiling-fd";
		argv[2] = number;
	}
	return rf_service_become("ringfort-mcp", argv, err);
}

int rf_cmd_mcp(int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	const char *ceiling = NULL;
	char *file = NULL;
	int code = read_line(argc, argv, &ceiling, &err);

	if (code > 0) {
		rf_command_help(RF_CMD_MCP, stdout);
		return 0;
	}
	if (code == 0)
		become(ceiling, &file, &err);
	rf_cmd_complain(file, &err);
	free(file);
	return RF_EXIT_FAILED;
}
