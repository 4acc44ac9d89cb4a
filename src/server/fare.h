/*
 * What the front asks the clerk for a box's way out, and what it gets besides the connection to the gateway.
 *
 * The question is a policy and names of credentials; the answer is what the box is to be given: variables, and texts that make it trust the gateway's
 * certificates.  No value of a credential is in either.
 */
#ifndef RF_SERVER_FARE_H
#define RF_SERVER_FARE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "policy/plan.h"

#define RF_FARE_ASK    (RF_MAX_POLICY_BYTES + 16 * 1024) /* bytes of a question */
#define RF_FARE_PLACES 16
#define RF_FARE_SET    (RF_MAX_CREDENTIALS + 32) /* variables */

struct rf_fare_ask {
	const char *policy; /* text, nothing extended */
	char **names;       /* NULL-ended; of credentials */
};

struct rf_fare {
	char **set; /* NULL-ended "K=V" */
	struct rf_place places[RF_FARE_PLACES];
	size_t place_count;
};

void rf_fare_put_ask(const struct rf_fare_ask *ask, struct rf_buf *out);
void rf_fare_put(const struct rf_fare *fare, struct rf_buf *out);

/* Each borrows from `data` all but its list, which is to be freed with free().  Fails with -EBADMSG. */
int rf_fare_take_ask(const void *data, size_t len, struct rf_fare_ask *ret_ask, struct rf_err *err);
int rf_fare_take(const void *data, size_t len, struct rf_fare *ret_fare, struct rf_err *err);

#endif
