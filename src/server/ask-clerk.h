/* For handlers of the API: a question to the clerk, on behalf of a call's key. */
#ifndef RF_SERVER_ASK_CLERK_H
#define RF_SERVER_ASK_CLERK_H

#include "server/api-call.h"
#include "server/petition.h"

/* Asks (`body` may be NULL), and calls `fn` with the call as its data.  What can't be asked is answered with an error. */
void rf_ask_clerk(struct rf_api_call *call, enum rf_clerk_question question,
		  const struct rf_buf *body, rf_petition_fn *fn);

/* The same where the clerk's answer is JSON, and the client's: with 200, or 201 where `is_new`; an empty one is 204. */
void rf_ask_clerk_json(struct rf_api_call *call, enum rf_clerk_question question,
		       const struct rf_buf *body, bool is_new);

#endif
