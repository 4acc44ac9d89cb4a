/* Who answers what: see the table in route.c. */
#ifndef RF_SERVER_HANDLERS_H
#define RF_SERVER_HANDLERS_H

struct rf_api_call;
struct rf_http1_head;

typedef void rf_serve_fn(struct rf_api_call *call);

/* serve-info.c */
rf_serve_fn rf_serve_health, rf_serve_ready, rf_serve_version, rf_serve_openapi, rf_serve_metrics;
/* serve-key.c */
rf_serve_fn rf_serve_key;
/* serve-audit.c */
rf_serve_fn rf_serve_audit, rf_serve_breaker_list, rf_serve_breaker_reset, rf_serve_breaker_trip;
void rf_serve_audit_heed(struct rf_api_call *call, const struct rf_http1_head *head);
/* serve-approval.c */
rf_serve_fn rf_serve_approval_list, rf_serve_approval_get, rf_serve_approval_approve,
	rf_serve_approval_deny;
/* serve-workspace.c */
rf_serve_fn rf_serve_workspace_create, rf_serve_workspace_list, rf_serve_workspace_get,
	rf_serve_workspace_delete, rf_serve_checkpoint_create, rf_serve_checkpoint_list,
	rf_serve_checkpoint_delete, rf_serve_undo, rf_serve_fork, rf_serve_diff;
/* serve-apply.c */
rf_serve_fn rf_serve_apply;
/* serve-agent.c */
rf_serve_fn rf_serve_agent_create, rf_serve_agent_list, rf_serve_agent_get, rf_serve_agent_replace,
	rf_serve_agent_delete;
/* serve-run.c */
rf_serve_fn rf_serve_run, rf_serve_exec;
/* serve-box.c */
rf_serve_fn rf_serve_box_create, rf_serve_box_list, rf_serve_box_get, rf_serve_box_delete,
	rf_serve_box_renew, rf_serve_box_pause, rf_serve_box_resume;
/* Answers with the sandbox of that id, as one that was made (201). */
void rf_serve_box_show(struct rf_api_call *call, const char *id);
/* serve-metrics.c */
rf_serve_fn rf_serve_box_metrics;
/* serve-port.c */
rf_serve_fn rf_serve_port;
/* serve-program.c */
rf_serve_fn rf_serve_program_get, rf_serve_program_log, rf_serve_program_stdin,
	rf_serve_program_signal;
/* serve-file.c */
rf_serve_fn rf_serve_file_delete, rf_serve_file_list, rf_serve_file_stat, rf_serve_file_mkdir,
	rf_serve_file_move, rf_serve_file_search;
/* serve-upload.c */
rf_serve_fn rf_serve_file_upload;
/* serve-network.c */
rf_serve_fn rf_serve_network_get, rf_serve_network_put, rf_serve_network_log,
	rf_serve_network_summary;
/* serve-watch.c */
rf_serve_fn rf_serve_file_watch;
/* serve-bytes.c */
rf_serve_fn rf_serve_file_read, rf_serve_file_write, rf_serve_file_pack, rf_serve_file_unpack;
/* serve-mcp.c; the last looks at a head while it is there */
rf_serve_fn rf_serve_mcp, rf_serve_mcp_end;
void rf_serve_mcp_heed(struct rf_api_call *call, const struct rf_http1_head *head);

#endif
