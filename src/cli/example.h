/*
 * Examples of each command, for its help and its manual page.  The tests run them.
 */
#ifndef RF_CLI_EXAMPLE_H
#define RF_CLI_EXAMPLE_H

#include "cli/command.h"

/* Each is ended by a row without words. */
extern const struct rf_cmd_example rf_example_run[];
extern const struct rf_cmd_example rf_example_shell[];
extern const struct rf_cmd_example rf_example_create[];
extern const struct rf_cmd_example rf_example_exec[];
extern const struct rf_cmd_example rf_example_shadow[];
extern const struct rf_cmd_example rf_example_workspaces[];
extern const struct rf_cmd_example rf_example_checkpoint[];
extern const struct rf_cmd_example rf_example_undo[];
extern const struct rf_cmd_example rf_example_discard[];
extern const struct rf_cmd_example rf_example_log[];
extern const struct rf_cmd_example rf_example_changes[];
extern const struct rf_cmd_example rf_example_apply[];
extern const struct rf_cmd_example rf_example_fork[];
extern const struct rf_cmd_example rf_example_rm[];
extern const struct rf_cmd_example rf_example_gc[];
extern const struct rf_cmd_example rf_example_file[];
extern const struct rf_cmd_example rf_example_file_cat[];
extern const struct rf_cmd_example rf_example_file_ls[];
extern const struct rf_cmd_example rf_example_file_stat[];
extern const struct rf_cmd_example rf_example_file_find[];
extern const struct rf_cmd_example rf_example_file_cp[];
extern const struct rf_cmd_example rf_example_file_rm[];
extern const struct rf_cmd_example rf_example_agent[];
extern const struct rf_cmd_example rf_example_agent_create[];
extern const struct rf_cmd_example rf_example_agent_run[];
extern const struct rf_cmd_example rf_example_agent_ls[];
extern const struct rf_cmd_example rf_example_agent_show[];
extern const struct rf_cmd_example rf_example_agent_rm[];
extern const struct rf_cmd_example rf_example_export[];
extern const struct rf_cmd_example rf_example_import[];
extern const struct rf_cmd_example rf_example_policy[];
extern const struct rf_cmd_example rf_example_check[];
extern const struct rf_cmd_example rf_example_explain[];
extern const struct rf_cmd_example rf_example_why[];
extern const struct rf_cmd_example rf_example_learn[];
extern const struct rf_cmd_example rf_example_net[];
extern const struct rf_cmd_example rf_example_net_log[];
extern const struct rf_cmd_example rf_example_net_summary[];
extern const struct rf_cmd_example rf_example_net_show[];
extern const struct rf_cmd_example rf_example_net_set[];
extern const struct rf_cmd_example rf_example_net_allow[];
extern const struct rf_cmd_example rf_example_net_deny[];
extern const struct rf_cmd_example rf_example_show[];
extern const struct rf_cmd_example rf_example_diff[];
extern const struct rf_cmd_example rf_example_schema[];
extern const struct rf_cmd_example rf_example_gateway[];
extern const struct rf_cmd_example rf_example_warden[];
extern const struct rf_cmd_example rf_example_serve[], rf_example_mcp[];
extern const struct rf_cmd_example rf_example_key[];
extern const struct rf_cmd_example rf_example_key_create[];
extern const struct rf_cmd_example rf_example_key_ls[];
extern const struct rf_cmd_example rf_example_key_rm[];
extern const struct rf_cmd_example rf_example_credential[];
extern const struct rf_cmd_example rf_example_credential_set[];
extern const struct rf_cmd_example rf_example_credential_ls[];
extern const struct rf_cmd_example rf_example_credential_rm[];
extern const struct rf_cmd_example rf_example_approval[];
extern const struct rf_cmd_example rf_example_approval_ls[];
extern const struct rf_cmd_example rf_example_approval_show[];
extern const struct rf_cmd_example rf_example_approval_allow[];
extern const struct rf_cmd_example rf_example_approval_deny[];
extern const struct rf_cmd_example rf_example_breaker[];
extern const struct rf_cmd_example rf_example_breaker_ls[];
extern const struct rf_cmd_example rf_example_breaker_reset[];
extern const struct rf_cmd_example rf_example_breaker_trip[];
extern const struct rf_cmd_example rf_example_ps[];
extern const struct rf_cmd_example rf_example_freeze[];
extern const struct rf_cmd_example rf_example_thaw[];
extern const struct rf_cmd_example rf_example_kill[];
extern const struct rf_cmd_example rf_example_metrics[];
extern const struct rf_cmd_example rf_example_watch[];
extern const struct rf_cmd_example rf_example_audit[];
extern const struct rf_cmd_example rf_example_audit_show[];
extern const struct rf_cmd_example rf_example_audit_verify[];
extern const struct rf_cmd_example rf_example_audit_report[];
extern const struct rf_cmd_example rf_example_audit_index[];
extern const struct rf_cmd_example rf_example_audit_export[];
extern const struct rf_cmd_example rf_example_doctor[];
extern const struct rf_cmd_example rf_example_help[];
extern const struct rf_cmd_example rf_example_all[];
extern const struct rf_cmd_example rf_example_top[];

#endif
