/* A message of MCP: see mcp-message.h. */
#include "server/mcp-message.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

static int refuse(struct rf_mcp_fault *fault, enum rf_mcp_code code, const char *words)
{
	fault->code = code;
	snprintf(fault->message, sizeof(fault->message), "%s", words);
	return -1;
}

static bool is_whole(const char *number)
{
	size_t len = strlen(number);

	return len < 24 &&
	       strspn(number + (*number == '-'), "0123456789") == len - (*number == '-');
}

static bool is_id(const struct rf_jsonread_value *value)
{
	return (value->type == RF_JSONREAD_STRING && strlen(value->text) <= RF_MCP_ID) ||
	       (value->type == RF_JSONREAD_NUMBER && is_whole(value->text));
}

const char *rf_mcp_message_text(const struct rf_jsonread_value *object, const char *name)
{
	const struct rf_jsonread_value *value = object && object->type == RF_JSONREAD_OBJECT
							? rf_jsonread_member(object, name)
							: NULL;

	return value && value->type == RF_JSONREAD_STRING ? value->text : NULL;
}

static int read_request(const struct rf_jsonread_value *root, struct rf_mcp_message *message,
			struct rf_mcp_fault *fault)
{
	message->method = rf_mcp_message_text(root, "method");
	if (!message->method || !message->method[0] || strlen(message->method) > RF_MCP_METHOD)
		return refuse(fault, RF_MCP_NO_REQUEST, "method: it is no name of one");
	if (rf_jsonread_member(root, "result") || rf_jsonread_member(root, "error"))
		return refuse(fault, RF_MCP_NO_REQUEST, "it is a request and an answer at once");
	message->kind = message->id ? RF_MCP_REQUEST : RF_MCP_NOTIFICATION;
	message->params = rf_jsonread_member(root, "params");
	if (!message->params)
		return 0;
	if (message->params->type != RF_JSONREAD_OBJECT) {
		message->params = NULL;
		return refuse(fault, RF_MCP_BAD_PARAMS, "params: they are no object");
	}
	message->meta = rf_jsonread_member(message->params, "_meta");
	if (message->meta && message->meta->type != RF_JSONREAD_OBJECT) {
		message->meta = NULL;
		return refuse(fault, RF_MCP_BAD_PARAMS, "params._meta: it is no object");
	}
	message->version =
		rf_mcp_message_text(message->meta, "io.modelcontextprotocol/protocolVersion");
	return 0;
}

static int read_response(const struct rf_jsonread_value *root, struct rf_mcp_message *message,
			 struct rf_mcp_fault *fault)
{
	const struct rf_jsonread_value *error = rf_jsonread_member(root, "error");

	message->kind = RF_MCP_RESPONSE;
	if (!error == !rf_jsonread_member(root, "result"))
		return refuse(fault, RF_MCP_NO_REQUEST,
			      "it has no method, and is no answer with a result or an error");
	if (error && error->type != RF_JSONREAD_OBJECT)
		return refuse(fault, RF_MCP_NO_REQUEST, "error: it is no object");
	return message->id || error ? 0 : refuse(fault, RF_MCP_NO_REQUEST, "id: it is missing");
}

int rf_mcp_message_read(const char *text, size_t len, struct rf_mcp_message *ret_message,
			struct rf_mcp_fault *fault)
{
	struct rf_mcp_message *message = ret_message;
	const struct rf_jsonread_value *root, *id;
	struct rf_err err = RF_ERR_INIT;
	const char *version;

	*message = (struct rf_mcp_message){ 0 };
	if (rf_jsonread_parse(text, len, &message->json, &err) < 0) {
		fault->code = RF_MCP_NO_JSON;
		snprintf(fault->message, sizeof(fault->message), "line %d, column %d: %s", err.line,
			 err.column, err.msg);
		return -1;
	}
	root = rf_jsonread_root(message->json);
	if (root->type != RF_JSONREAD_OBJECT)
		return refuse(fault, RF_MCP_NO_REQUEST,
			      root->type == RF_JSONREAD_ARRAY
				      ? "batches are no more of MCP: send one message at a time"
				      : "a message is an object");
	id = rf_jsonread_member(root, "id");
	if (id && is_id(id))
		message->id = id;
	version = rf_mcp_message_text(root, "jsonrpc");
	if (!version || strcmp(version, "2.0") != 0)
		return refuse(fault, RF_MCP_NO_REQUEST, "jsonrpc: it is not \"2.0\"");
	if (!rf_jsonread_member(root, "method"))
		return read_response(root, message, fault);
	if (id && !message->id)
		return refuse(fault, RF_MCP_NO_REQUEST, "id: it is no text and no whole number");
	return read_request(root, message, fault);
}

void rf_mcp_message_done(struct rf_mcp_message *message)
{
	rf_jsonread_free(message->json);
	*message = (struct rf_mcp_message){ 0 };
}

bool rf_mcp_message_is_id(const struct rf_jsonread_value *a, const struct rf_jsonread_value *b)
{
	return a && b && a->type == b->type && a->text && b->text && strcmp(a->text, b->text) == 0;
}

static void put_all(struct rf_buf *out, const struct rf_jsonread_value *value)
{
	bool is_object = value->type == RF_JSONREAD_OBJECT;
	struct rf_json json;

	rf_buf_puts(out, is_object ? "{" : "[");
	for (const struct rf_jsonread_value *at = value->first; at; at = at->next) {
		if (at != value->first)
			rf_buf_puts(out, ",");
		if (is_object) {
			rf_json_init(&json, out, false);
			rf_json_string(&json, NULL, at->name);
			rf_buf_puts(out, ":");
		}
		rf_mcp_message_put(out, at); /* as deep as what was read, which has a most */
	}
	rf_buf_puts(out, is_object ? "}" : "]");
}

void rf_mcp_message_put(struct rf_buf *out, const struct rf_jsonread_value *value)
{
	struct rf_json json;

	if (!value || value->type == RF_JSONREAD_NULL) {
		rf_buf_puts(out, "null");
	} else if (value->type == RF_JSONREAD_NUMBER) {
		rf_buf_puts(out, value->text);
	} else if (value->type == RF_JSONREAD_STRING) {
		rf_json_init(&json, out, false);
		rf_json_string(&json, NULL, value->text);
	} else if (value->type == RF_JSONREAD_ARRAY || value->type == RF_JSONREAD_OBJECT) {
		put_all(out, value);
	} else {
		rf_buf_puts(out, value->type == RF_JSONREAD_TRUE ? "true" : "false");
	}
}

void rf_mcp_message_refuse(struct rf_buf *out, const struct rf_jsonread_value *id,
			   enum rf_mcp_code code, const char *message, const char *data)
{
	struct rf_json json;

	rf_buf_puts(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	rf_mcp_message_put(out, id);
	rf_buf_printf(out, ",\"error\":{\"code\":%d,\"message\":", (int)code);
	rf_json_init(&json, out, false);
	rf_json_string(&json, NULL, message);
	if (data)
		rf_buf_printf(out, ",\"data\":%s", data);
	rf_buf_puts(out, "}}");
}
