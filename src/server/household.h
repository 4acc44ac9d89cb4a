/*
 * The processes of who serves strangers: their beginnings and their ends; and what all of its parts know.
 *
 * The warden makes boxes (tenure.h), the front reads what strangers send, the clerk does what takes rights.  Each that dies is started anew.
 */
#ifndef RF_SERVER_HOUSEHOLD_H
#define RF_SERVER_HOUSEHOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "server/landlord.h"

struct rf_concierge_known;
struct rf_register;
struct rf_notary;
struct rf_crier;

/* The whole of it. */
struct landlord {
	const struct rf_landlord_options *options;
	struct rf_loop *loop;
	int run, lock;            /* $RUN, and that there is one server */
	int warden, front, clerk; /* connections; or -1 */
	int warden_process;       /* a descriptor of it, or -1 */
	int local;                /* for processes of the user's own */
	int ports[RF_LANDLORD_MOST];
	size_t port_count;
	struct rf_event *local_event, *front_event, *warden_event, *clerk_event, *timer;
	struct rf_buf in;
	struct rf_buf papers;             /* what a front is told of TLS; empty: ports have none */
	struct rf_crier *crier;           /* that has others told what happened, or NULL */
	struct rf_notary *notary;         /* that sees to it that a watcher stands */
	struct rf_concierge_known *known; /* keys that the front was given connections for */
	struct timespec keys_changed;
	bool has_guests; /* the front has the connection for local clients */
	bool is_draining, is_announced;
	bool keeps_sandboxes; /* they outlive it */
	uint64_t front_since, clerk_since, warden_since, drain_until;
	int falls, clerk_falls, warden_falls;
	struct rf_register *reg;
	struct rf_err why; /* that it ends for */
};

/* Tells the operator. */
void rf_household_say(const char *what, const char *more);

/* Ends the server; the first reason is its last word. */
void rf_household_fail(struct landlord *l, const struct rf_err *err);

int rf_household_start_clerk(struct landlord *l, struct rf_err *err);
int rf_household_start_front(struct landlord *l, struct rf_err *err);

/* A certificate that was replaced: connections from now on see the new one.  If it does not do, the old one stays. */
void rf_household_renew_papers(struct landlord *l);

/* The clerk asks the watcher, and can't connect to it himself; `data` is the landlord. */
void rf_household_lend_watcher(void *data);

/* Sees all of them off, and waits until they are gone. */
void rf_household_end(struct landlord *l);

#endif
