/*
 * A message of MCP: one JSON-RPC 2.0 object, read as far as all of its carriers need.
 *
 * Strict where two readers could disagree: no batches (gone since 2025-06-18), no id that is null, a fraction or a list, nothing that is a question and an answer at
 * once.  What it does not know it leaves alone, as the protocol demands.  Pure.
 */
#ifndef RF_SERVER_MCP_MESSAGE_H
#define RF_SERVER_MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/jsonread.h"

/* Where JSON-RPC and MCP agree upon numbers. */
enum rf_mcp_code {
	RF_MCP_NO_JSON = -32700,
	RF_MCP_NO_REQUEST = -32600,
	RF_MCP_NO_METHOD = -32601,
	RF_MCP_BAD_PARAMS = -32602,
	RF_MCP_INTERNAL = -32603,
	RF_MCP_NO_RESOURCE = -32002, /* until 2025-11-25 */
	RF_MCP_CANCELLED = -32800,
	RF_MCP_HEADER = -32020,     /* the head says something else than the body */
	RF_MCP_CAPABILITY = -32021, /* the client has not said that it can do that */
	RF_MCP_VERSION = -32022
};

enum rf_mcp_kind {
	RF_MCP_REQUEST,
	RF_MCP_NOTIFICATION,
	RF_MCP_RESPONSE
};

#define RF_MCP_ID     200 /* bytes of an id that is text */
#define RF_MCP_METHOD 100

struct rf_mcp_message {
	enum rf_mcp_kind kind;
	const struct rf_jsonread_value *id; /* a string or a whole number; NULL of a notification */
	const char *method;                 /* NULL of a response */
	const struct rf_jsonread_value *params; /* an object, or NULL */
	const struct rf_jsonread_value *meta;   /* `_meta` of them: an object, or NULL */
	const char *version; /* that `_meta` names: the era that begins with 2026-07-28; or NULL */
	struct rf_jsonread *json; /* what all of it lies in */
};

struct rf_mcp_fault {
	enum rf_mcp_code code;
	char message[320];
};

/*
 * Reads one from `len` bytes (borrows).  0; or -1 and the fault.  Either way `*ret_message` is to be ended, and has the id if one could be read, so that
 * the refusal carries it.
 */
int rf_mcp_message_read(const char *text, size_t len, struct rf_mcp_message *ret_message,
			struct rf_mcp_fault *fault);
void rf_mcp_message_done(struct rf_mcp_message *message);

/* A text among the params or beneath `_meta`; NULL: there is none. */
const char *rf_mcp_message_text(const struct rf_jsonread_value *object, const char *name);

/* Whether two ids are the same: 1 and "1" are not. */
bool rf_mcp_message_is_id(const struct rf_jsonread_value *a, const struct rf_jsonread_value *b);

/* Writes a value as it stood: a number keeps its spelling.  NULL is null. */
void rf_mcp_message_put(struct rf_buf *out, const struct rf_jsonread_value *value);

/* A whole answer that says no, without its last line break. */
void rf_mcp_message_refuse(struct rf_buf *out, const struct rf_jsonread_value *id,
			   enum rf_mcp_code code, const char *message, const char *data);

#endif
