/*
 * A credential's value, put into a request that may carry it.
 *
 * Nothing is decided here: who calls has judged that the request is one that the credential is bound to, and that it goes to a server that has proved who it is.
 * What is written lies in the message's arena; `wiped` says where, for who wipes it at the end.
 */
#ifndef RF_GATEWAY_INJECT_H
#define RF_GATEWAY_INJECT_H

#include <time.h>

#include "gateway/forward.h"
#include "policy/net.h"

#define RF_INJECT_SECRETS 4 /* places of one request that hold a value */

struct rf_inject_wiped {
	struct {
		char *at;
		size_t len;
	} places[RF_INJECT_SECRETS];
	size_t count;
};

void rf_inject_wipe(struct rf_inject_wiped *wiped);

/* Whether the whole body must be known before the head can be sent. */
bool rf_inject_needs_body(const struct rf_net_credential *credential,
			  const struct rf_forward_message *request);

/* Into the head: a field, the query, a signature.  What goes into the body is left alone. */
int rf_inject_head(const struct rf_net_credential *credential, struct rf_span value,
		   struct rf_forward_message *request, time_t now, struct rf_inject_wiped *wiped,
		   struct rf_err *err);

/* The value as it stands in a body of this type: as a string of JSON has it, percent-coded in a form, or as it is. */
int rf_inject_form(struct rf_span value, const struct rf_forward_message *request,
		   struct rf_buf *out);

#endif
