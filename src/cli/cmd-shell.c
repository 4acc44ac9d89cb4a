/* ringfort shell: `run` with a terminal, a shell and no limit on time; see shell.h. */
#include "cli/cmd.h"

int rf_cmd_shell(int argc, char **argv)
{
	return rf_cmd_run_as(RF_CMD_SHELL, argc, argv);
}
