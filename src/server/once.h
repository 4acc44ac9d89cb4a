/*
 * What is done once, however often it is asked for: requests with an `Idempotency-Key`.
 *
 * Who has the keys is asked before anything is begun, and told the answer before the client is: so one that was acknowledged is given again,
 * also by another front or another server.  A client that goes does not end what it asked for so: it can ask again and have the answer.
 *
 *     NONE      no such request, or it is answered
 *     ASKED     whether it may be done
 *     UNDER_WAY it is being done
 *     STORING   its answer is known, and on its way to the register
 */
#ifndef RF_SERVER_ONCE_H
#define RF_SERVER_ONCE_H

#include "server/api-call.h"

/* Notes the field of a request's head, if the route heeds it. */
int rf_once_read(struct rf_api_call *call, const struct rf_http1_head *head,
		 struct rf_api_error *error);

/* Calls `go` at once for a request without a key; else when it may be done, or answers what was answered before. */
void rf_once_begin(struct rf_api_call *call, void (*go)(struct rf_api_call *call));

/* True if the answer is to be kept first: takes `bytes` then, and answers later.  `error` is NULL, or what it is. */
bool rf_once_keep(struct rf_api_call *call, unsigned status, struct rf_buf *bytes,
		  const struct rf_api_error *error);

/* The client is gone.  True: the call goes on without it, and frees itself with rf_api_call_free(). */
bool rf_once_outlives(struct rf_api_call *call);

#endif
