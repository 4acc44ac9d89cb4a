/*
 * Connections to servers on which one request after the other is sent: kept for the next one to the same place, within one box.
 *
 * Never shared between boxes, nor between places: what a server says on one can only be an answer to the same box's question.
 */
#ifndef RF_GATEWAY_UPSTREAM_H
#define RF_GATEWAY_UPSTREAM_H

#include "gateway/outlet.h"

void rf_upstream_init(struct rf_outlet *outlet);

/* One that waits, which is the caller's to begin now; or NULL. */
struct rf_call *rf_upstream_find(struct rf_outlet *outlet, const struct rf_forward_place *place);

/* Makes one of a way that stands (takes it, also on failure). */
int rf_upstream_make(struct rf_outlet *outlet, const struct rf_forward_place *place,
		     struct rf_way *way, struct rf_call **ret_call, struct rf_err *err);

/* One that was found or made, and was never begun, is given up. */
void rf_upstream_drop(struct rf_call *call);

/* How a request on it went, for the host's breaker. */
void rf_upstream_record(struct rf_call *call, enum rf_breaker_outcome outcome);
const char *rf_upstream_address(const struct rf_call *call);

/* Closes those that wait, but for `most`. */
void rf_upstream_trim(struct rf_outlet *outlet, size_t most);

/* What they were made under has changed: those that wait are closed, and those in use when their request is over. */
void rf_upstream_retire(struct rf_outlet *outlet);

#endif
