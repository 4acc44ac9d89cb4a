/* ringfort top: what lives, in a terminal; the program ringfort-top does the work. */
#include "cli/cmd.h"
#include "cli/service.h"

int rf_cmd_top(int argc, char **argv)
{
	return rf_service_run(RF_CMD_TOP, "ringfort-top", NULL, argc, argv);
}
