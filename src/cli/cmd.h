/*
 * The commands: one file each, cmd-NAME.c, and one table of them in command.c.
 *
 * A command gets its own arguments (argv[0] is its name) and returns the exit code.
 */
#ifndef RF_CLI_CMD_H
#define RF_CLI_CMD_H

#include "base/buf.h"
#include "base/err.h"
#include "base/style.h"
#include "cli/command.h"
#include "workspace/apply.h"

/* Exit codes of our own; see "The result" in the documentation. */
enum {
	RF_EXIT_FAILED = 125,  /* Ringfort itself failed, or was asked for something wrong */
	RF_EXIT_REFUSED = 126, /* the policy refuses */
};

int rf_cmd_run(int argc, char **argv);
int rf_cmd_shell(int argc, char **argv);
int rf_cmd_policy_check(int argc, char **argv);
int rf_cmd_policy_explain(int argc, char **argv);
int rf_cmd_policy_why(int argc, char **argv);
int rf_cmd_policy_show(int argc, char **argv);
int rf_cmd_policy_diff(int argc, char **argv);
int rf_cmd_policy_schema(int argc, char **argv);
int rf_cmd_policy_learn(int argc, char **argv);
int rf_cmd_net_log(int argc, char **argv);
int rf_cmd_net_summary(int argc, char **argv);
int rf_cmd_net_show(int argc, char **argv);
int rf_cmd_net_set(int argc, char **argv);
int rf_cmd_net_allow(int argc, char **argv);
int rf_cmd_net_deny(int argc, char **argv);
int rf_cmd_audit_show(int argc, char **argv);
int rf_cmd_audit_verify(int argc, char **argv);
int rf_cmd_audit_export(int argc, char **argv);
int rf_cmd_audit_report(int argc, char **argv);
int rf_cmd_audit_index(int argc, char **argv);
int rf_cmd_watch(int argc, char **argv);
int rf_cmd_gateway(int argc, char **argv);
int rf_cmd_warden(int argc, char **argv);
int rf_cmd_serve(int argc, char **argv);
int rf_cmd_mcp(int argc, char **argv);
int rf_cmd_key_create(int argc, char **argv);
int rf_cmd_key_ls(int argc, char **argv);
int rf_cmd_key_rm(int argc, char **argv);
int rf_cmd_credential_set(int argc, char **argv);
int rf_cmd_credential_ls(int argc, char **argv);
int rf_cmd_credential_rm(int argc, char **argv);
int rf_cmd_approval_ls(int argc, char **argv);
int rf_cmd_approval_show(int argc, char **argv);
int rf_cmd_approval_allow(int argc, char **argv);
int rf_cmd_approval_deny(int argc, char **argv);
int rf_cmd_ps(int argc, char **argv);
int rf_cmd_freeze(int argc, char **argv);
int rf_cmd_thaw(int argc, char **argv);
int rf_cmd_kill(int argc, char **argv);
int rf_cmd_top(int argc, char **argv);
int rf_cmd_breaker_ls(int argc, char **argv);
int rf_cmd_breaker_reset(int argc, char **argv);
int rf_cmd_breaker_trip(int argc, char **argv);
int rf_cmd_create(int argc, char **argv);
int rf_cmd_exec(int argc, char **argv);
int rf_cmd_shadow(int argc, char **argv);
int rf_cmd_checkpoint(int argc, char **argv);
int rf_cmd_undo(int argc, char **argv);
int rf_cmd_discard(int argc, char **argv);
int rf_cmd_log(int argc, char **argv);
int rf_cmd_diff(int argc, char **argv);
int rf_cmd_apply(int argc, char **argv);
int rf_cmd_fork(int argc, char **argv);
int rf_cmd_rm(int argc, char **argv);
int rf_cmd_gc(int argc, char **argv);
int rf_cmd_file_cat(int argc, char **argv);
int rf_cmd_file_ls(int argc, char **argv);
int rf_cmd_file_stat(int argc, char **argv);
int rf_cmd_file_find(int argc, char **argv);
int rf_cmd_file_cp(int argc, char **argv);
int rf_cmd_file_rm(int argc, char **argv);
int rf_cmd_export(int argc, char **argv);
int rf_cmd_import(int argc, char **argv);
int rf_cmd_workspaces(int argc, char **argv);
int rf_cmd_agent_create(int argc, char **argv);
int rf_cmd_agent_run(int argc, char **argv);
int rf_cmd_agent_ls(int argc, char **argv);
int rf_cmd_agent_show(int argc, char **argv);
int rf_cmd_agent_rm(int argc, char **argv);
int rf_cmd_metrics(int argc, char **argv);
int rf_cmd_doctor(int argc, char **argv);
int rf_cmd_help(int argc, char **argv);

/* Carries out `run`, or a command that is `run` with other defaults; gives the exit code. */
int rf_cmd_run_as(enum rf_cmd_id id, int argc, char **argv);

/* Prints an error for a person on standard error, with its place in `file` (or NULL) and its hint. */
void rf_cmd_complain(const char *file, const struct rf_err *err);

/* Prints a line that a person should know of, though nothing failed, on standard error. */
void rf_cmd_remark(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Writes what a command has to say; gives the exit code: 0, or that of a failure, which is told. */
int rf_cmd_print(const struct rf_buf *out);

/* The same for a page that a person reads: see rf_style_page(). */
int rf_cmd_print_page(const struct rf_buf *page);

/* Puts a line for each change that stands in the way of an apply, or was left; and why one is. */
void rf_cmd_changes_put_stays(const struct rf_apply *apply, struct rf_style style,
			      struct rf_buf *out);
const char *rf_cmd_changes_stay(enum rf_apply_stay stay);

/* Where a program of ours is ("ringfort-init"): beside this one, as built, or where it was installed. */
void rf_cmd_find(const char *program, char *path, size_t size);

/*
 * What this process is, for who compares it with what stands (wire/peer.h): looked at once, since a command stays what it was started
 * as and may ask a gateway and a warden.  NULL if it can't be looked at.
 */
struct rf_peer;
const struct rf_peer *rf_cmd_self(void);

#endif
