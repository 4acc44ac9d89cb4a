/*
 * What the watcher is told of a box's network: each connection and request, as the gateway told it.
 *
 * Hosts, methods and paths are told, queries and bodies never; a credential by its name.  Names that were looked up and may be are no
 * event: the connection that follows is.
 */
#ifndef RF_AUDIT_TRAFFIC_H
#define RF_AUDIT_TRAFFIC_H

#include "audit/teller.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/gate.h"

/* Appends it to the body of a TELL.  `agent` may be NULL. */
int rf_traffic_write(struct rf_buf *out, const char *agent, const char *box,
		     const struct rf_gate_event *event, struct rf_err *err);

/* True if it is worth an event. */
bool rf_traffic_is_told(const struct rf_gate_event *event);

#endif
