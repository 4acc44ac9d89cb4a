/*
 * The tools that MCP has here: each is a request of the API in other words.
 *
 * So a tool can do what its key could do over the API, under the same scope, ceiling, rate and tenant, and nothing else: what a call comes to is a method, a path,
 * parameters and a body, and goes the way that these go.  mcp-tools.json tells models what the table here can do; a test holds the two against each other.  Pure.
 */
#ifndef RF_SERVER_MCP_TOOL_H
#define RF_SERVER_MCP_TOOL_H

#include "base/buf.h"
#include "base/jsonread.h"
#include "server/api-error.h"

/* What is made of an answer. */
enum rf_mcp_shape {
	RF_MCP_AS_RUN,  /* a result of a program */
	RF_MCP_AS_IS,   /* its JSON */
	RF_MCP_AS_FILE, /* bytes of a file */
	RF_MCP_AS_DONE, /* that it was done */
};

/* Where the arguments go. */
enum rf_mcp_place {
	RF_MCP_TO_QUERY, /* each is a parameter */
	RF_MCP_TO_BODY,  /* together they are the body */
	RF_MCP_TO_FILE,  /* `content` is the body, the rest are parameters */
};

struct rf_mcp_tool {
	const char *name;
	const char *method;
	const char *
		path; /* "%s" is the sandbox's id, or the subject's; NULL: there is no such thing */
	const char *alone; /* the same without a sandbox; NULL: it needs one */
	enum rf_mcp_place place;
	enum rf_mcp_shape shape;
	const struct rf_mcp_subject *subject; /* which argument the path is of; NULL: `sandbox` */
};

/* What a call comes to: a request of the API. */
struct rf_mcp_request {
	const char *method;
	struct rf_buf path, query, body;
};

extern const struct rf_mcp_tool rf_mcp_tools[];
extern const size_t rf_mcp_tool_count;

/* The same as tools/list tells it, without the brackets around all of them (mcp-tools.json). */
extern const char rf_mcp_tool_list[];

const struct rf_mcp_tool *rf_mcp_tool_find(const char *name);

/*
 * Makes a request of a call's `arguments` (an object, or NULL).  Gives `*ret_request`, to be ended with rf_mcp_request_done() on success; else -1, and what is wrong with
 * them, in words for a model.
 */
int rf_mcp_tool_request(const struct rf_mcp_tool *tool, const struct rf_jsonread_value *arguments,
			struct rf_mcp_request *ret_request, struct rf_api_error *error);

/*
 * The same for a resource by its URI: ringfort://sandboxes/ID, .../files/PATH, .../programs/NUMBER/log.  -1: there can be none of that name.
 */
int rf_mcp_tool_resource(const char *uri, struct rf_mcp_request *ret_request);

void rf_mcp_request_done(struct rf_mcp_request *request);

#endif
