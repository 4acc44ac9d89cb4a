/*
 * A request against a ceiling: what it names beyond is refused by its field, or narrowed and listed.
 *
 * The warden, the clerk and the gateway bound what is given, whatever is said here; this is so that
 * nothing that was asked for vanishes without a word.
 */
#ifndef RF_SERVER_REQUEST_CEILING_H
#define RF_SERVER_REQUEST_CEILING_H

#include "base/buf.h"
#include "server/api-call.h"

struct rf_policy;

/*
 * Looks at what the call's order names, by the ceiling of its key.  With `beyond: drop` the order's
 * policy is narrowed, and its list of what was beyond grows.  0; or -1 and the error.
 */
int rf_request_ceiling_check(struct rf_api_call *call, struct rf_api_error *error);

/* The same by the policy (text) of the agent `name`, for which it is. */
int rf_request_ceiling_check_agent(struct rf_api_call *call, const char *name, const char *policy,
				   struct rf_api_error *error);

/* Of a request with `beyond: drop`: adds `beyond_ceiling` to `object`, the text of a JSON object. */
void rf_request_ceiling_tell(const struct rf_order *order, struct rf_buf *object);

#endif
