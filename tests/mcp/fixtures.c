/*
 * Tools, prompts and resources that the conformance suite of MCP asks of a server, each by the name that it wants.
 *
 * Linked into ringfort-front-fixtures, a front of the tests' that is never installed; the core calls them by `rf_mcp_more` and is the one that is tested.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "server/front.h"
#include "server/mcp-session.h"
#include "server/mcp-visit.h"

#define STEP_NS 50000000ull
#define PNG                                                                                        \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5E" \
	"rkJg"                                                                                     \
	"gg=="
#define WAV         "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
#define TEXT(words) "{\"type\":\"text\",\"text\":\"" words "\"}"
#define IMAGE       "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define ELICIT(words, properties, required)                                                        \
	"{\"message\":\"" words                                                                    \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties                  \
	"},\"required\":[" required "]}}"
#define ASK_NAME(words) ELICIT(words, "\"name\":{\"type\":\"string\"}", "\"name\"")
#define SAMPLE(words)                                                                              \
	"{\"messages\":[{\"role\":\"user\",\"content\":" TEXT(words) "}],\"maxTokens\":100}"
#define QUESTION(key, method, params)                                                              \
	"\"" key "\":{\"method\":\"" method "\",\"params\":" params "}"

static void reply(struct rf_mcp_visit *visit, enum rf_mcp_cache cache, const char *text)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 64 * 1024);
	rf_buf_puts(&out, text);
	rf_mcp_visit_reply(visit, &out, cache);
}

/* ------------------------------------------------------------- tools that just answer */

/* clang-format off */
static const struct { const char *name, *result; } plain[] = {
	{ "test_simple_text", "{\"content\":[" TEXT("This is a simple text response for testing.") "]}" },
	{ "test_image_content", "{\"content\":[" IMAGE "]}" },
	{ "test_audio_content", "{\"content\":[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]}" },
	{ "test_embedded_resource", "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
	  "\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]}" },
	{ "test_multiple_content_types", "{\"content\":[" TEXT("Multiple content types test:") "," IMAGE
	  ",{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\",\"mimeType\":\"application/json\","
	  "\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]}" },
	{ "test_error_handling", "{\"isError\":true,\"content\":["
	  TEXT("This tool intentionally returns an error for testing") "]}" },
	{ "test_streaming_elicitation", "{\"content\":[" TEXT("nothing was asked") "]}" },
	{ "test_logging_tool", "{\"content\":[" TEXT("nothing was logged") "]}" },
};
/* clang-format on */

/* ------------------------------------------------------------- tools that take their time */

static const char *const slow[] = { "test_tool_with_logging", "test_tool_with_progress" };

static void on_step(void *data, int what)
{
	static const char *const words[] = { "started", "processing data", "completed" };
	struct rf_mcp_visit *visit = data;
	RF_AUTO_BUF struct rf_buf params;

	(void)what;
	rf_buf_init(&params, 1024);
	if (visit->step == 3) {
		reply(visit, RF_MCP_UNTOLD, "{\"content\":[" TEXT("it is done") "]}");
		return;
	}
	if (visit->token) {
		rf_buf_puts(&params, "{\"progressToken\":");
		rf_mcp_message_put(&params, visit->token);
		rf_buf_printf(&params, ",\"progress\":%u,\"total\":100}", visit->step * 50);
		rf_mcp_visit_tell(visit, "notifications/progress", params.data);
	} else if (!visit->is_modern) {
		rf_buf_printf(&params, "{\"level\":\"info\",\"data\":\"Tool execution %s\"}",
			      words[visit->step]);
		rf_mcp_visit_tell(visit, "notifications/message", params.data);
	}
	visit->step++;
	rf_event_again(visit->more_timer, rf_loop_now() + STEP_NS);
}

static void begin_slow(struct rf_mcp_visit *visit)
{
	struct rf_err err = RF_ERR_INIT;

	visit->token = visit->message.meta
			       ? rf_jsonread_member(visit->message.meta, "progressToken")
			       : NULL;
	rf_loop_timer(visit->call->front->loop, rf_loop_now(), on_step, visit, &visit->more_timer,
		      &err);
}

/* ------------------------------------------------------------- questions of the older era */

/* clang-format off */
static const struct { const char *name, *method, *params; } asking[] = {
	{ "test_sampling", "sampling/createMessage", SAMPLE("Test prompt for sampling") },
	{ "test_elicitation", "elicitation/create", ELICIT("Please provide your information",
	  "\"username\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}", "\"username\",\"email\"") },
	{ "test_elicitation_sep1034_defaults", "elicitation/create", ELICIT("All have defaults",
	  "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},\"age\":{\"type\":\"integer\",\"default\":30},"
	  "\"score\":{\"type\":\"number\",\"default\":95.5},\"verified\":{\"type\":\"boolean\",\"default\":true},"
	  "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],\"default\":\"active\"}", "") },
	{ "test_elicitation_sep1330_enums", "elicitation/create", ELICIT("Five ways to choose",
	  "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
	  "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First Option\"},"
	  "{\"const\":\"value2\",\"title\":\"Second Option\"}]},"
	  "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],\"enumNames\":[\"Option One\","
	  "\"Option Two\",\"Option Three\"]},"
	  "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
	  "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\",\"title\":\"First Choice\"},"
	  "{\"const\":\"value2\",\"title\":\"Second Choice\"}]}}", "") },
};
/* clang-format on */

#define WAITING 16

static struct {
	char id[16];
	struct rf_mcp_visit *visit;
} waiting[WAITING];

static void ask(struct rf_mcp_visit *visit, const char *method, const char *params)
{
	static unsigned last;
	RF_AUTO_BUF struct rf_buf out;
	size_t i = 0;

	rf_buf_init(&out, 16 * 1024);
	while (i < WAITING && waiting[i].visit)
		i++;
	if (i == WAITING || visit->is_modern) {
		rf_mcp_visit_refuse(visit, RF_MCP_INTERNAL, NULL, "nobody can be asked");
		return;
	}
	snprintf(waiting[i].id, sizeof(waiting[i].id), "q%u", ++last);
	waiting[i].visit = visit;
	rf_buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"%s\",\"params\":%s}",
		      waiting[i].id, method, params);
	rf_mcp_visit_send(visit, &out);
}

static void heard(const struct rf_mcp_session *session, const struct rf_mcp_message *message)
{
	const char *id =
		message->id && message->id->type == RF_JSONREAD_STRING ? message->id->text : "";

	for (size_t i = 0; i < WAITING; i++) {
		struct rf_mcp_visit *visit = waiting[i].visit;

		if (!visit || visit->session != session || strcmp(waiting[i].id, id) != 0)
			continue;
		waiting[i].visit = NULL;
		reply(visit, RF_MCP_UNTOLD, "{\"content\":[" TEXT("somebody has answered") "]}");
		return;
	}
}

static void gone(struct rf_mcp_visit *visit)
{
	for (size_t i = 0; i < WAITING; i++)
		if (waiting[i].visit == visit)
			waiting[i].visit = NULL;
}

/* ------------------------------------------------------------- questions of the newer era */

#define ROUND(state, key, requests)                                                                \
	{                                                                                          \
		state, key, "{\"inputRequests\":{" requests "}"                                    \
	}

/* In each round: the state that it gives, what must come back, and what is asked for. */
/* clang-format off */
static const struct {
	const char *name;
	struct { const char *state, *key, *result; } rounds[2];
	const char *done;
} rounds[] = {
	{ "test_input_required_result_elicitation", { ROUND("", "user_name",
	  QUESTION("user_name", "elicitation/create", ASK_NAME("What is your name?"))) }, NULL },
	{ "test_input_required_result_sampling", { ROUND("", "capital_question",
	  QUESTION("capital_question", "sampling/createMessage", SAMPLE("What is the capital of France?"))) }, NULL },
	{ "test_input_required_result_list_roots", { ROUND("", "client_roots",
	  QUESTION("client_roots", "roots/list", "{}")) }, NULL },
	{ "test_input_required_result_request_state", { ROUND("a-state", "confirm",
	  QUESTION("confirm", "elicitation/create", ELICIT("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\""))) }, NULL },
	{ "test_input_required_result_tampered_state", { ROUND("b-state", "confirm",
	  QUESTION("confirm", "elicitation/create", ELICIT("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\""))) }, NULL },
	{ "test_input_required_result_multiple_inputs", { ROUND("c-state", "user_name",
	  QUESTION("user_name", "elicitation/create", ASK_NAME("What is your name?")) ","
	  QUESTION("greeting", "sampling/createMessage", SAMPLE("Generate a greeting")) ","
	  QUESTION("client_roots", "roots/list", "{}")) }, NULL },
	{ "test_input_required_result_multi_round", {
	  ROUND("d-state", "step1", QUESTION("step1", "elicitation/create", ASK_NAME("Step 1: What is your name?"))),
	  ROUND("e-state", "step2", QUESTION("step2", "elicitation/create",
	    ELICIT("Step 2: What is your favorite color?", "\"color\":{\"type\":\"string\"}", "\"color\""))) }, NULL },
	{ "test_input_required_result_capabilities", { ROUND("", "greeting",
	  QUESTION("greeting", "sampling/createMessage", SAMPLE("Generate a greeting"))) }, NULL },
	{ "test_input_required_result_prompt", { ROUND("", "user_context",
	  QUESTION("user_context", "elicitation/create",
	    ELICIT("What context should the prompt use?", "\"context\":{\"type\":\"string\"}", "\"context\""))) },
	  "{\"messages\":[{\"role\":\"user\",\"content\":" TEXT("with a context") "}]}" },
};
/* clang-format on */

static void ask_round(struct rf_mcp_visit *visit, size_t row, size_t round)
{
	const char *state = rounds[row].rounds[round].state;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 16 * 1024);
	rf_buf_puts(&out, rounds[row].rounds[round].result);
	if (state[0])
		rf_buf_printf(&out, ",\"requestState\":\"%s\"", state);
	rf_buf_puts(&out, "}");
	visit->needs_input = true;
	rf_mcp_visit_reply(visit, &out, RF_MCP_UNTOLD);
}

/* Which round an answer belongs to; -1: to none. */
static int round_of(size_t row, const char *state)
{
	for (int i = 0; i < 2; i++) {
		const char *own = rounds[row].rounds[i].state;

		if (own && strcmp(own, state) == 0)
			return i;
	}
	return -1;
}

static void take_round(struct rf_mcp_visit *visit, size_t row)
{
	const struct rf_jsonread_value *params = visit->message.params, *answers, *answer = NULL;
	const char *state = rf_mcp_message_text(params, "requestState");
	int round = round_of(row, state ? state : "");

	answers = rf_jsonread_member(params, "inputResponses");
	if (!answers) {
		ask_round(visit, row, 0);
		return;
	}
	if (answers->type == RF_JSONREAD_OBJECT && round >= 0)
		answer = rf_jsonread_member(answers, rounds[row].rounds[round].key);
	if (answers->type != RF_JSONREAD_OBJECT || round < 0 ||
	    (answer && answer->type != RF_JSONREAD_OBJECT))
		rf_mcp_visit_refuse(visit, RF_MCP_BAD_PARAMS, NULL, "this is no answer of ours");
	else if (!answer)
		ask_round(visit, row, (size_t)round);
	else if (round == 0 && rounds[row].rounds[1].state)
		ask_round(visit, row, 1);
	else
		reply(visit, RF_MCP_UNTOLD,
		      rounds[row].done ? rounds[row].done : "{\"content\":[" TEXT("state-ok") "]}");
}

static bool takes_round(struct rf_mcp_visit *visit, const char *name)
{
	for (size_t i = 0; visit->is_modern && i < RF_LEN(rounds); i++)
		if (strcmp(rounds[i].name, name) == 0) {
			take_round(visit, i);
			return true;
		}
	return false;
}

/* ------------------------------------------------------------- all tools */

static void put_tool(struct rf_buf *out, const char *name)
{
	rf_buf_printf(out,
		      ",{\"name\":\"%s\",\"description\":\"A tool of the tests\",\"inputSchema\":{"
		      "\"type\":\"object\"}}",
		      name);
}

static void put_tools(struct rf_buf *out)
{
	for (size_t i = 0; i < RF_LEN(plain); i++)
		put_tool(out, plain[i].name);
	for (size_t i = 0; i < RF_LEN(slow); i++)
		put_tool(out, slow[i]);
	for (size_t i = 0; i < RF_LEN(asking); i++)
		put_tool(out, asking[i].name);
	for (size_t i = 0; i < RF_LEN(rounds); i++)
		if (!rounds[i].done)
			put_tool(out, rounds[i].name);
	put_tool(out, "test_missing_capability");
}

static bool take_tool(struct rf_mcp_visit *visit)
{
	const char *name = rf_mcp_message_text(visit->message.params, "name");

	for (size_t i = 0; name && i < RF_LEN(plain); i++)
		if (strcmp(plain[i].name, name) == 0) {
			reply(visit, RF_MCP_UNTOLD, plain[i].result);
			return true;
		}
	for (size_t i = 0; name && i < RF_LEN(slow); i++)
		if (strcmp(slow[i], name) == 0) {
			begin_slow(visit);
			return true;
		}
	for (size_t i = 0; name && i < RF_LEN(asking); i++)
		if (strcmp(asking[i].name, name) == 0) {
			ask(visit, asking[i].method, asking[i].params);
			return true;
		}
	if (name && strcmp(name, "test_missing_capability") == 0) {
		rf_mcp_visit_refuse(visit, RF_MCP_CAPABILITY,
				    "{\"requiredCapabilities\":{\"sampling\":{}}}",
				    "this takes a client that can sample");
		return true;
	}
	return name && takes_round(visit, name);
}

/* ------------------------------------------------------------- prompts and resources */

#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"

static bool take_prompt(struct rf_mcp_visit *visit)
{
	const struct rf_jsonread_value *arguments =
		visit->message.params ? rf_jsonread_member(visit->message.params, "arguments")
				      : NULL;
	const char *name = rf_mcp_message_text(visit->message.params, "name");
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 16 * 1024);
	if (!name || takes_round(visit, name))
		return name != NULL;
	if (strcmp(name, "test_simple_prompt") == 0) {
		rf_buf_puts(&out, "{\"messages\":[" MESSAGE(
					  TEXT("This is a simple prompt for testing.")) "]}");
	} else if (strcmp(name, "test_prompt_with_image") == 0) {
		rf_buf_puts(&out, "{\"messages\":[" MESSAGE(IMAGE) "," MESSAGE(
					  TEXT("Please analyze the image above.")) "]}");
	} else if (strcmp(name, "test_prompt_with_embedded_resource") == 0) {
		rf_buf_puts(&out,
			    "{\"messages\":[" MESSAGE(
				    "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://"
				    "example-resource\","
				    "\"mimeType\":\"text/plain\",\"text\":\"Embedded resource "
				    "content for "
				    "testing.\"}}") "," MESSAGE(TEXT("Please process the embedded "
								     "resource above.")) "]}");
	} else if (strcmp(name, "test_prompt_with_arguments") == 0) {
		const char *first = rf_mcp_message_text(arguments, "arg1");
		const char *second = rf_mcp_message_text(arguments, "arg2");

		rf_buf_printf(&out,
			      "{\"messages\":[" MESSAGE(
				      TEXT("Prompt with arguments: arg1='%s', arg2='%s'")) "]}",
			      first ? first : "", second ? second : "");
	} else {
		return false;
	}
	rf_mcp_visit_reply(visit, &out, RF_MCP_UNTOLD);
	return true;
}

static bool take_resource(struct rf_mcp_visit *visit)
{
	const char *uri = rf_mcp_message_text(visit->message.params, "uri");

	if (uri && strcmp(uri, "test://static-text") == 0)
		reply(visit, RF_MCP_FOR_ALL,
		      "{\"contents\":[{\"uri\":\"test://static-text\",\"mimeType\":\"text/"
		      "plain\",\"text\":"
		      "\"This is the content of the static text resource.\"}]}");
	else if (uri && strcmp(uri, "test://static-binary") == 0)
		reply(visit, RF_MCP_FOR_ALL,
		      "{\"contents\":[{\"uri\":\"test://static-binary\",\"mimeType\":\"image/"
		      "png\",\"blob\":\"" PNG "\"}]}");
	else if (uri && strcmp(uri, "test://template/123/data") == 0)
		reply(visit, RF_MCP_FOR_ALL,
		      "{\"contents\":[{\"uri\":\"test://template/123/"
		      "data\",\"mimeType\":\"application/"
		      "json\",\"text\":\"{\\\"id\\\":\\\"123\\\"}\"}]}");
	else
		return false;
	return true;
}

/* clang-format off */
static const struct { const char *method; bool is_old; enum rf_mcp_cache cache; const char *result; } lists[] = {
	{ "prompts/list", false, RF_MCP_FOR_ALL, "{\"prompts\":["
	  "{\"name\":\"test_simple_prompt\",\"description\":\"Of the tests\"},"
	  "{\"name\":\"test_prompt_with_arguments\",\"description\":\"Of the tests\",\"arguments\":["
	  "{\"name\":\"arg1\",\"required\":true},{\"name\":\"arg2\",\"required\":true}]},"
	  "{\"name\":\"test_prompt_with_embedded_resource\",\"description\":\"Of the tests\",\"arguments\":["
	  "{\"name\":\"resourceUri\",\"required\":true}]},"
	  "{\"name\":\"test_prompt_with_image\",\"description\":\"Of the tests\"},"
	  "{\"name\":\"test_input_required_result_prompt\",\"description\":\"Of the tests\"}]}" },
	{ "resources/list", false, RF_MCP_FOR_ALL, "{\"resources\":["
	  "{\"uri\":\"test://static-text\",\"name\":\"static text\",\"description\":\"Of the tests\",\"mimeType\":\"text/plain\"},"
	  "{\"uri\":\"test://static-binary\",\"name\":\"static binary\",\"description\":\"Of the tests\",\"mimeType\":\"image/png\"}]}" },
	{ "resources/templates/list", false, RF_MCP_FOR_ALL, "{\"resourceTemplates\":["
	  "{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"template\",\"description\":\"Of the tests\"}]}" },
	{ "completion/complete", false, RF_MCP_UNTOLD, "{\"completion\":{\"values\":[\"test\"],\"total\":1,\"hasMore\":false}}" },
	{ "logging/setLevel", true, RF_MCP_UNTOLD, "{}" },
	{ "resources/subscribe", true, RF_MCP_UNTOLD, "{}" },
	{ "resources/unsubscribe", true, RF_MCP_UNTOLD, "{}" },
};
/* clang-format on */

static bool take(struct rf_mcp_visit *visit)
{
	const char *method = visit->message.method;

	if (strcmp(method, "tools/call") == 0)
		return take_tool(visit);
	if (strcmp(method, "prompts/get") == 0)
		return take_prompt(visit);
	if (strcmp(method, "resources/read") == 0)
		return take_resource(visit);
	for (size_t i = 0; i < RF_LEN(lists); i++)
		if (strcmp(lists[i].method, method) == 0 &&
		    !(lists[i].is_old && visit->is_modern)) {
			reply(visit, lists[i].cache, lists[i].result);
			return true;
		}
	return false;
}

const struct rf_mcp_more rf_mcp_more = {
	.put_tools = put_tools,
	.capabilities = "\"prompts\":{},\"completions\":{},\"logging\":{}",
	.modern_capabilities = "\"prompts\":{},\"completions\":{}",
	.take = take,
	.heard = heard,
	.gone = gone,
};
