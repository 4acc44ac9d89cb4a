/* What calls of tools come to: src/server/mcp-tool.c. */
#include "server/mcp-tool.h"

#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/limit.h"
#include "server/mcp-arguments.h"

RF_TEST(a_call_is_a_request_in_other_words)
{
	/* clang-format off */
	static const struct { const char *tool, *arguments, *path, *query, *body; } cases[] = {
		{ "run_code", "{\"language\":\"python\",\"code\":\"1\"}", "/v1/run", "", "{\"language\": \"python\", \"code\": \"1\"}" },
		{ "run_code", "{\"language\":\"sh\",\"code\":\"1\",\"sandbox\":\"ab12\"}", "/v1/sandboxes/ab12/exec", "",
		  "{\"language\": \"sh\", \"code\": \"1\"}" },
		{ "list_sandboxes", "{}", "/v1/sandboxes", "", "" },
		{ "list_sandboxes", "{\"limit\":5}", "/v1/sandboxes", "limit=5", "" },
		{ "read_file", "{\"sandbox\":\"a\",\"path\":\"/tmp/a b+&=%\\u00e9\"}", "/v1/sandboxes/a/files",
		  "path=/tmp/a%20b%2B%26%3D%25%C3%A9", "" },
		{ "write_file", "{\"sandbox\":\"a\",\"path\":\"/x\",\"content\":\"hi\"}", "/v1/sandboxes/a/files", "path=/x", "hi" },
		{ "write_file", "{\"sandbox\":\"a\",\"path\":\"/x\",\"content_base64\":\"aGk=\"}", "/v1/sandboxes/a/files", "path=/x", "hi" },
		{ "search_files", "{\"sandbox\":\"a\",\"path\":\"/x\",\"content\":\"-r\"}", "/v1/sandboxes/a/files/search",
		  "path=/x&content=-r", "" },
		{ "fork", "{\"sandbox\":\"a\",\"name\":\"try\"}", "/v1/sandboxes/a/fork", "", "{\"name\": \"try\"}" },
		{ "apply", "{\"sandbox\":\"a\",\"conflicts\":\"fork\",\"dry_run\":true}", "/v1/sandboxes/a/apply", "",
		  "{\"conflicts\": \"fork\", \"dry_run\": true}" },
		{ "delete_workspace", "{\"workspace\":\"try\"}", "/v1/workspaces/try", "", "" },
		{ "create_sandbox", "{\"limits\":{\"memory\":\"1G\",\"pids\":5},\"workspace\":{}}", "/v1/sandboxes", "",
		  "{\"limits\": {\"memory\": \"1G\", \"pids\": 5}, \"workspace\": {}}" },
		/* refused: */
		{ "run_code", "{\"language\":\"sh\",\"code\":\"1\",\"policy\":{}}", NULL, NULL, NULL },
		{ "run_command", "{\"command\":\"1\",\"credentials\":[\"a\"]}", NULL, NULL, NULL },
		{ "run_command", "{\"command\":\"1\",\"env\":{\"A\":7}}", NULL, NULL, NULL },
		{ "run_command", "{\"command\":\"1\",\"env\":[]}", NULL, NULL, NULL },
		{ "run_command", "{\"command\":null}", NULL, NULL, NULL },
		{ "run_command", "{}", NULL, NULL, NULL },
		{ "create_sandbox", "{\"limits\":{\"time\":\"5s\"}}", NULL, NULL, NULL },
		{ "create_sandbox", "{\"workspace\":{\"base\":\"/\"}}", NULL, NULL, NULL },
		{ "create_sandbox", "{\"timeout\":0}", NULL, NULL, NULL },
		{ "create_sandbox", "{\"timeout\":-1}", NULL, NULL, NULL },
		{ "create_sandbox", "{\"timeout\":1e3}", NULL, NULL, NULL },
		{ "delete_workspace", "{}", NULL, NULL, NULL },
		{ "delete_workspace", "{\"workspace\":\"a/undo\"}", NULL, NULL, NULL },
		{ "apply", "{\"conflicts\":\"fork\"}", NULL, NULL, NULL },
		{ "list_approvals", "{\"sandbox\":\"a\"}", NULL, NULL, NULL },
		{ "read_file", "{\"path\":\"/x\"}", NULL, NULL, NULL },
		{ "read_file", "{\"sandbox\":\"../a\",\"path\":\"/x\"}", NULL, NULL, NULL },
		{ "read_file", "{\"sandbox\":\"a/b\",\"path\":\"/x\"}", NULL, NULL, NULL },
		{ "read_file", "{\"sandbox\":\"\",\"path\":\"/x\"}", NULL, NULL, NULL },
		{ "read_file", "{\"sandbox\":7,\"path\":\"/x\"}", NULL, NULL, NULL },
		{ "read_file", "{\"sandbox\":\"a\",\"path\":[]}", NULL, NULL, NULL },
		{ "read_file", "{\"sandbox\":\"a\",\"a&b\":\"c\"}", NULL, NULL, NULL },
		{ "read_file", "[]", NULL, NULL, NULL },
		{ "create_sandbox", "{\"sandbox\":\"a\"}", NULL, NULL, NULL },
		{ "write_file", "{\"sandbox\":\"a\",\"path\":\"/x\",\"content\":\"a\",\"content_base64\":\"aGk=\"}", NULL, NULL, NULL },
		{ "write_file", "{\"sandbox\":\"a\",\"path\":\"/x\",\"content_base64\":\"a\"}", NULL, NULL, NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const struct rf_mcp_tool *tool = rf_mcp_tool_find(cases[i].tool);
		struct rf_mcp_request request;
		struct rf_api_error error = { 0 };
		struct rf_err err = RF_ERR_INIT;
		struct rf_jsonread *json;
		int code;

		RF_REQUIRE(tool && rf_jsonread_parse(cases[i].arguments, strlen(cases[i].arguments),
						     &json, &err) == 0,
			   "case %zu", i);
		code = rf_mcp_tool_request(tool, rf_jsonread_root(json), &request, &error);
		RF_CHECK((code == 0) == (cases[i].path != NULL), "case %zu: %s", i, error.message);
		if (code == 0) {
			RF_CHECK(strcmp(request.path.data, cases[i].path) == 0 &&
					 strcmp(request.query.data ? request.query.data : "",
						cases[i].query) == 0 &&
					 strcmp(request.body.data ? request.body.data : "",
						cases[i].body) == 0,
				 "case %zu: %s?%s %s", i, request.path.data, request.query.data,
				 request.body.data);
			rf_mcp_request_done(&request);
		} else {
			RF_CHECK(error.message[0] && error.remedy[0], "case %zu has words", i);
		}
		rf_jsonread_free(json);
	}
}

RF_TEST(every_tool_has_a_schema_and_every_schema_a_tool)
{
	RF_CHECK(rf_mcp_schema_count == rf_mcp_tool_count, "%zu schemas, %zu tools",
		 rf_mcp_schema_count, rf_mcp_tool_count);
	for (size_t i = 0; i < rf_mcp_schema_count; i++)
		RF_CHECK(rf_mcp_tool_find(rf_mcp_schemas[i].name), "%s is a tool",
			 rf_mcp_schemas[i].name);
}

static const struct rf_mcp_argument *member_of(const struct rf_mcp_argument *object,
					       const char *name)
{
	for (size_t i = 0; object && i < object->count; i++)
		if (strcmp(object->members[i].name, name) == 0)
			return &object->members[i];
	return NULL;
}

RF_TEST(the_limits_of_a_sandbox_are_those_of_a_policy)
{
	const struct rf_mcp_argument *limits = NULL;

	for (size_t i = 0; i < rf_mcp_schema_count; i++)
		if (strcmp(rf_mcp_schemas[i].name, "create_sandbox") == 0)
			limits = member_of(&rf_mcp_schemas[i], "limits");
	RF_REQUIRE(limits && !limits->others, "create_sandbox says which limits there are");
	for (size_t i = 0; i < RF_LIMIT_COUNT; i++)
		RF_CHECK(!member_of(limits, rf_limit_table[i].key) == (i == RF_LIMIT_TIME),
			 "limits.%s", rf_limit_table[i].key);
	RF_CHECK(limits->count == RF_LIMIT_COUNT, "and `require`, in the time's place");
}

RF_TEST(a_resource_has_one_name)
{
	/* clang-format off */
	static const struct { const char *uri, *path, *query; } cases[] = {
		{ "ringfort://sandboxes/ab",                    "/v1/sandboxes/ab",                "" },
		{ "ringfort://sandboxes/ab/files/tmp/a.txt",    "/v1/sandboxes/ab/files",          "path=/tmp/a.txt" },
		{ "ringfort://sandboxes/ab/files/tmp/a%20b%2b", "/v1/sandboxes/ab/files",          "path=/tmp/a%20b%2B" },
		{ "ringfort://sandboxes/ab/programs/3/log",     "/v1/sandboxes/ab/programs/3/log", "" },
		{ "ringfort://sandboxes/",                      NULL, NULL },
		{ "ringfort://sandboxes/a%2e",                  NULL, NULL },
		{ "ringfort://sandboxes/ab/",                   NULL, NULL },
		{ "ringfort://sandboxes/ab/exec",               NULL, NULL },
		{ "ringfort://sandboxes/ab/programs/x/log",     NULL, NULL },
		{ "ringfort://sandboxes/ab/programs/3/signal",  NULL, NULL },
		{ "ringfort://sandboxes/ab/files/%",            NULL, NULL },
		{ "ringfort://sandboxes/ab/files/%00",          NULL, NULL },
		{ "ringfort://sandboxes/ab/files/%ff",          NULL, NULL },
		{ "file:///etc/passwd",                         NULL, NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_mcp_request request;
		int code = rf_mcp_tool_resource(cases[i].uri, &request);

		RF_CHECK((code == 0) == (cases[i].path != NULL), "%s", cases[i].uri);
		if (code < 0)
			continue;
		RF_CHECK(strcmp(request.path.data, cases[i].path) == 0 &&
				 strcmp(request.query.data ? request.query.data : "",
					cases[i].query) == 0,
			 "%s: %s?%s", cases[i].uri, request.path.data, request.query.data);
		rf_mcp_request_done(&request);
	}
}
