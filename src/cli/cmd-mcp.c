/* ringfort mcp: sandboxes as tools for agents; the program ringfort-mcp does the work. */
#include "cli/cmd.h"
#include "cli/service.h"

int rf_cmd_mcp(int argc, char **argv)
{
	return rf_service_run(RF_CMD_MCP, "ringfort-mcp", NULL, argc, argv);
}
