/*
 * /mcp: the Model Context Protocol over HTTP, of both eras.
 *
 * Up to 2025-11-25 a client begins with `initialize` and is in a session from then on; since 2026-07-28 each message brings along all that there is to know about its sender.  Which one
 * it is, a message says itself.  What it asks for is looked up in one table; tools and resources are requests of the API (mcp-tool.h) and go their way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "server/api-call-inside.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/mcp-file.h"
#include "server/mcp-result.h"
#include "server/mcp-session.h"
#include "server/mcp-visit.h"

#define NAME_MOST 8192
#define INFO      "{\"name\":\"ringfort\",\"title\":\"Ringfort\",\"version\":\"" RF_VERSION "\"}"
#define META      "io.modelcontextprotocol/"

static const char instructions[] =
	"Ringfort runs code and commands in sandboxes that see nothing of this machine: no files, "
	"secrets, "
	"processes or network, unless a policy gives them. run_code and run_command without "
	"`sandbox` "
	"use a fresh one each time. For work of several steps call create_sandbox once, and pass "
	"its id as "
	"`sandbox`: files beneath /tmp stay there until it is deleted or its time is over.";

/* The newest first. */
static const char *const versions[] = { RF_MCP_MODERN, "2025-11-25", "2025-06-18", "2025-03-26",
					"2024-11-05" };

static const char *known_version(const char *text)
{
	for (size_t i = 0; i < RF_LEN(versions); i++)
		if (strcmp(versions[i], text) == 0)
			return versions[i];
	return NULL;
}

static bool has_more(void)
{
	return &rf_mcp_more != NULL;
}

/* ------------------------------------------------------------- what there is */

static void put_versions(struct rf_buf *out)
{
	for (size_t i = 0; i < RF_LEN(versions); i++)
		rf_buf_printf(out, "%s\"%s\"", i ? "," : "", versions[i]);
}

static void put_about(struct rf_buf *out, bool is_modern)
{
	struct rf_json json;

	rf_buf_printf(out, "\"capabilities\":{\"tools\":{},\"resources\":{%s}%s%s},",
		      has_more() && !is_modern ? "\"subscribe\":true" : "", has_more() ? "," : "",
		      !has_more() ? ""
		      : is_modern ? rf_mcp_more.modern_capabilities
				  : rf_mcp_more.capabilities);
	if (!is_modern)
		rf_buf_puts(out, "\"serverInfo\":" INFO ",");
	rf_buf_puts(out, "\"instructions\":");
	rf_json_init(&json, out, false);
	rf_json_string(&json, NULL, instructions);
	rf_buf_puts(out, "}");
}

static void on_initialize(struct rf_mcp_visit *visit)
{
	const struct rf_jsonread_value *params = visit->message.params;
	const struct rf_jsonread_value *can =
		params ? rf_jsonread_member(params, "capabilities") : NULL;
	const char *asked = rf_mcp_message_text(params, "protocolVersion");
	const char *version = asked ? known_version(asked) : NULL;
	struct rf_api_call *call = visit->call;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 64 * 1024);
	if (!asked) {
		visit->is_malformed = true;
		rf_mcp_visit_refuse(visit, RF_MCP_BAD_PARAMS, NULL,
				    "protocolVersion: it is missing");
		return;
	}
	if (!version || strcmp(version, RF_MCP_MODERN) == 0) /* that one knows no sessions */
		version = versions[1];
	visit->session = rf_mcp_session_new(call->front, call->holder, version);
	if (!visit->session) {
		rf_mcp_visit_refuse(visit, RF_MCP_INTERNAL, NULL, "there is no memory left");
		return;
	}
	if (can && can->type == RF_JSONREAD_OBJECT) {
		visit->session->can_sample = rf_jsonread_member(can, "sampling");
		visit->session->can_elicit = rf_jsonread_member(can, "elicitation");
	}
	call->more = (struct rf_field){ RF_SPAN("Mcp-Session-Id"), rf_span_of(visit->session->id) };
	rf_buf_printf(&out, "{\"protocolVersion\":\"%s\",", version);
	put_about(&out, false);
	rf_mcp_visit_reply(visit, &out, RF_MCP_UNTOLD);
}

static void on_discover(struct rf_mcp_visit *visit)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 64 * 1024);
	rf_buf_puts(&out, "{\"supportedVersions\":[");
	put_versions(&out);
	rf_buf_puts(&out, "],");
	put_about(&out, true);
	rf_mcp_visit_reply(visit, &out, RF_MCP_FOR_ALL);
}

static void on_ping(struct rf_mcp_visit *visit)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 16);
	rf_buf_puts(&out, "{}");
	rf_mcp_visit_reply(visit, &out, RF_MCP_UNTOLD);
}

/* One page: a cursor can't have come from us. */
static bool is_first_page(struct rf_mcp_visit *visit)
{
	if (!rf_mcp_message_text(visit->message.params, "cursor"))
		return true;
	rf_mcp_visit_refuse(visit, RF_MCP_BAD_PARAMS, NULL, "cursor: no page has this one");
	return false;
}

static void on_tools(struct rf_mcp_visit *visit)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 256 * 1024);
	if (!is_first_page(visit))
		return;
	rf_buf_printf(&out, "{\"tools\":[%s", rf_mcp_tool_list);
	if (has_more())
		rf_mcp_more.put_tools(&out);
	rf_buf_puts(&out, "]}");
	rf_mcp_visit_reply(visit, &out, RF_MCP_FOR_ALL);
}

static void on_templates(struct rf_mcp_visit *visit)
{
	static const char templates[] =
		"{\"resourceTemplates\":["
		"{\"uriTemplate\":\"ringfort://sandboxes/{id}/files/"
		"{+path}\",\"name\":\"file\",\"title\":\"A "
		"file of a sandbox\",\"description\":\"The content of the file at the absolute "
		"path /{path} of "
		"the sandbox\"},"
		"{\"uriTemplate\":\"ringfort://sandboxes/{id}/programs/{number}/"
		"log\",\"name\":\"log\",\"title\":\"What a program wrote\",\"description\":\"The "
		"output of a "
		"program in the background of the sandbox\",\"mimeType\":\"application/json\"}]}";
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, sizeof(templates));
	if (!is_first_page(visit))
		return;
	rf_buf_puts(&out, templates);
	rf_mcp_visit_reply(visit, &out, RF_MCP_FOR_ALL);
}

/* ------------------------------------------------------------- what is done */

static void on_call(struct rf_mcp_visit *visit)
{
	const struct rf_jsonread_value *params = visit->message.params;
	const char *name = rf_mcp_message_text(params, "name");
	const struct rf_jsonread_value *arguments =
		params ? rf_jsonread_member(params, "arguments") : NULL;
	const char *path = rf_mcp_message_text(arguments, "path");
	struct rf_api_call *call = visit->call;
	struct rf_mcp_request request;
	struct rf_api_error error;

	visit->tool = name ? rf_mcp_tool_find(name) : NULL;
	if (!visit->tool) {
		rf_mcp_visit_refuse(visit, RF_MCP_BAD_PARAMS, NULL, "there is no tool `%.60s`",
				    name ? name : "");
		return;
	}
	if (rf_mcp_tool_request(visit->tool, arguments, &request, &error) < 0) {
		rf_mcp_result_error(visit, &error);
		return;
	}
	visit->path = path ? strdup(path) : NULL;
	visit->token = visit->message.meta
			       ? rf_jsonread_member(visit->message.meta, "progressToken")
			       : NULL;
	rf_mcp_visit_watch(visit);
	call->on_result = visit->tool->shape == RF_MCP_AS_RUN ? rf_mcp_result_on_result : NULL;
	rf_api_call_become(call, request.method, request.path.data, &request.query, &request.body,
			   visit->tool->shape == RF_MCP_AS_FILE   ? rf_mcp_file_read
			   : visit->tool->place == RF_MCP_TO_FILE ? rf_mcp_file_write
								  : NULL,
			   rf_mcp_result_on_tool);
	rf_mcp_request_done(&request);
}

static void refuse_resource(struct rf_mcp_visit *visit)
{
	RF_AUTO_BUF struct rf_buf data;
	struct rf_json json;

	rf_buf_init(&data, 64 * 1024);
	rf_json_init(&json, &data, false);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "uri", visit->uri);
	rf_json_close_object(&json);
	rf_mcp_visit_refuse(visit, visit->is_modern ? RF_MCP_BAD_PARAMS : RF_MCP_NO_RESOURCE,
			    data.data, "there is no such resource");
}

static void on_content(struct rf_api_call *call, unsigned status, const struct rf_buf *bytes,
		       const struct rf_api_error *error)
{
	struct rf_mcp_visit *visit = call->visit;

	(void)status;
	if (!error)
		rf_mcp_result_content(visit, bytes);
	else if (error->code == RF_API_NOT_FOUND)
		refuse_resource(visit);
	else
		rf_mcp_visit_refuse(visit, RF_MCP_INTERNAL, NULL, "%s%s%s", error->message,
				    error->remedy[0] ? "; " : "", error->remedy);
}

static void on_read(struct rf_mcp_visit *visit)
{
	struct rf_mcp_request request;

	visit->uri = rf_mcp_message_text(visit->message.params, "uri");
	if (!visit->uri) {
		rf_mcp_visit_refuse(visit, RF_MCP_BAD_PARAMS, NULL, "uri: it is missing");
		return;
	}
	if (rf_mcp_tool_resource(visit->uri, &request) < 0) {
		refuse_resource(visit);
		return;
	}
	rf_api_call_become(visit->call, request.method, request.path.data, &request.query,
			   &request.body, request.query.len ? rf_mcp_file_read : NULL, on_content);
	rf_mcp_request_done(&request);
}

static void on_listed(struct rf_api_call *call, unsigned status, const struct rf_buf *bytes,
		      const struct rf_api_error *error)
{
	(void)status;
	if (error && error->code == RF_API_INVALID)
		rf_mcp_visit_refuse(call->visit, RF_MCP_BAD_PARAMS, NULL, "%s", error->message);
	else if (error)
		rf_mcp_visit_refuse(call->visit, RF_MCP_INTERNAL, NULL, "%s", error->message);
	else
		rf_mcp_result_resources(call->visit, bytes);
}

/* What can be named without knowing a path: the sandboxes, and what their programs write. */
static void on_resources(struct rf_mcp_visit *visit)
{
	const char *cursor = rf_mcp_message_text(visit->message.params, "cursor");
	struct rf_buf query, none = { 0 };

	rf_buf_init(&query, 256);
	if (cursor && !rf_order_is_label(cursor)) {
		rf_mcp_visit_refuse(visit, RF_MCP_BAD_PARAMS, NULL, "cursor: no page has this one");
		return;
	}
	rf_buf_printf(&query, "limit=100%s%s", cursor ? "&cursor=" : "", cursor ? cursor : "");
	rf_api_call_become(visit->call, "GET", "/v1/sandboxes", &query, &none, NULL, on_listed);
	rf_buf_done(&query);
}

/* ------------------------------------------------------------- which of them */

enum {
	OLD = 1,
	NEW = 2
};

/* clang-format off */
static const struct { const char *method; unsigned eras; void (*take)(struct rf_mcp_visit *visit); } methods[] = {
	{ "initialize",               OLD,       on_initialize },
	{ "ping",                     OLD,       on_ping },
	{ "server/discover",          NEW,       on_discover },
	{ "tools/list",               OLD | NEW, on_tools },
	{ "tools/call",               OLD | NEW, on_call },
	{ "resources/list",           OLD | NEW, on_resources },
	{ "resources/templates/list", OLD | NEW, on_templates },
	{ "resources/read",           OLD | NEW, on_read },
};
/* clang-format on */

static void dispatch(struct rf_mcp_visit *visit)
{
	const char *method = visit->message.method;

	if (has_more() && rf_mcp_more.take(visit))
		return;
	for (size_t i = 0; i < RF_LEN(methods); i++)
		if (strcmp(methods[i].method, method) == 0 &&
		    (methods[i].eras & (visit->is_modern ? NEW : OLD))) {
			methods[i].take(visit);
			return;
		}
	rf_mcp_visit_refuse(visit, RF_MCP_NO_METHOD, NULL, "there is no method `%.60s`", method);
}

/* ------------------------------------------------------------- since 2026-07-28 */

static void refuse_version(struct rf_mcp_visit *visit, const char *asked)
{
	RF_AUTO_BUF struct rf_buf data;
	struct rf_json json;

	rf_buf_init(&data, 4096);
	rf_buf_puts(&data, "{\"supported\":[");
	put_versions(&data);
	rf_buf_puts(&data, "],\"requested\":");
	rf_json_init(&json, &data, false);
	rf_json_string(&json, NULL, asked);
	rf_buf_puts(&data, "}");
	rf_mcp_visit_refuse(visit, RF_MCP_VERSION, data.data,
			    "this version of the protocol is not spoken here");
}

/* What the head must say of the body, so that who stands on the way can go by it. */
static bool is_mirrored(struct rf_mcp_visit *visit)
{
	const struct rf_mcp_message *message = &visit->message;
	bool by_uri = strcmp(message->method, "resources/read") == 0;
	bool by_name = strcmp(message->method, "tools/call") == 0 ||
		       strcmp(message->method, "prompts/get") == 0;
	const char *name = by_uri    ? rf_mcp_message_text(message->params, "uri")
			   : by_name ? rf_mcp_message_text(message->params, "name")
				     : NULL;
	const char *wrong = NULL;

	if (!visit->head.has_version || strcmp(visit->head.version, message->version) != 0)
		wrong = "MCP-Protocol-Version";
	else if (!visit->head.has_method || strcmp(visit->head.method, message->method) != 0)
		wrong = "Mcp-Method";
	else if (name && (!visit->head.name || strcmp(visit->head.name, name) != 0))
		wrong = "Mcp-Name";
	if (wrong)
		rf_mcp_visit_refuse(visit, RF_MCP_HEADER, NULL,
				    "%s: the head does not say what the body says", wrong);
	return !wrong;
}

static void take_modern(struct rf_mcp_visit *visit)
{
	const struct rf_mcp_message *message = &visit->message;
	const struct rf_jsonread_value *can =
		message->meta ? rf_jsonread_member(message->meta, META "clientCapabilities") : NULL;

	visit->is_modern = true;
	if (!message->version || !can || can->type != RF_JSONREAD_OBJECT)
		rf_mcp_visit_refuse(visit, RF_MCP_BAD_PARAMS, NULL,
				    "params._meta: " META "%s is missing",
				    message->version ? "clientCapabilities" : "protocolVersion");
	else if (is_mirrored(visit)) {
		if (strcmp(message->version, RF_MCP_MODERN) != 0)
			refuse_version(visit, message->version);
		else
			dispatch(visit);
	}
}

/* ------------------------------------------------------------- until 2025-11-25 */

static void refuse_session(struct rf_api_call *call, unsigned status)
{
	struct rf_buf out;

	rf_buf_init(&out, 1024);
	rf_mcp_message_refuse(&out, call->visit->message.id, RF_MCP_NO_REQUEST,
			      status == 404 ? "this session is over: begin another with initialize"
					    : "Mcp-Session-Id is missing: begin with initialize",
			      NULL);
	rf_buf_puts(&out, "\n");
	rf_api_call_answer(call, status, &out);
	rf_buf_done(&out);
}

/* False: it is answered. */
static bool finds_session(struct rf_mcp_visit *visit)
{
	struct rf_api_call *call = visit->call;

	if (!visit->head.session[0]) {
		refuse_session(call, 400);
		return false;
	}
	visit->session = rf_mcp_session_find(call->front, call->holder, visit->head.session);
	if (!visit->session)
		refuse_session(call, 404);
	return visit->session != NULL;
}

static void cancel(const struct rf_mcp_visit *visit)
{
	const struct rf_jsonread_value *id =
		visit->message.params ? rf_jsonread_member(visit->message.params, "requestId")
				      : NULL;
	struct rf_mcp_visit *at = visit->session->visits;

	while (at && !rf_mcp_message_is_id(at->message.id, id))
		at = at->next;
	if (!at || at->call->is_last) /* it is over already, as it may be */
		return;
	rf_api_call_let_go(at->call);
	rf_mcp_visit_refuse(at, RF_MCP_CANCELLED, NULL, "it was cancelled");
}

static void accept_silently(struct rf_api_call *call)
{
	struct rf_buf none = { 0 };

	rf_api_call_answer(call, 202, &none);
}

static void take_old(struct rf_mcp_visit *visit)
{
	const struct rf_mcp_message *message = &visit->message;
	bool is_first =
		message->kind == RF_MCP_REQUEST && strcmp(message->method, "initialize") == 0;

	if (is_first) {
		dispatch(visit);
		return;
	}
	if (!finds_session(visit))
		return;
	if (visit->head.has_version && !known_version(visit->head.version)) {
		visit->session = NULL;
		refuse_version(visit, visit->head.version);
		return;
	}
	if (message->kind == RF_MCP_REQUEST) {
		visit->next = visit->session->visits;
		visit->session->visits = visit;
		dispatch(visit);
		return;
	}
	if (message->kind == RF_MCP_RESPONSE && has_more())
		rf_mcp_more.heard(visit->session, message);
	else if (message->kind == RF_MCP_NOTIFICATION &&
		 strcmp(message->method, "notifications/cancelled") == 0)
		cancel(visit);
	visit->session = NULL; /* it is in no list */
	accept_silently(visit->call);
}

/* ------------------------------------------------------------- requests */

static void keep(const struct rf_http1_head *head, struct rf_span name, char *text, size_t size,
		 bool *ret_is_there)
{
	struct rf_span value = rf_api_call_value(head, name);

	*ret_is_there = value.at != NULL;
	if (value.len < size && !memchr(value.at ? value.at : "", '\0', value.len))
		memcpy(text, value.at ? value.at : "",
		       value.len); /* a longer one is none that fits */
}

/* A name that no field can carry comes as "=?base64?...?=". */
static char *keep_name(struct rf_span value)
{
	static const char before[] = "=?base64?", behind[] = "?=";
	size_t edge = sizeof(before) - 1, end = sizeof(behind) - 1;
	char *name;
	ssize_t len = (ssize_t)value.len;

	if (!value.at || value.len > NAME_MOST || !(name = calloc(1, value.len + 4)))
		return NULL;
	if (value.len > edge + end && memcmp(value.at, before, edge) == 0 &&
	    memcmp(value.at + value.len - end, behind, end) == 0)
		len = rf_base64_decode(value.at + edge, value.len - edge - end, name);
	else
		memcpy(name, value.at, value.len);
	name[len > 0 ? len : 0] = '\0';
	return name;
}

void rf_serve_mcp_heed(struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_mcp_visit *visit = calloc(1, sizeof(*visit));
	bool ignored;

	call->visit = visit;
	if (!visit)
		return;
	visit->call = call;
	visit->takes_stream = call->wants_stream;
	keep(head, RF_SPAN("MCP-Protocol-Version"), visit->head.version,
	     sizeof(visit->head.version), &visit->head.has_version);
	keep(head, RF_SPAN("Mcp-Method"), visit->head.method, sizeof(visit->head.method),
	     &visit->head.has_method);
	keep(head, RF_SPAN("Mcp-Session-Id"), visit->head.session, sizeof(visit->head.session),
	     &ignored);
	visit->head.name = keep_name(rf_api_call_value(head, RF_SPAN("Mcp-Name")));
}

/*
 * A message of the newer era says so in its `_meta`, by a method that only that has, or in its head.  A head with a version that nobody knows is a newer one's, too, unless there is
 * a session.
 */
static bool is_modern(const struct rf_mcp_visit *visit)
{
	const struct rf_mcp_message *message = &visit->message;
	bool is_unknown = visit->head.has_version && !known_version(visit->head.version);

	if (visit->head.session[0] || message->kind == RF_MCP_RESPONSE)
		return false;
	return message->version || strcmp(visit->head.version, RF_MCP_MODERN) == 0 ||
	       strcmp(message->method, "server/discover") == 0 || is_unknown;
}

void rf_serve_mcp(struct rf_api_call *call)
{
	struct rf_mcp_visit *visit = call->visit;
	struct rf_mcp_fault fault;

	if (!visit) {
		rf_exchange_abort(call->x);
		return;
	}
	visit->is_malformed = rf_mcp_message_read(call->body.data ? call->body.data : "",
						  call->body.len, &visit->message, &fault) < 0;
	if (visit->is_malformed)
		rf_mcp_visit_refuse(visit, fault.code, NULL, "%s", fault.message);
	else if (!is_modern(visit))
		take_old(visit);
	else if (visit->message.kind == RF_MCP_REQUEST)
		take_modern(visit);
	else
		accept_silently(call);
}

void rf_serve_mcp_end(struct rf_api_call *call)
{
	struct rf_mcp_visit *visit = call->visit;
	struct rf_mcp_session *session;
	struct rf_api_error error;
	struct rf_buf none = { 0 };

	if (!visit || !visit->head.session[0]) {
		bool is_new = visit && strcmp(visit->head.version, RF_MCP_MODERN) == 0;

		rf_api_error_say(&error, is_new ? RF_API_NO_METHOD : RF_API_MALFORMED,
				 "Mcp-Session-Id", "there is no session to end");
		rf_api_error_hint(&error, "name it by Mcp-Session-Id; since " RF_MCP_MODERN
					  " there are none");
		snprintf(error.allow, sizeof(error.allow), "%s", is_new ? "POST" : "");
		rf_api_call_fail(call, &error);
		return;
	}
	session = rf_mcp_session_find(call->front, call->holder, visit->head.session);
	if (!session) {
		rf_api_error_say(&error, RF_API_NOT_FOUND, "Mcp-Session-Id",
				 "there is no such session");
		rf_api_error_hint(&error, "it may be over already");
		rf_api_call_fail(call, &error);
		return;
	}
	rf_mcp_session_end(call->front, session);
	rf_api_call_answer(call, 204, &none);
}
