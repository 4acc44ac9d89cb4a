/* The tools that MCP has here: see mcp-tool.h. */
#include "server/mcp-tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "server/form.h"
#include "server/mcp-arguments.h"

#define BOX        "/v1/sandboxes/%s"
#define WORKSPACE  "/v1/workspaces/%s"
#define SCHEME     "ringfort://sandboxes/"
#define QUERY_MOST 16384
#define ID_MOST    63 /* as names of workspaces have */

/* What a path is of, and how a model comes to one. */
struct rf_mcp_subject {
	const char *argument, *missing, *odd;
};

/* clang-format off */
static const struct rf_mcp_subject sandbox = {
	"sandbox", "create_sandbox makes one", "list_sandboxes tells them, create_sandbox makes one",
}, workspace = {
	"workspace", "list_workspaces tells them", "list_workspaces tells them",
};

const struct rf_mcp_tool rf_mcp_tools[] = {
	{ "run_code",       "POST",   BOX "/exec",       "/v1/run",       RF_MCP_TO_BODY,   RF_MCP_AS_RUN },
	{ "run_command",    "POST",   BOX "/exec",       "/v1/run",       RF_MCP_TO_BODY,   RF_MCP_AS_RUN },
	{ "create_sandbox", "POST",   NULL,              "/v1/sandboxes", RF_MCP_TO_BODY,   RF_MCP_AS_IS },
	{ "list_sandboxes", "GET",    NULL,              "/v1/sandboxes", RF_MCP_TO_QUERY,  RF_MCP_AS_IS },
	{ "delete_sandbox", "DELETE", BOX,               NULL,            RF_MCP_TO_QUERY,  RF_MCP_AS_DONE },
	{ "read_file",      "GET",    BOX "/files",      NULL,            RF_MCP_TO_QUERY,  RF_MCP_AS_FILE },
	{ "write_file",     "PUT",    BOX "/files",      NULL,            RF_MCP_TO_FILE,   RF_MCP_AS_DONE },
	{ "list_files",     "GET",    BOX "/files/list", NULL,            RF_MCP_TO_QUERY,  RF_MCP_AS_IS },
	{ "search_files",   "GET",    BOX "/files/search", NULL,          RF_MCP_TO_QUERY,  RF_MCP_AS_IS },
	{ "checkpoint",     "POST",   BOX "/checkpoints", NULL,           RF_MCP_TO_BODY,   RF_MCP_AS_IS },
	{ "list_checkpoints", "GET",  BOX "/checkpoints", NULL,           RF_MCP_TO_QUERY,  RF_MCP_AS_IS },
	{ "undo",           "POST",   BOX "/undo",       NULL,            RF_MCP_TO_BODY,   RF_MCP_AS_IS },
	{ "diff",           "GET",    BOX "/diff",       NULL,            RF_MCP_TO_QUERY,  RF_MCP_AS_IS },
	{ "fork",           "POST",   BOX "/fork",       NULL,            RF_MCP_TO_BODY,   RF_MCP_AS_IS },
	{ "apply",          "POST",   BOX "/apply",      NULL,            RF_MCP_TO_BODY,   RF_MCP_AS_IS },
	{ "list_workspaces", "GET",   NULL,              "/v1/workspaces", RF_MCP_TO_QUERY, RF_MCP_AS_IS },
	{ "delete_workspace", "DELETE", WORKSPACE,       NULL,            RF_MCP_TO_QUERY,  RF_MCP_AS_DONE, &workspace },
	{ "list_approvals", "GET",    NULL,              "/v1/approvals", RF_MCP_TO_QUERY,  RF_MCP_AS_IS },
};
/* clang-format on */

const size_t rf_mcp_tool_count = RF_LEN(rf_mcp_tools);

const struct rf_mcp_tool *rf_mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < rf_mcp_tool_count; i++)
		if (strcmp(rf_mcp_tools[i].name, name) == 0)
			return &rf_mcp_tools[i];
	return NULL;
}

void rf_mcp_request_done(struct rf_mcp_request *request)
{
	rf_buf_done(&request->path);
	rf_buf_done(&request->query);
	rf_buf_done(&request->body);
}

static void init(struct rf_mcp_request *request, const char *method)
{
	request->method = method;
	rf_buf_init(&request->path, 512);
	rf_buf_init(&request->query, QUERY_MOST);
	rf_buf_init(&request->body, RF_MAX_JSON_READ);
}

static int invalid(struct rf_api_error *error, const char *where, const char *what,
		   const char *hint)
{
	rf_api_error_say(error, RF_API_INVALID, where, "%s: %s", where, what);
	return rf_api_error_hint(error, "%s", hint);
}

/* ------------------------------------------------------------- parts of a request */

static bool is_word(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_",
			    text[i]))
			return false;
	return len > 0 && len <= ID_MOST;
}

static void add_parameter(struct rf_buf *query, const char *name, const char *text)
{
	rf_buf_printf(query, "%s%s=", query->len ? "&" : "", name);
	for (; *text; text++)
		if (is_word(text, 1) || *text == '.' || *text == '/')
			rf_buf_add(query, text, 1);
		else
			rf_buf_printf(query, "%%%02X", (unsigned)(unsigned char)*text);
}

static int put_parameter(const struct rf_jsonread_value *value, struct rf_mcp_request *request,
			 struct rf_api_error *error)
{
	if (value->type != RF_JSONREAD_STRING && value->type != RF_JSONREAD_NUMBER)
		return invalid(error, value->name, "it is no text and no number",
			       "look at the tool's schema");
	if (!is_word(value->name, strlen(value->name)))
		return invalid(error, "arguments", "one of them has a name that none can have",
			       "look at the tool's schema");
	add_parameter(&request->query, value->name, value->text);
	return 0;
}

static int put_content(const struct rf_jsonread_value *value, struct rf_mcp_request *request,
		       struct rf_api_error *error)
{
	size_t len;
	char *data;
	ssize_t got;

	if (value->type != RF_JSONREAD_STRING)
		return invalid(error, value->name, "it is no text", "write it as a string");
	if (request->body.len)
		return invalid(error, value->name, "there are two of it",
			       "give content or content_base64");
	len = strlen(value->text);
	if (strcmp(value->name, "content") == 0) {
		rf_buf_add(&request->body, value->text, len);
		return 0;
	}
	data = rf_buf_reserve(&request->body, len + 4);
	got = data && len % 4 == 0 && !strpbrk(value->text, "\r\n")
		      ? rf_base64_decode(value->text, len, data)
		      : -EINVAL;
	if (got < 0)
		return invalid(error, value->name, "it is no base64",
			       "with padding, without line breaks");
	rf_buf_grew(&request->body, (size_t)got);
	return 0;
}

/* ------------------------------------------------------------- tools */

static const struct rf_mcp_subject *subject_of(const struct rf_mcp_tool *tool)
{
	return tool->subject ? tool->subject : &sandbox;
}

static int put_path(const struct rf_mcp_tool *tool, const struct rf_jsonread_value *which,
		    struct rf_mcp_request *request, struct rf_api_error *error)
{
	const struct rf_mcp_subject *subject = subject_of(tool);

	if (!which && tool->alone) {
		rf_buf_puts(&request->path, tool->alone);
		return 0;
	}
	if (!which)
		return invalid(error, subject->argument, "it is missing", subject->missing);
	if (!tool->path)
		return invalid(error, subject->argument, "there is no such argument",
			       "leave it out");
	if (which->type != RF_JSONREAD_STRING || !is_word(which->text, strlen(which->text)))
		return invalid(error, subject->argument, "there can be none of that name",
			       subject->odd);
	for (const char *at = tool->path; *at; at++) {
		if (at[0] == '%' && at[1] == 's') {
			rf_buf_puts(&request->path, which->text);
			at++;
		} else {
			rf_buf_add(&request->path, at, 1);
		}
	}
	return 0;
}

static int put_arguments(const struct rf_mcp_tool *tool, const struct rf_jsonread_value *arguments,
			 struct rf_mcp_request *request, struct rf_api_error *error)
{
	struct rf_json json;

	rf_json_init(&json, &request->body, false);
	if (tool->place == RF_MCP_TO_BODY)
		rf_json_open_object(&json, NULL);
	for (const struct rf_jsonread_value *at = arguments ? arguments->first : NULL; at;
	     at = at->next) {
		bool is_content = strncmp(at->name, "content", 7) == 0;

		if (strcmp(at->name, subject_of(tool)->argument) == 0)
			continue;
		if (tool->place == RF_MCP_TO_BODY)
			rf_form_copy(at, at->name, &json);
		else if ((is_content && tool->place == RF_MCP_TO_FILE
				  ? put_content(at, request, error)
				  : put_parameter(at, request, error)) < 0)
			return -1;
	}
	if (tool->place == RF_MCP_TO_BODY)
		rf_json_close_object(&json);
	return 0;
}

int rf_mcp_tool_request(const struct rf_mcp_tool *tool, const struct rf_jsonread_value *arguments,
			struct rf_mcp_request *ret_request, struct rf_api_error *error)
{
	const struct rf_jsonread_value *which = NULL;
	struct rf_mcp_request request;
	int code;

	if (arguments && arguments->type != RF_JSONREAD_OBJECT)
		return invalid(error, "arguments", "they are no object", "name each of them");
	if (rf_mcp_arguments_check(tool->name, arguments, subject_of(tool)->argument, error) < 0)
		return -1;
	which = arguments ? rf_jsonread_member(arguments, subject_of(tool)->argument) : NULL;
	init(&request, tool->method);
	code = put_path(tool, which, &request, error);
	if (code == 0)
		code = put_arguments(tool, arguments, &request, error);
	if (code == 0 &&
	    (request.path.has_failed || request.query.has_failed || request.body.has_failed)) {
		rf_api_error_say(error, RF_API_TOO_LARGE, "arguments",
				 "arguments: they are too long");
		code = rf_api_error_hint(error, "write large files in parts");
	}
	if (code < 0) {
		rf_mcp_request_done(&request);
		return -1;
	}
	*ret_request = request;
	return 0;
}

/* ------------------------------------------------------------- resources */

static int hex_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* A path as a URI has it: percent signs stand for bytes. */
static int decode(const char *text, char *path, size_t size)
{
	size_t n = 0;

	for (; *text; text++) {
		int high = *text == '%' ? hex_of(text[1]) : 0;
		int low = *text == '%' && high >= 0 ? hex_of(text[2]) : 0;

		if (high < 0 || low < 0 || n + 2 > size)
			return -1;
		path[n++] = *text == '%' ? (char)(high << 4 | low) : *text;
		if (!path[n - 1])
			return -1;
		text += *text == '%' ? 2 : 0;
	}
	path[n] = '\0';
	return rf_json_is_utf8(path, n) ? 0 : -1;
}

int rf_mcp_tool_resource(const char *uri, struct rf_mcp_request *ret_request)
{
	struct rf_mcp_request request;
	size_t id = strlen(SCHEME), len;
	char path[4096];
	const char *rest;

	if (strncmp(uri, SCHEME, id) != 0)
		return -1;
	len = strcspn(uri + id, "/");
	rest = uri + id + len;
	if (!is_word(uri + id, len))
		return -1;
	init(&request, "GET");
	rf_buf_printf(&request.path, "/v1/sandboxes/%.*s", (int)len, uri + id);
	if (strncmp(rest, "/files/", 7) == 0 && decode(rest + 6, path, sizeof(path)) == 0) {
		rf_buf_puts(&request.path, "/files");
		add_parameter(&request.query, "path", path);
	} else if (strncmp(rest, "/programs/", 10) == 0 &&
		   strspn(rest + 10, "0123456789") == strcspn(rest + 10, "/") &&
		   strlen(rest) < 40 && strcmp(rest + 10 + strcspn(rest + 10, "/"), "/log") == 0) {
		rf_buf_puts(&request.path, rest);
	} else if (*rest) {
		rf_mcp_request_done(&request);
		return -1;
	}
	if (request.path.has_failed || request.query.has_failed) {
		rf_mcp_request_done(&request);
		return -1;
	}
	*ret_request = request;
	return 0;
}
