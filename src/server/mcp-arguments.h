/*
 * The arguments of MCP's tools, held against the schemas that models are told (mcp-tools.json).
 *
 * A call becomes the body of a request of the API, which takes more than the tool: `policy`,
 * `credentials`, `files`.  So a name that the schema lacks must never pass, or a model that was
 * talked into it would ask for network and secrets.  The table is made from mcp-tools.json at build
 * time, nested objects included; a schema with a word that is not checked here ends the build.
 * Pure.
 */
#ifndef RF_SERVER_MCP_ARGUMENTS_H
#define RF_SERVER_MCP_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/jsonread.h"
#include "server/api-error.h"

enum rf_mcp_type {
	RF_MCP_STRING = 1,
	RF_MCP_INTEGER = 2,
	RF_MCP_BOOLEAN = 4,
	RF_MCP_OBJECT = 8,
};

struct rf_mcp_argument {
	const char *name; /* NULL: any */
	unsigned types;   /* one or more of enum rf_mcp_type */
	bool is_required;
	uint64_t least, most;                  /* of an integer */
	const char *const *choices;            /* of a string: NULL-ended; NULL: any */
	const struct rf_mcp_argument *members; /* of an object */
	size_t count;
	const struct rf_mcp_argument *others; /* what members of any other name are; NULL: none */
};

/* One row for each tool: its name, and the object of its arguments. */
extern const struct rf_mcp_argument rf_mcp_schemas[];
extern const size_t rf_mcp_schema_count;

/*
 * Checks the `arguments` of a call (an object, or NULL) of a tool.  A missing `subject` is not
 * looked for: who makes the path says more about it.  0, or -1 and the error, which names the
 * argument's path and what there is instead.
 */
int rf_mcp_arguments_check(const char *tool, const struct rf_jsonread_value *arguments,
			   const char *subject, struct rf_api_error *error);

#endif
