/*
 * Whose a private warden is, and what becomes of its boxes when that process is gone.
 *
 * Without a word of its owner's it ends with it.  A server asks for a grace instead: then boxes that are kept live on for
 * so long, and another server of the same user's, which is what we are (wire/peer.h), can come through the door and own them.  It is told which
 * there are, and from then on which begin and end.
 */
#ifndef RF_WARDEN_OWNER_H
#define RF_WARDEN_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "wire/wire.h"

struct warden;
struct client;

/* Zeros at first. */
struct rf_owner {
	struct client *client;       /* its connection, or NULL */
	struct rf_wire_own rules;    /* what it said of its boxes */
	struct rf_event *timer;      /* of the grace; or NULL */
	uint64_t lacking, looked_ns; /* what boxes lacked up to the reserve, and when: headroom.h */
	struct rf_event *catch_up;   /* it did not read what it was told; or NULL */
};

/* Admits who started a private warden, by the connection that it left us. */
int rf_owner_admit(struct warden *warden, struct rf_err *err);

/* The request OWN. */
int rf_owner_serve(struct client *client, struct rf_wire_message *message, struct rf_err *err);

/*
 * The request WITHDRAW: connections on terms (bound.h), those of one key or all, are over, whatever who has them does.  Runs on them end, and programs that
 * somebody waits for; boxes that are kept are their tenant's, and stay.
 */
int rf_owner_withdraw(struct client *client, struct rf_wire_message *message, struct rf_err *err);

/* The owner's connection has ended. */
void rf_owner_leave(struct client *client);

/* A kept box of a bound connection began (`why` NULL) or ended. */
void rf_owner_tell(const struct client *keeper, const char *why);

#endif
