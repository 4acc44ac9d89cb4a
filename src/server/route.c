/* The API: see route.h. */
#include "server/route.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "server/api-key.h"
#include "server/handlers.h"
#include "server/parley.h"

#define READ    (RF_SCOPE_READ | RF_SCOPE_RUN | RF_SCOPE_ADMIN)
#define RUN     (RF_SCOPE_RUN | RF_SCOPE_ADMIN)
#define ADMIN   RF_SCOPE_ADMIN
#define JSON    RF_MAX_JSON_READ
#define ALL     SIZE_MAX
#define BYTES   (RF_ROUTE_ANY_TYPE | RF_ROUTE_STREAMED)
#define RELAYED (RF_ROUTE_RELAYED | RF_ROUTE_STREAMED | RF_ROUTE_ANY_TYPE)

/* clang-format off */
const struct rf_route rf_route_table[] = {
	{ "GET",    "/v1/health",                       0,     0,     NULL,                     rf_serve_health },
	{ "GET",    "/v1/ready",                        0,     0,     NULL,                     rf_serve_ready },
	{ "GET",    "/v1/version",                      0,     0,     NULL,                     rf_serve_version },
	{ "GET",    "/v1/openapi.json",                 0,     0,     NULL,                     rf_serve_openapi },
	{ "GET",    "/metrics",                         ADMIN, 0,     NULL,                     rf_serve_metrics },
	{ "GET",    "/v1/key",                          READ,  0,     NULL,                     rf_serve_key },
	{ "GET",    "/v1/audit",                        READ,  0,     ",since,until,kind,box,verdict,limit,cursor,", rf_serve_audit, 0, rf_serve_audit_heed },
	{ "GET",    "/v1/approvals",                    READ,  0,     ",limit,cursor,sandbox,", rf_serve_approval_list },
	{ "GET",    "/v1/approvals/{id}",               READ,  0,     NULL,                     rf_serve_approval_get },
	{ "POST",   "/v1/approvals/{id}/approve",       ADMIN, JSON,  NULL,                     rf_serve_approval_approve },
	{ "POST",   "/v1/approvals/{id}/deny",          ADMIN, JSON,  NULL,                     rf_serve_approval_deny },
	{ "GET",    "/v1/breakers",                     READ,  0,     NULL,                     rf_serve_breaker_list },
	{ "POST",   "/v1/breakers/{name}/reset",        ADMIN, 0,     NULL,                     rf_serve_breaker_reset, RF_ROUTE_NAMES },
	{ "POST",   "/v1/breakers/{name}/trip",         ADMIN, JSON,  NULL,                     rf_serve_breaker_trip, RF_ROUTE_NAMES },
	{ "POST",   "/v1/run",                          RUN,   JSON,  NULL,                     rf_serve_run },
	{ "POST",   "/v1/sandboxes",                    RUN,   JSON,  NULL,                     rf_serve_box_create },
	{ "GET",    "/v1/sandboxes",                    READ,  0,     ",limit,cursor,label,",   rf_serve_box_list },
	{ "GET",    "/v1/sandboxes/{id}",               READ,  0,     NULL,                     rf_serve_box_get },
	{ "DELETE", "/v1/sandboxes/{id}",               RUN,   0,     NULL,                     rf_serve_box_delete },
	{ "GET",    "/v1/sandboxes/{id}/metrics",       READ,  0,     ",interval_ms,",          rf_serve_box_metrics },
	{ "POST",   "/v1/sandboxes/{id}/timeout",       RUN,   JSON,  NULL,                     rf_serve_box_renew },
	{ "POST",   "/v1/sandboxes/{id}/pause",         RUN,   0,     NULL,                     rf_serve_box_pause },
	{ "POST",   "/v1/sandboxes/{id}/resume",        RUN,   0,     NULL,                     rf_serve_box_resume },
	{ "POST",   "/v1/sandboxes/{id}/exec",          RUN,   JSON,  NULL,                     rf_serve_exec },
	{ "GET",    "/v1/sandboxes/{id}/exec",          RUN,   0,     NULL,                     rf_parley_begin },
	{ "GET",    "/v1/sandboxes/{id}/terminals/{number}", RUN, 0,  NULL,                     rf_parley_attach },
	{ "GET",    "/v1/sandboxes/{id}/programs/{number}",        READ, 0,    NULL,                 rf_serve_program_get },
	{ "GET",    "/v1/sandboxes/{id}/programs/{number}/log",    READ, 0,    ",cursor,wait_ms,",   rf_serve_program_log },
	{ "POST",   "/v1/sandboxes/{id}/programs/{number}/stdin",  RUN,  JSON, NULL,                 rf_serve_program_stdin },
	{ "POST",   "/v1/sandboxes/{id}/programs/{number}/signal", RUN,  JSON, NULL,                 rf_serve_program_signal },
	{ "GET",    "/v1/sandboxes/{id}/network",         READ,  0,     NULL,                     rf_serve_network_get },
	{ "PUT",    "/v1/sandboxes/{id}/network",         RUN,   JSON,  NULL,                     rf_serve_network_put },
	{ "GET",    "/v1/sandboxes/{id}/network/log",     READ,  0,     ",cursor,",               rf_serve_network_log },
	{ "GET",    "/v1/sandboxes/{id}/network/summary", READ,  0,     NULL,                     rf_serve_network_summary },
	{ "GET",     "/v1/sandboxes/{id}/ports/{port}/{path}", RUN, 0,     NULL, rf_serve_port, RELAYED },
	{ "POST",    "/v1/sandboxes/{id}/ports/{port}/{path}", RUN, ALL,   NULL, rf_serve_port, RELAYED },
	{ "PUT",     "/v1/sandboxes/{id}/ports/{port}/{path}", RUN, ALL,   NULL, rf_serve_port, RELAYED },
	{ "PATCH",   "/v1/sandboxes/{id}/ports/{port}/{path}", RUN, ALL,   NULL, rf_serve_port, RELAYED },
	{ "DELETE",  "/v1/sandboxes/{id}/ports/{port}/{path}", RUN, 0,     NULL, rf_serve_port, RELAYED },
	{ "OPTIONS", "/v1/sandboxes/{id}/ports/{port}/{path}", RUN, 0,     NULL, rf_serve_port, RELAYED },
	{ "GET",    "/v1/sandboxes/{id}/files",         READ,  0,     ",path,",                 rf_serve_file_read },
	{ "PUT",    "/v1/sandboxes/{id}/files",         RUN,   ALL,   ",path,",                 rf_serve_file_write, BYTES },
	{ "POST",   "/v1/sandboxes/{id}/files",         RUN,   ALL,   ",path,",                 rf_serve_file_upload, BYTES },
	{ "DELETE", "/v1/sandboxes/{id}/files",         RUN,   0,     ",path,",                 rf_serve_file_delete },
	{ "GET",    "/v1/sandboxes/{id}/files/list",    READ,  0,     ",path,",                 rf_serve_file_list },
	{ "GET",    "/v1/sandboxes/{id}/files/stat",    READ,  0,     ",path,",                 rf_serve_file_stat },
	{ "POST",   "/v1/sandboxes/{id}/files/mkdir",   RUN,   JSON,  NULL,                     rf_serve_file_mkdir },
	{ "POST",   "/v1/sandboxes/{id}/files/move",    RUN,   JSON,  NULL,                     rf_serve_file_move },
	{ "GET",    "/v1/sandboxes/{id}/files/search",  READ,  0,     ",path,name,content,limit,", rf_serve_file_search },
	{ "GET",    "/v1/sandboxes/{id}/files/watch",   READ,  0,     ",path,interval_ms,depth,", rf_serve_file_watch },
	{ "GET",    "/v1/sandboxes/{id}/files/archive", READ,  0,     ",path,",                 rf_serve_file_pack },
	{ "PUT",    "/v1/sandboxes/{id}/files/archive", RUN,   ALL,   ",path,",                 rf_serve_file_unpack, BYTES },
	{ "POST",   "/mcp",                             READ,  JSON,  NULL,                     rf_serve_mcp,     0, rf_serve_mcp_heed },
	{ "DELETE", "/mcp",                             READ,  0,     NULL,                     rf_serve_mcp_end, 0, rf_serve_mcp_heed },
	{ "POST",   "/v1/agents",                       RUN,   JSON,  NULL,                     rf_serve_agent_create },
	{ "GET",    "/v1/agents",                       READ,  0,     ",limit,cursor,label,",   rf_serve_agent_list },
	{ "GET",    "/v1/agents/{name}",                READ,  0,     NULL,                     rf_serve_agent_get },
	{ "PUT",    "/v1/agents/{name}",                RUN,   JSON,  NULL,                     rf_serve_agent_replace },
	{ "DELETE", "/v1/agents/{name}",                RUN,   0,     ",keep_workspace,",       rf_serve_agent_delete },
	{ "POST",   "/v1/workspaces",                        RUN,   JSON,  NULL,          rf_serve_workspace_create },
	{ "GET",    "/v1/workspaces",                        READ,  0,     NULL,          rf_serve_workspace_list },
	{ "GET",    "/v1/workspaces/{name}",                 READ,  0,     NULL,          rf_serve_workspace_get },
	{ "DELETE", "/v1/workspaces/{name}",                 RUN,   0,     NULL,          rf_serve_workspace_delete },
	{ "POST",   "/v1/workspaces/{name}/checkpoints",     RUN,   JSON,  NULL,          rf_serve_checkpoint_create },
	{ "GET",    "/v1/workspaces/{name}/checkpoints",     READ,  0,     NULL,          rf_serve_checkpoint_list },
	{ "DELETE", "/v1/workspaces/{name}/checkpoints/{number}", RUN, 0, NULL,          rf_serve_checkpoint_delete },
	{ "POST",   "/v1/workspaces/{name}/undo",            RUN,   JSON,  NULL,          rf_serve_undo },
	{ "POST",   "/v1/workspaces/{name}/fork",            RUN,   JSON,  NULL,          rf_serve_fork },
	{ "GET",    "/v1/workspaces/{name}/diff",            READ,  0,     ",from,to,",   rf_serve_diff },
	{ "POST",   "/v1/workspaces/{name}/apply",           RUN,   JSON,  NULL,          rf_serve_apply },
	{ "POST",   "/v1/sandboxes/{id}/apply",              RUN,   JSON,  NULL,          rf_serve_apply },
	{ "POST",   "/v1/sandboxes/{id}/checkpoints",        RUN,   JSON,  NULL,          rf_serve_checkpoint_create },
	{ "GET",    "/v1/sandboxes/{id}/checkpoints",        READ,  0,     NULL,          rf_serve_checkpoint_list },
	{ "DELETE", "/v1/sandboxes/{id}/checkpoints/{number}",    RUN, 0, NULL,          rf_serve_checkpoint_delete },
	{ "POST",   "/v1/sandboxes/{id}/undo",               RUN,   JSON,  NULL,          rf_serve_undo },
	{ "POST",   "/v1/sandboxes/{id}/fork",               RUN,   JSON,  NULL,          rf_serve_fork },
	{ "GET",    "/v1/sandboxes/{id}/diff",               READ,  0,     ",from,to,",   rf_serve_diff },
};
/* clang-format on */

const size_t rf_route_count = RF_LEN(rf_route_table);

static bool is_part(struct rf_span text, bool is_name)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '_' || (is_name && i > 0 && c && strchr(".:@+", c))))
			return false;
	}
	return text.len > 0 && text.len < RF_ROUTE_PART;
}

/* Segment by segment, as it stands: nothing is decoded, so a path has one spelling. */
static bool matches(const struct rf_route *route, struct rf_span path,
		    struct rf_route_parts *ret_parts)
{
	struct rf_span want = rf_span_of(route->path);

	*ret_parts = (struct rf_route_parts){ 0 };
	while (want.len > 0 && path.len > 0) {
		struct rf_span a, b;

		if (want.at[0] != '/' || path.at[0] != '/')
			return false;
		want = rf_span_part(want, 1, want.len);
		path = rf_span_part(path, 1, path.len);
		a = rf_span_part(want, 0, rf_span_find(want, '/'));
		b = rf_span_part(path, 0, rf_span_find(path, '/'));
		if (rf_span_is(a, RF_SPAN("{path}")) && a.len == want.len)
			return true; /* the rest, whatever it is */
		if (a.len > 0 && a.at[0] == '{') {
			if (!is_part(b, route->how & RF_ROUTE_NAMES) ||
			    ret_parts->count == RF_ROUTE_PARTS)
				return false;
			memcpy(ret_parts->part[ret_parts->count++], b.at, b.len);
		} else if (!rf_span_is(a, b)) {
			return false;
		}
		want = rf_span_part(want, a.len, want.len);
		path = rf_span_part(path, b.len, path.len);
	}
	return want.len == 0 && path.len == 0;
}

/* HEAD is GET without its body. */
static bool is_method(const char *method, struct rf_span asked)
{
	return rf_span_is(asked, rf_span_of(method)) ||
	       (strcmp(method, "GET") == 0 && rf_span_is(asked, RF_SPAN("HEAD")));
}

const struct rf_route *rf_route_find(struct rf_span method, struct rf_span path,
				     struct rf_route_parts *ret_parts, struct rf_api_error *error)
{
	char methods[64] = "";

	for (size_t i = 0; i < rf_route_count; i++) {
		const struct rf_route *route = &rf_route_table[i];

		if (!matches(route, path, ret_parts))
			continue;
		if (is_method(route->method, method))
			return route;
		snprintf(methods + strlen(methods), sizeof(methods) - strlen(methods), "%s%s",
			 methods[0] ? ", " : "", route->method);
	}
	if (methods[0]) {
		rf_api_error_say(error, RF_API_NO_METHOD, "method", "this path has no such method");
		rf_api_error_hint(error, "it has %s", methods);
		snprintf(error->allow, sizeof(error->allow), "%s", methods);
		return NULL;
	}
	rf_api_error_say(error, RF_API_NOT_FOUND, "path", "there is nothing at this path");
	rf_api_error_hint(error, "the API is described at /v1/openapi.json");
	return NULL;
}
