/*
 * ringfort-audit: shows, proves, exports and reports on the audit log.
 *
 * Started by `ringfort audit COMMAND`, which has read the command line and passes it on in one form: the
 * command, then "--name value" or "--name" for each option.  It reads the log and writes nothing but its own index.
 */
#include <errno.h>
#include <string.h>

#include "audit/audit-wish.h"
#include "base/fd.h"

static const struct {
	const char *name;
	int (*run)(const struct rf_audit_wish *wish,
		   struct rf_err *err); /* an exit code, or negative */
} commands[] = {
	{ "show", rf_audit_show },
	{ "verify", rf_audit_prove },
	{ "export", rf_audit_export },
	{ "report", rf_audit_report },
	{ "index", rf_audit_index },
	{ "net-log", rf_audit_net_log },
	{ "net-summary", rf_audit_net_summary },
};

int main(int argc, char **argv)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_audit_wish wish = { 0 };
	int code;

	for (size_t i = 0; argc > 1 && i < RF_LEN(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0) {
			code = rf_audit_wish_read(argc, argv, &wish, &err);
			if (code == 0)
				code = commands[i].run(&wish, &err);
			return code < 0 ? rf_audit_wish_complain(&err) : code;
		}
	rf_fail_say(&err, -EINVAL, "ringfort-audit is started by `ringfort audit`");
	return rf_audit_wish_complain(&err);
}
