/*
 * The sockets that a box was given, or that lead into it: what comes on them is accepted, as far as the box has room.
 *
 * More than that waits in the kernel's queue, and so does everything when descriptors are used up; others' boxes have their own.
 */
#ifndef RF_GATEWAY_LISTENER_H
#define RF_GATEWAY_LISTENER_H

#include "gateway/outlet.h"

enum rf_listener_kind {
	RF_LISTENER_TCP,     /* whatever the box dials */
	RF_LISTENER_PROXY,   /* its proxy */
	RF_LISTENER_DNS_UDP, /* its resolver */
	RF_LISTENER_DNS_TCP,
	RF_LISTENER_PUBLISH, /* outside, for a port of the box's */
};

/* Takes `*fd`, also on failure.  `port` is of RF_LISTENER_PUBLISH. */
int rf_listener_new(struct rf_outlet *outlet, enum rf_listener_kind kind, uint16_t port, int *fd,
		    struct rf_err *err);
void rf_listener_close(struct rf_outlet *outlet);

/* There is room again. */
void rf_listener_resume(struct rf_outlet *outlet);

#endif
