/* Messages of MCP, read and refused: src/server/mcp-message.c. */
#include "server/mcp-message.h"

#include <string.h>

#include "base/fd.h"
#include "harness.h"

RF_TEST(a_message_is_one_of_three_kinds_or_none)
{
	/* clang-format off */
	static const struct { const char *text; int kind; enum rf_mcp_code code; } cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",                   RF_MCP_REQUEST,      0 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"ping\",\"params\":{}}",    RF_MCP_REQUEST,      0 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\",\"odd\":[1]}",    RF_MCP_REQUEST,      0 },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",       RF_MCP_NOTIFICATION, 0 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",                         RF_MCP_RESPONSE,     0 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}",                       RF_MCP_RESPONSE,     0 },
		{ "",                                                                     -1, RF_MCP_NO_JSON },
		{ "{",                                                                    -1, RF_MCP_NO_JSON },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",          -1, RF_MCP_NO_JSON },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",                 -1, RF_MCP_NO_REQUEST },
		{ "7",                                                                    -1, RF_MCP_NO_REQUEST },
		{ "{\"id\":1,\"method\":\"ping\"}",                                       -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",                   -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",                -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",                 -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}",                 -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}",                       -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",                          -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"result\":{}}",        -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}",                                       -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",            -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"result\":{}}",                                  -1, RF_MCP_NO_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}",        -1, RF_MCP_BAD_PARAMS },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":1}}", -1, RF_MCP_BAD_PARAMS },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_mcp_message message;
		struct rf_mcp_fault fault = { 0 };
		int code =
			rf_mcp_message_read(cases[i].text, strlen(cases[i].text), &message, &fault);

		RF_CHECK(code == 0 ? (int)message.kind == cases[i].kind
				   : cases[i].kind < 0 && fault.code == cases[i].code &&
					     fault.message[0],
			 "%s: %d %s", cases[i].text, fault.code, fault.message);
		rf_mcp_message_done(&message);
	}
}

RF_TEST(a_refusal_carries_the_id_as_it_was_spelled)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"id\":12345678901234567890,\"method\":\"a\",\"params\":[]}";
	struct rf_mcp_message message;
	struct rf_mcp_fault fault;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	RF_CHECK(rf_mcp_message_read(text, strlen(text), &message, &fault) < 0, "read");
	rf_mcp_message_refuse(&out, message.id, fault.code, "a \"word\"", "{}");
	RF_CHECK(strcmp(out.data, "{\"jsonrpc\":\"2.0\",\"id\":12345678901234567890,\"error\":{"
				  "\"code\":-32602,"
				  "\"message\":\"a \\\"word\\\"\",\"data\":{}}}") == 0,
		 "%s", out.data);
	rf_mcp_message_done(&message);
}

RF_TEST(a_number_and_its_text_are_two_ids)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{"
				   "\"b\":\"1\",\"c\":1,\"_meta\":{"
				   "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}";
	struct rf_mcp_message message;
	struct rf_mcp_fault fault;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	RF_REQUIRE(rf_mcp_message_read(text, strlen(text), &message, &fault) == 0, "%s",
		   fault.message);
	RF_CHECK(!rf_mcp_message_is_id(message.id, rf_jsonread_member(message.params, "b")),
		 "\"1\"");
	RF_CHECK(rf_mcp_message_is_id(message.id, rf_jsonread_member(message.params, "c")), "1");
	RF_CHECK(!rf_mcp_message_is_id(message.id, NULL), "none");
	RF_CHECK(message.version && strcmp(message.version, "2026-07-28") == 0, "version");
	rf_mcp_message_put(&out, rf_jsonread_root(message.json));
	RF_CHECK(strcmp(out.data, text) == 0, "written as it was read: %s", out.data);
	rf_mcp_message_done(&message);
}
