/* What is made of answers for models: see mcp-result.h. */
#include "server/mcp-result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "server/events.h"

#define OUTPUT_MOST (128u * 1024) /* of each stream: a model has no use for more */
#define FILE_MOST   (512u * 1024)
#define TEXT_MOST   (64u << 20)
#define SCHEME      "ringfort://sandboxes/"

/* ------------------------------------------------------------- text and data */

static void begin(struct rf_json *json, struct rf_buf *out)
{
	rf_buf_init(out, TEXT_MOST);
	rf_json_init(json, out, false);
	rf_json_open_object(json, NULL);
	rf_json_open_array(json, "content");
}

static void put_text(struct rf_json *json, const char *text, size_t len)
{
	rf_json_open_object(json, NULL);
	rf_json_string(json, "type", "text");
	rf_json_bytes(json, "text", text, len);
	rf_json_close_object(json);
}

static void end(struct rf_mcp_visit *visit, struct rf_json *json, struct rf_buf *out, bool is_error)
{
	rf_json_bool(json, "isError", is_error);
	rf_json_close_object(json);
	rf_mcp_visit_reply(visit, out, RF_MCP_UNTOLD);
}

void rf_mcp_result_error(struct rf_mcp_visit *visit, const struct rf_api_error *error)
{
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out, text;

	rf_buf_init(&text, 2048);
	rf_buf_printf(&text, "%s%s%s", error->message, error->remedy[0] ? "\nRemedy: " : "",
		      error->remedy);
	begin(&json, &out);
	put_text(&json, text.data, text.len);
	rf_json_close_array(&json);
	end(visit, &json, &out, true);
}

/* ------------------------------------------------------------- programs */

/* As much as is told of it, ending with a whole character. */
static size_t told_of(const struct rf_buf *output, size_t most)
{
	if (output->len <= most)
		return output->len;
	return most - rf_events_rest(output->data, most);
}

static void put_words(const struct rf_result *result, struct rf_buf *text)
{
	bool is_cut = result->is_truncated[0] || result->is_truncated[1];

	for (int i = 0; i < 2; i++) {
		const struct rf_buf *output = &result->output[i];
		size_t len = told_of(output, OUTPUT_MOST);

		is_cut = is_cut || len < output->len;
		if (!len)
			continue;
		if (i == 1)
			rf_buf_printf(text, "%s[stderr]\n", text->len ? "\n" : "");
		rf_buf_add(text, output->data, len);
	}
	if (is_cut)
		rf_buf_puts(text, "\n[there was more output than is told here]");
	if (result->status != RF_STATUS_OK || result->exit_code != 0) {
		rf_buf_printf(text, "%s[%s", text->len ? "\n" : "",
			      rf_result_status(result->status));
		if (result->exit_code > 0)
			rf_buf_printf(text, ", exit code %d", result->exit_code);
		if (result->signal)
			rf_buf_printf(text, ", signal %d", result->signal);
		rf_buf_puts(text, "]");
	}
	for (size_t i = 0; i < result->denial_count && i < 16; i++)
		rf_buf_printf(text, "\n[denied: %s %s]", result->denials[i].kind,
			      result->denials[i].what);
	if (result->error.code)
		rf_buf_printf(text, "\n[%s%s%s]", result->error.msg,
			      result->error.hint[0] ? "; " : "", result->error.hint);
	if (!text->len)
		rf_buf_puts(text, "[ok, no output]");
}

static void put_number(struct rf_json *json, const char *name, int value, bool is_there)
{
	if (is_there)
		rf_json_int(json, name, value);
	else
		rf_json_null(json, name);
}

static void put_data(const struct rf_result *result, struct rf_json *json)
{
	static const char *const names[] = { "stdout", "stderr" };
	bool is_cut = result->is_truncated[0] || result->is_truncated[1];

	rf_json_open_object(json, "structuredContent");
	rf_json_string(json, "status", rf_result_status(result->status));
	put_number(json, "exit_code", result->exit_code, result->exit_code >= 0);
	put_number(json, "signal", result->signal, result->signal != 0);
	for (int i = 0; i < 2; i++) {
		const struct rf_buf *output = &result->output[i];
		size_t len = told_of(output, OUTPUT_MOST);

		is_cut = is_cut || len < output->len;
		rf_json_bytes(json, names[i], output->data ? output->data : "", len);
	}
	rf_json_bool(json, "truncated", is_cut);
	if (result->usage.wall_ns != UINT64_MAX)
		rf_json_int(json, "duration_ms", (int64_t)(result->usage.wall_ns / 1000000));
	rf_json_open_array(json, "limits_hit");
	for (uint32_t i = 0; i < RF_LIMIT_COUNT; i++)
		if (result->limits_hit & 1u << i)
			rf_json_string(json, NULL, rf_limit_table[i].key);
	rf_json_close_array(json);
	rf_json_open_array(json, "denials");
	for (size_t i = 0; i < result->denial_count; i++)
		rf_json_string(json, NULL, result->denials[i].what);
	rf_json_close_array(json);
	rf_json_close_object(json);
}

void rf_mcp_result_on_result(struct rf_api_call *call, const struct rf_result *result)
{
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out, text;

	call->on_answer = NULL;
	rf_buf_init(&text, TEXT_MOST);
	put_words(result, &text);
	begin(&json, &out);
	put_text(&json, text.data, text.len);
	rf_json_close_array(&json);
	put_data(result, &json);
	end(call->visit, &json, &out, false);
}

/* ------------------------------------------------------------- files */

static const char *picture_of(const struct rf_buf *bytes)
{
	/* clang-format off */
	static const struct { const char *type, *first; size_t len; } kinds[] = {
		{ "image/png", "\x89PNG\r\n\x1a\n", 8 }, { "image/jpeg", "\xff\xd8\xff", 3 },
		{ "image/gif", "GIF8", 4 },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (bytes->data && bytes->len > kinds[i].len &&
		    memcmp(bytes->data, kinds[i].first, kinds[i].len) == 0)
			return kinds[i].type;
	return NULL;
}

static void put_bytes(struct rf_json *json, const char *name, const char *data, size_t len,
		      bool is_text)
{
	if (is_text)
		rf_json_bytes(json, name, data, len);
	else
		rf_json_base64(json, name, data, len);
}

static void reply_file(struct rf_mcp_visit *visit, const struct rf_buf *bytes)
{
	const char *data = bytes->data ? bytes->data : "", *picture = picture_of(bytes);
	bool is_cut = bytes->len < visit->size;
	bool is_text =
		rf_json_is_utf8(data, bytes->len - (is_cut ? rf_events_rest(data, bytes->len) : 0));
	size_t len = is_text ? told_of(bytes, FILE_MOST) : bytes->len;
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	len = is_text || picture || len <= FILE_MOST ? len : FILE_MOST;
	begin(&json, &out);
	if (picture) {
		rf_json_open_object(&json, NULL);
		rf_json_string(&json, "type", "image");
		rf_json_base64(&json, "data", data, len);
		rf_json_string(&json, "mimeType", picture);
		rf_json_close_object(&json);
	} else if (is_text) {
		put_text(&json, data, len);
	} else {
		static const char words[] = "[no text: see `content` of the structured result]";

		put_text(&json, words, sizeof(words) - 1);
	}
	rf_json_close_array(&json);
	rf_json_open_object(&json, "structuredContent");
	rf_json_string(&json, "path", visit->path ? visit->path : "");
	rf_json_int(&json, "size", (int64_t)(visit->size > bytes->len ? visit->size : bytes->len));
	rf_json_string(&json, "encoding", is_text ? "utf-8" : "base64");
	put_bytes(&json, "content", data, picture ? 0 : len, is_text);
	rf_json_bool(&json, "truncated", is_cut || len < bytes->len);
	rf_json_close_object(&json);
	end(visit, &json, &out, false);
}

/* ------------------------------------------------------------- everything else */

/* An error that tells more than words (which paths are in conflict) is data, too. */
static void reply_as_is(struct rf_mcp_visit *visit, const struct rf_buf *bytes, bool is_error)
{
	size_t len = bytes->len;
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	while (len > 0 && bytes->data[len - 1] != '}')
		len--;
	begin(&json, &out);
	put_text(&json, bytes->data, len);
	rf_json_close_array(&json);
	rf_buf_puts(&out, ",\"structuredContent\":");
	rf_buf_add(&out, bytes->data, len);
	end(visit, &json, &out, is_error);
}

static void reply_done(struct rf_mcp_visit *visit)
{
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	begin(&json, &out);
	put_text(&json, "done", 4);
	rf_json_close_array(&json);
	rf_json_open_object(&json, "structuredContent");
	rf_json_bool(&json, "done", true);
	rf_json_close_object(&json);
	end(visit, &json, &out, false);
}

/*
 * An error of the API in the words of the tools: what they call `limits` and `profile` is part of a policy there, and no
 * tool has an argument of that name.
 */
static void refuse_as_tool(struct rf_mcp_visit *visit, const struct rf_api_error *error)
{
	/* clang-format off */
	static const struct { const char *api, *tool; } names[] = {
		{ "policy: extends: ", "profile: " }, { "policy: ", "" }, { "policy.", "" },
	};
	/* clang-format on */
	struct rf_api_error own = *error;

	for (size_t i = 0; i < RF_LEN(names); i++) {
		size_t len = strlen(names[i].api);

		if (strncmp(error->message, names[i].api, len) != 0)
			continue;
		snprintf(own.message, sizeof(own.message), "%s%s", names[i].tool,
			 error->message + len);
		break;
	}
	rf_mcp_result_error(visit, &own);
}

void rf_mcp_result_on_tool(struct rf_api_call *call, unsigned status, const struct rf_buf *bytes,
			   const struct rf_api_error *error)
{
	struct rf_mcp_visit *visit = call->visit;

	call->on_result = NULL;
	if (error)
		refuse_as_tool(visit, error);
	else if (visit->tool->shape == RF_MCP_AS_FILE)
		reply_file(visit, bytes);
	else if (visit->tool->shape == RF_MCP_AS_DONE || !bytes->len)
		reply_done(visit);
	else
		reply_as_is(visit, bytes, status >= 400);
}

/* ------------------------------------------------------------- resources */

void rf_mcp_result_content(struct rf_mcp_visit *visit, const struct rf_buf *bytes)
{
	const char *data = bytes->data ? bytes->data : "", *picture = picture_of(bytes);
	bool is_text = rf_json_is_utf8(data, bytes->len);
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, TEXT_MOST);
	rf_json_init(&json, &out, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "contents");
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "uri", visit->uri);
	rf_json_string(&json, "mimeType",
		       picture                          ? picture
		       : !strstr(visit->uri, "/files/") ? "application/json"
		       : is_text                        ? "text/plain"
							: "application/octet-stream");
	put_bytes(&json, is_text ? "text" : "blob", data, bytes->len, is_text);
	rf_json_close_object(&json);
	rf_json_close_array(&json);
	rf_json_close_object(&json);
	rf_mcp_visit_reply(visit, &out, RF_MCP_OWN);
}

static void put_resource(struct rf_json *json, const char *box, const char *number,
			 const char *what)
{
	RF_AUTO_BUF struct rf_buf uri, name;

	rf_buf_init(&uri, 256);
	rf_buf_init(&name, 256);
	rf_buf_printf(&uri, SCHEME "%s%s%s%s", box, number ? "/programs/" : "",
		      number ? number : "", number ? "/log" : "");
	rf_buf_printf(&name, number ? "%s, program %s" : "%s", box, number);
	rf_json_open_object(json, NULL);
	rf_json_string(json, "uri", uri.data);
	rf_json_string(json, "name", name.data);
	rf_json_string(json, "description", what);
	rf_json_string(json, "mimeType", "application/json");
	rf_json_close_object(json);
}

static void put_box(struct rf_json *json, const struct rf_jsonread_value *box)
{
	const char *id = rf_mcp_message_text(box, "id");
	const struct rf_jsonread_value *programs = rf_jsonread_member(box, "programs");

	if (!id)
		return;
	put_resource(json, id, NULL, "A sandbox: its state, what it uses and what runs in it");
	for (const struct rf_jsonread_value *at = programs ? programs->first : NULL; at;
	     at = at->next) {
		const struct rf_jsonread_value *number = rf_jsonread_member(at, "number");
		const struct rf_jsonread_value *is_kept = rf_jsonread_member(at, "background");

		if (number && is_kept && is_kept->type == RF_JSONREAD_TRUE)
			put_resource(json, id, number->text,
				     "What a program in the background wrote");
	}
}

void rf_mcp_result_resources(struct rf_mcp_visit *visit, const struct rf_buf *list)
{
	const struct rf_jsonread_value *boxes = NULL;
	const char *cursor = NULL;
	struct rf_jsonread *read = NULL;
	struct rf_err ignored = RF_ERR_INIT;
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, TEXT_MOST);
	rf_json_init(&json, &out, false);
	if (rf_jsonread_parse(list->data, list->len, &read, &ignored) == 0) {
		boxes = rf_jsonread_member(rf_jsonread_root(read), "sandboxes");
		cursor = rf_mcp_message_text(rf_jsonread_root(read), "next_cursor");
	}
	rf_json_open_object(&json, NULL);
	rf_json_open_array(&json, "resources");
	for (const struct rf_jsonread_value *at = boxes ? boxes->first : NULL; at; at = at->next)
		put_box(&json, at);
	rf_json_close_array(&json);
	if (cursor)
		rf_json_string(&json, "nextCursor", cursor);
	rf_json_close_object(&json);
	rf_jsonread_free(read);
	rf_mcp_visit_reply(visit, &out, RF_MCP_OWN);
}
