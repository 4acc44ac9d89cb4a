/* ringfort gateway: one for all of a user's boxes; the program ringfort-gateway does the work. */
#include "cli/cmd.h"
#include "cli/service.h"

int rf_cmd_gateway(int argc, char **argv)
{
	return rf_service_run(RF_CMD_GATEWAY, "ringfort-gateway", "--standing", argc, argv);
}
