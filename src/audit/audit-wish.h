/* What `ringfort audit` was asked for: the options of its commands, as the launcher passes them on. */
#ifndef RF_AUDIT_WISH_H
#define RF_AUDIT_WISH_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/pick.h"
#include "base/err.h"

#define RF_AUDIT_WISH_BAD    1   /* an exit code: something is wrong with the log */
#define RF_AUDIT_WISH_FAILED 125 /* ringfort itself failed, or was asked for something wrong */

struct rf_audit_wish {
	struct rf_pick filter;
	const char *anchor, *key, *log, *format;
	uint64_t limit; /* the last so many; 0: all */
	bool is_json, is_csv, follows, has_no_index, rebuilds;
	bool is_net; /* the table is that of the network */
};

/* Reads the words behind the command; texts are borrowed. */
int rf_audit_wish_read(int argc, char **argv, struct rf_audit_wish *wish, struct rf_err *err);

/* Opens the log's folder: this user's, or the one that was named.  A descriptor, or a negative errno. */
int rf_audit_wish_open(const struct rf_audit_wish *wish, struct rf_err *err);

/* Tells of an error, and gives the exit code. */
int rf_audit_wish_complain(const struct rf_err *err);

int rf_audit_wish_refuse_format(const char *format, const char *hint, struct rf_err *err);

/* The commands: an exit code, or negative.  Each is in a file of its name, export in that of show. */
int rf_audit_show(const struct rf_audit_wish *wish, struct rf_err *err);
int rf_audit_export(const struct rf_audit_wish *wish, struct rf_err *err);
int rf_audit_prove(const struct rf_audit_wish *wish, struct rf_err *err);
int rf_audit_report(const struct rf_audit_wish *wish, struct rf_err *err);
int rf_audit_net_log(const struct rf_audit_wish *wish, struct rf_err *err);
int rf_audit_net_summary(const struct rf_audit_wish *wish, struct rf_err *err);
int rf_audit_index(const struct rf_audit_wish *wish, struct rf_err *err);

#endif
