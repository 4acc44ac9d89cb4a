/* ringfort watch: keeps the audit log; the program ringfort-watch does the work. */
#include "cli/cmd.h"
#include "cli/service.h"

int rf_cmd_watch(int argc, char **argv)
{
	return rf_service_run(RF_CMD_WATCH, "ringfort-watch", NULL, argc, argv);
}
