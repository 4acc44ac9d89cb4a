/*
 * Options: one table for all commands.
 *
 * Most options are keys of the policy under a shorter name, so the flag, the file and the API mean
 * the same and report the same errors.  The rest are the command's own.
 */
#ifndef RF_CLI_OPTION_H
#define RF_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/command.h"

enum rf_option_id {
	RF_OPTION_KEY, /* a key of the policy */
	RF_OPTION_PROFILE,
	RF_OPTION_POLICY,
	RF_OPTION_ENV_FILE,
	RF_OPTION_LANG,
	RF_OPTION_CODE,
	RF_OPTION_LIST_LANGS,
	RF_OPTION_WORKSPACE,
	RF_OPTION_NAME,
	RF_OPTION_TIMES,
	RF_OPTION_SYNC,
	RF_OPTION_ONLY,
	RF_OPTION_OURS,
	RF_OPTION_THEIRS,
	RF_OPTION_VERIFY,
	RF_OPTION_ALLOW,
	RF_OPTION_ASK,
	RF_OPTION_AT,
	RF_OPTION_CONTENT,
	RF_OPTION_RECURSIVE,
	RF_OPTION_LONG,
	RF_OPTION_STOP,
	RF_OPTION_MAX_BYTES,
	RF_OPTION_MAX_FILES,
	RF_OPTION_LIVE,
	RF_OPTION_CONFIG,
	RF_OPTION_NO_CONFIG,
	RF_OPTION_JSON,
	RF_OPTION_STAT,
	RF_OPTION_PATCH,
	RF_OPTION_STATS,
	RF_OPTION_NO_WARDEN,
	RF_OPTION_NO_GATEWAY,
	RF_OPTION_CEILING,
	RF_OPTION_AHEAD,
	RF_OPTION_SCOPE,
	RF_OPTION_TENANT,
	RF_OPTION_BOXES,
	RF_OPTION_RATE,
	RF_OPTION_SUM_MEMORY,
	RF_OPTION_SUM_CPU,
	RF_OPTION_SUM_DISK,
	RF_OPTION_STORAGE,
	RF_OPTION_FILES,
	RF_OPTION_STATUS,
	RF_OPTION_NAMES,
	RF_OPTION_FOR,
	RF_OPTION_REASON,
	RF_OPTION_SERVICE, /* passed on to a program of ours: see service.h */
	RF_OPTION_TO,
	RF_OPTION_PATHS,
	RF_OPTION_TTY,
	RF_OPTION_PLAIN,
	RF_OPTION_HELP,
	RF_OPTION_VERSION,
};

struct rf_option {
	const char *name; /* without the dashes */
	char letter;      /* short form, or 0 */
	const char *arg;  /* name of the argument for help, or NULL */
	enum rf_option_id id;
	const char *key; /* of the policy */
	const char *help;
	rf_cmd_set commands; /* RF_CMD_BIT of each that takes it */
};

/* A row without a name is the heading of those that follow. */
extern const struct rf_option rf_option_table[];
extern const size_t rf_option_count;

/*
 * Reads the next option of argv among those of `id`.  Returns 1 with `*ret_option` and `*ret_value`, 0 at the first
 * argument that is no option (*at points to it; "--" is passed), or a negative errno.
 */
int rf_option_next(enum rf_cmd_id id, int argc, char **argv, int *at,
		   const struct rf_option **ret_option, const char **ret_value, struct rf_err *err);

/* Hints at a value of an option that takes one.  Returns err->code. */
int rf_option_hint(const struct rf_option *option, struct rf_err *err);

/* Prints the options of a command, grouped and aligned. */
void rf_option_help(enum rf_cmd_id id, FILE *out);

/* How many letters must change to turn one word into the other. */
int rf_option_distance(const char *a, const char *b);

#endif
