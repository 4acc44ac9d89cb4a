/* ringfort serve: boxes over HTTP; the programs ringfort-serve and ringfort-front do the work. */
#include "cli/cmd.h"
#include "cli/service.h"

int rf_cmd_serve(int argc, char **argv)
{
	return rf_service_run(RF_CMD_SERVE, "ringfort-serve", NULL, argc, argv);
}
