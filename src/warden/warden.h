/*
 * The warden: the launcher as a resident process.
 *
 * One thread, one loop, one table of requests.  Who has a connection asks for boxes on it, one at a
 * time; the box lives as long as the connection does, unless it is kept (ward.h).  Plans are made here, from policies and never
 * from what somebody says a plan is; boxes that are likely to be wanted stand ready (yard.h).  A private
 * warden serves the process that started it and dies with it; a standing one serves its own user on a
 * socket in $RUN; a server's is private and can be found again by the next one (owner.h).  However a warden ends, its boxes end with it.
 */
#ifndef RF_WARDEN_WARDEN_H
#define RF_WARDEN_WARDEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "policy/policy.h"

struct rf_warden_options {
	const char *init_path;           /* the program ringfort-init */
	const struct rf_policy *ceiling; /* what no request goes beyond; or NULL */
	int owner;                       /* of a private warden: its connection; or -1 */
	int listener;    /* of a standing or a lasting one: the socket that is listened on; or -1 */
	bool is_lasting; /* private, and boxes may outlive the owner: see owner.h */
	bool is_successor; /* the one before it did not end in order */
	size_t ahead;      /* shapes of boxes that are kept ready */
};

struct client;

/* A connection is over, also before its other end says so: what it has of its own ends, and what is kept stays (keep.h). */
void rf_warden_hang_up(struct client *client);

/* Serves until the owner is gone or a signal asks to end.  Nothing of it is left then. */
int rf_warden_serve(const struct rf_warden_options *options, struct rf_err *err);

#endif
