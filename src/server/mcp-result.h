/*
 * What is made of answers of the API for models: text that can be read, and the same as data in the form that the tool's schema promises.
 *
 * What can't be done is a result, too, marked as an error, with the words and the remedy: a model that reads them can do better.
 */
#ifndef RF_SERVER_MCP_RESULT_H
#define RF_SERVER_MCP_RESULT_H

#include "result/result.h"
#include "server/mcp-visit.h"

/* A tool that could not be used. */
void rf_mcp_result_error(struct rf_mcp_visit *visit, const struct rf_api_error *error);

/* What is answered to a tool, as rf_api_call_become() wants it, and as a program's result. */
void rf_mcp_result_on_tool(struct rf_api_call *call, unsigned status, const struct rf_buf *bytes,
			   const struct rf_api_error *error);
void rf_mcp_result_on_result(struct rf_api_call *call, const struct rf_result *result);

/* What is in a resource; and which there are, from a list of sandboxes. */
void rf_mcp_result_content(struct rf_mcp_visit *visit, const struct rf_buf *bytes);
void rf_mcp_result_resources(struct rf_mcp_visit *visit, const struct rf_buf *list);

#endif
