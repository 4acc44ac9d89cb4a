/*
 * A box's way out, for a call: the clerk is asked for it, and what the box is to be given joins the call's order.
 */
#ifndef RF_SERVER_OUTING_H
#define RF_SERVER_OUTING_H

#include <stdbool.h>

#include "server/api-call.h"

struct ringfort_policy;

struct rf_outing {
	int gateway; /* the connection for the warden; or -1: it was taken */
	char *text;  /* that the order's words lie in */
};

void rf_outing_free(struct rf_outing *outing);

/*
 * True if the call has to wait for its way out, or can't have one (which is answered, and its place left): `go` is called, again, when it
 * has it.
 */
bool rf_outing_waits(struct rf_api_call *call, const struct ringfort_policy *policy,
		     void (*go)(struct rf_api_call *call));

#endif
