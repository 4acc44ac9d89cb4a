/*
 * What a program writes, and what it comes to, as events of a stream: `stdout`, `stderr`, `result`.
 *
 * A character that is cut by where the bytes were cut is held until the rest comes; what is no UTF-8 is told as base64.
 */
#ifndef RF_SERVER_EVENTS_H
#define RF_SERVER_EVENTS_H

#include "result/result.h"
#include "server/api-call.h"

void rf_events_output(struct rf_api_call *call, int stream, const char *bytes, size_t len);

/* The last of them: what was held, the result, and the end of the stream. */
void rf_events_result(struct rf_api_call *call, const struct rf_result *result);

/* How many bytes at the end of `bytes` begin a character that is not there as a whole: 0 to 3. */
size_t rf_events_rest(const char *bytes, size_t len);

#endif
