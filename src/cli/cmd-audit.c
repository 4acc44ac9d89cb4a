/* ringfort audit: what was recorded; the program ringfort-audit does the work. */
#include "cli/cmd.h"
#include "cli/service.h"

#define PROGRAM "ringfort-audit"

int rf_cmd_audit_show(int argc, char **argv)
{
	return rf_service_run(RF_CMD_AUDIT_SHOW, PROGRAM, "show", argc, argv);
}

int rf_cmd_audit_verify(int argc, char **argv)
{
	return rf_service_run(RF_CMD_AUDIT_VERIFY, PROGRAM, "verify", argc, argv);
}

int rf_cmd_audit_report(int argc, char **argv)
{
	return rf_service_run(RF_CMD_AUDIT_REPORT, PROGRAM, "report", argc, argv);
}

int rf_cmd_audit_index(int argc, char **argv)
{
	return rf_service_run(RF_CMD_AUDIT_INDEX, PROGRAM, "index", argc, argv);
}

int rf_cmd_audit_export(int argc, char **argv)
{
	return rf_service_run(RF_CMD_AUDIT_EXPORT, PROGRAM, "export", argc, argv);
}

int rf_cmd_net_log(int argc, char **argv)
{
	return rf_service_run(RF_CMD_NET_LOG, PROGRAM, "net-log", argc, argv);
}

int rf_cmd_net_summary(int argc, char **argv)
{
	return rf_service_run(RF_CMD_NET_SUMMARY, PROGRAM, "net-summary", argc, argv);
}
