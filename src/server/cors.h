/*
 * Pages of other origins that may ask: what a browser is told, so that it lets their scripts (Fetch Standard, "CORS protocol").
 *
 * Only origins that the operator named are told anything; who comes from others is refused before (api-call-head.c).  Cookies and other credentials of a
 * browser's own are never asked for: a key is sent by the script itself.
 */
#ifndef RF_SERVER_CORS_H
#define RF_SERVER_CORS_H

#include <stdbool.h>

#include "server/api-call.h"

#define RF_CORS_FIELDS 3 /* of an answer */

/* Notes from which origin a request comes, which must be one that may ask; nothing where it is no page's. */
void rf_cors_note(struct rf_api_call *call, const struct rf_http1_head *head);

/* Answers a browser that asks whether it may ask; false if that is not what this request is. */
bool rf_cors_answer(struct rf_api_call *call, const struct rf_http1_head *head);

/* Adds what every answer to such a page has; gives how many there are, at most RF_CORS_FIELDS. */
size_t rf_cors_put(const struct rf_api_call *call, struct rf_field *fields);

#endif
