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
#include "server/outbox.h"
#include "wire/peer.h"

struct rf_concierge_known;
struct rf_register;
struct rf_notary;
struct rf_crier;
struct rf_office;

/* The whole of it. */
struct landlord {
	const struct rf_landlord_options *options;
	struct rf_loop *loop;
	int run, lock;             /* $RUN, and that there is one server */
	int warden, front, clerk;  /* connections; or -1 */
	int warden_process;        /* a descriptor of it, or -1 */
	int front_process;         /* the same */
	pid_t front_pid;           /* a child of ours, so that it dies with us; or 0 */
	struct rf_outbox to_front; /* what it is told: it may have stopped reading */
	int local;                 /* for processes of the user's own */
	struct rf_peer self;       /* what we are, and they must not be less */
	struct rf_office *office;  /* for the operator's own commands */
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
	uint64_t front_since, clerk_since, warden_since, drain_until, tidied_ns, said_ns;
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

/* Tells the front something, as rf_wire_send() does, and never waits for it. */
int rf_household_tell_front(struct landlord *l, enum rf_wire_type type, uint64_t id,
			    const void *body, size_t len, const int *fds, size_t fd_count,
			    struct rf_err *err);

/* Time passes: a front that has not read for long is killed, and another one is started. */
void rf_household_look_after_front(struct landlord *l);

/* Connections on terms of the key, or all ("" ), are ended by the warden and the clerk themselves, whatever who has them does. */
void rf_household_withdraw(const struct landlord *l, const char *key);

/* A certificate that was replaced: connections from now on see the new one.  If it does not do, the old one stays. */
void rf_household_renew_papers(struct landlord *l);

/* The clerk asks the watcher, and can't connect to it himself; `data` is the landlord. */
void rf_household_lend_watcher(void *data);

/* Sees all of them off, and waits until they are gone. */
void rf_household_end(struct landlord *l);

#endif
