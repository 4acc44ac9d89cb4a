/*
 * The commands: one table, from which dispatch, `--help`, the man pages, the reference and the
 * completions of the shells are made.
 *
 * A command of two words ("policy check") belongs to the one of its first word.
 */
#ifndef RF_CLI_COMMAND_H
#define RF_CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum rf_cmd_id {
	RF_CMD_RUN,
	RF_CMD_SHELL,
	RF_CMD_CREATE,
	RF_CMD_EXEC,
	RF_CMD_SHADOW,
	RF_CMD_WORKSPACES,
	RF_CMD_CHECKPOINT,
	RF_CMD_UNDO,
	RF_CMD_DISCARD,
	RF_CMD_LOG,
	RF_CMD_DIFF,
	RF_CMD_APPLY,
	RF_CMD_FORK,
	RF_CMD_RM,
	RF_CMD_GC,
	RF_CMD_FILE,
	RF_CMD_FILE_CAT,
	RF_CMD_FILE_LS,
	RF_CMD_FILE_STAT,
	RF_CMD_FILE_FIND,
	RF_CMD_FILE_CP,
	RF_CMD_FILE_RM,
	RF_CMD_AGENT,
	RF_CMD_AGENT_CREATE,
	RF_CMD_AGENT_RUN,
	RF_CMD_AGENT_LS,
	RF_CMD_AGENT_SHOW,
	RF_CMD_AGENT_RM,
	RF_CMD_EXPORT,
	RF_CMD_IMPORT,
	RF_CMD_POLICY,
	RF_CMD_POLICY_CHECK,
	RF_CMD_POLICY_EXPLAIN,
	RF_CMD_POLICY_WHY,
	RF_CMD_POLICY_SHOW,
	RF_CMD_POLICY_DIFF,
	RF_CMD_POLICY_SCHEMA,
	RF_CMD_POLICY_LEARN,
	RF_CMD_NET,
	RF_CMD_NET_LOG,
	RF_CMD_NET_SUMMARY,
	RF_CMD_NET_SHOW,
	RF_CMD_NET_SET,
	RF_CMD_NET_ALLOW,
	RF_CMD_NET_DENY,
	RF_CMD_WATCH,
	RF_CMD_AUDIT,
	RF_CMD_AUDIT_SHOW,
	RF_CMD_AUDIT_VERIFY,
	RF_CMD_AUDIT_EXPORT,
	RF_CMD_AUDIT_REPORT,
	RF_CMD_AUDIT_INDEX,
	RF_CMD_WARDEN,
	RF_CMD_GATEWAY,
	RF_CMD_SERVE,
	RF_CMD_MCP,
	RF_CMD_KEY,
	RF_CMD_KEY_CREATE,
	RF_CMD_KEY_LS,
	RF_CMD_KEY_RM,
	RF_CMD_CREDENTIAL,
	RF_CMD_CREDENTIAL_SET,
	RF_CMD_CREDENTIAL_LS,
	RF_CMD_CREDENTIAL_RM,
	RF_CMD_APPROVAL,
	RF_CMD_APPROVAL_LS,
	RF_CMD_APPROVAL_SHOW,
	RF_CMD_APPROVAL_ALLOW,
	RF_CMD_APPROVAL_DENY,
	RF_CMD_PS,
	RF_CMD_FREEZE,
	RF_CMD_THAW,
	RF_CMD_KILL,
	RF_CMD_TOP,
	RF_CMD_BREAKER,
	RF_CMD_BREAKER_LS,
	RF_CMD_BREAKER_RESET,
	RF_CMD_BREAKER_TRIP,
	RF_CMD_METRICS,
	RF_CMD_DOCTOR,
	RF_CMD_HELP,
	RF_CMD_COUNT
};

/* A set of commands; there are more than 64. */
__extension__ typedef unsigned __int128 rf_cmd_set;

#define RF_CMD_BIT(id) ((rf_cmd_set)1 << (id))

_Static_assert(RF_CMD_COUNT < 128, "each command has a bit");

struct rf_cmd_example {
	const char *line;  /* as it would be typed; NULL ends the list */
	const char *about; /* what it does, or NULL */
};

struct rf_cmd {
	const char *name;                      /* "run", "policy check" */
	int (*main)(int argc, char **argv);    /* argv[0] is the last word; NULL: holds others */
	const char *summary;                   /* one line, without a full stop */
	const char *synopsis;                  /* what follows the name; a line each */
	const char *about;                     /* a few lines, broken as they shall be printed */
	const struct rf_cmd_example *examples; /* or NULL */
	const char *exits;                     /* what its exit codes mean, or NULL */
};

/* Ringfort as a whole, described in the same way. */
extern const struct rf_cmd rf_cmd_all;

/* By enum rf_cmd_id. */
extern const struct rf_cmd rf_cmd_table[RF_CMD_COUNT];

/* The command of one word (`second` is NULL) or of two; RF_CMD_COUNT if there is none. */
enum rf_cmd_id rf_command_find(const char *first, const char *second);

/* Complains that `parent` (RF_CMD_COUNT: ringfort itself) has no such command; gives the exit code. */
int rf_command_unknown(const char *word, enum rf_cmd_id parent);

/* Finds and runs the command that argv[1...] names; gives the exit code. */
int rf_command_run(int argc, char **argv);

/* The help of one command, or of all of them together. */
void rf_command_help(enum rf_cmd_id id, FILE *out);
void rf_command_help_all(FILE *out);

#endif
