/* What clients of MCP send: refused with words, or read as something that can be asked of the API. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/mcp-arguments.h"
#include "server/mcp-message.h"
#include "server/mcp-tool.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Whatever an argument says, the path is one of the API's and the query has no bytes that mean something there. */
static void check_request(const struct rf_mcp_request *request)
{
	require(strncmp(request->path.data, "/v1/", 4) == 0 && !strstr(request->path.data, "..") &&
		!strpbrk(request->path.data, "?#% \r\n"));
	require(!request->query.len || !strpbrk(request->query.data, "#+ \r\n"));
}

/* Nothing reaches the API that the tool's schema does not name. */
static void check_names(const struct rf_mcp_tool *tool, const struct rf_jsonread_value *arguments)
{
	const struct rf_mcp_argument *schema = rf_mcp_schemas;

	while (strcmp(schema->name, tool->name) != 0)
		schema++;
	for (const struct rf_jsonread_value *at = arguments ? arguments->first : NULL; at;
	     at = at->next) {
		size_t i = 0;

		while (i < schema->count && strcmp(schema->members[i].name, at->name) != 0)
			i++;
		require(i < schema->count);
	}
}

static void call_all(const struct rf_jsonread_value *arguments)
{
	for (size_t i = 0; i < rf_mcp_tool_count; i++) {
		struct rf_mcp_request request;
		struct rf_api_error error = { 0 };

		if (rf_mcp_tool_request(&rf_mcp_tools[i], arguments, &request, &error) < 0) {
			require(error.message[0]);
			continue;
		}
		check_request(&request);
		check_names(&rf_mcp_tools[i], arguments);
		rf_mcp_request_done(&request);
	}
}

static void read_back(const struct rf_mcp_message *message)
{
	struct rf_mcp_message again;
	struct rf_mcp_fault fault;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 64u << 20);
	rf_mcp_message_put(&out, rf_jsonread_root(message->json));
	if (out.has_failed || out.len > (4u << 20)) /* more than can be read */
		return;
	require(rf_mcp_message_read(out.data, out.len, &again, &fault) == 0 &&
		again.kind == message->kind &&
		(!message->id || rf_mcp_message_is_id(again.id, message->id)));
	rf_mcp_message_done(&again);
}

RF_FUZZ(data, size)
{
	struct rf_mcp_message message;
	struct rf_mcp_fault fault = { 0 };
	const char *uri;

	if (rf_mcp_message_read((const char *)data, size, &message, &fault) < 0) {
		require(fault.code < 0 && fault.message[0]);
	} else {
		struct rf_mcp_request request;

		require(message.kind == RF_MCP_RESPONSE || message.method);
		read_back(&message);
		call_all(message.params ? rf_jsonread_member(message.params, "arguments") : NULL);
		uri = rf_mcp_message_text(message.params, "uri");
		if (uri && rf_mcp_tool_resource(uri, &request) == 0) {
			check_request(&request);
			rf_mcp_request_done(&request);
		}
	}
	rf_mcp_message_done(&message);
	return 0;
}
