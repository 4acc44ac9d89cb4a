/*
 * Files of a sandbox for MCP: read and written in one piece, where the API streams them.
 *
 * Each takes the place of the handler of the same request (rf_api_call_become()), and is answered as that would be.
 */
#ifndef RF_SERVER_MCP_FILE_H
#define RF_SERVER_MCP_FILE_H

struct rf_api_call;

void rf_mcp_file_read(struct rf_api_call *call);
void rf_mcp_file_write(struct rf_api_call *call);

#endif
