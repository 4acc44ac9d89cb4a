/*
 * One box's way out: its policy, names, limits and filters, its listeners, and every connection that it has.
 *
 * The gateway serves many boxes; nothing of one is ever looked up with what another said.  An outlet is made when a client opens it
 * (GATE_OPEN), gets its sockets (GATE_LINES), and is gone, with all connections, when the client says so or is gone itself.
 *
 * Parts of the folder that not every box needs (TLS, credentials, redaction) attach themselves when the outlet is opened: each is a row of
 * rf_outlet_parts in outlet-parts.c, and finds here what it may fill in.
 */
#ifndef RF_GATEWAY_OUTLET_H
#define RF_GATEWAY_OUTLET_H

#include "gateway/forward.h"
#include "gateway/gateway.h"
#include "gateway/names.h"
#include "gateway/note.h"
#include "gateway/pace.h"
#include "policy/net.h"
#include "watch/breaker.h"
#include "wire/gate.h"

#define RF_OUTLET_NAMES 8192 /* that a box's addresses stand for at a time */
#define RF_OUTLET_PARTS 6

struct rf_outlet;
struct rf_crossing;
struct rf_listener;
struct rf_way;
struct rf_forward_line;
struct rf_dns_line;
struct rf_publish;
struct rf_ends;
struct rf_annals;
struct rf_custody;
struct rf_hand;
struct rf_edict;

/*
 * Ends TLS for a connection of the box's (takes `*fd`, also on failure): `first` are bytes that were read from it already, the others of its
 * ClientHello are still to be read.  Shows a certificate for `place->host`, and gives what is inside to rf_forward_serve().
 */
typedef int rf_outlet_accept(struct rf_outlet *outlet, int *fd, struct rf_span first,
			     const struct rf_forward_place *place, struct rf_err *err);

struct rf_outlet {
	struct rf_gateway *gateway;
	struct rf_note *note;
	struct rf_net *net;       /* changes when the policy does: nobody keeps a pointer into it */
	struct rf_policy *opened; /* what it began with */
	struct rf_buf policy;     /* what holds now, as text */
	struct rf_policy *most;   /* what it never goes beyond, or NULL: see rf_outlet_seal() */
	struct rf_annals *annals; /* of a sealed one, or NULL */
	struct rf_hand *hands;    /* that others have on it, the last one first */
	char box[64];
	struct rf_custody *custody; /* who decides about its writes, where these wait; or NULL */
	bool holds_writes;          /* a trial run: see hold.h */
	bool looks_everywhere;      /* no connection is relayed unread */
	unsigned held_count;
	size_t held_bytes;

	struct rf_names *names;
	struct rf_breaker_set *breakers;
	struct rf_edict *edict; /* what is counted and decided outside; or NULL: nothing is */
	struct rf_pace_rate rate;
	struct rf_pace_bytes up, down;
	struct rf_exchange_limits exchange_limits; /* towards the box */
	struct rf_call_limits call_limits;         /* towards servers */

	struct rf_listener *listeners;
	struct rf_crossing *crossings; /* connections of the box's that are looked at or relayed */
	struct rf_forward_line *lines; /* and those on which HTTP is spoken */
	struct rf_forward *forwards;   /* requests that are under way */
	size_t connection_count, connection_most; /* both together, and published ones */
	struct rf_dns_line *dns_lines;            /* connections to its resolver */
	size_t dns_line_count;
	struct rf_publish *published; /* connections from outside */
	int stock[256];               /* sockets of its network, to connect with */
	size_t stock_count;
	struct rf_way *ways; /* connections to servers, and those that wait to be one */
	size_t way_count, pending_count;
	struct rf_call_host upstream; /* calls on such connections */
	struct rf_call *idle;         /* that wait for the next request */
	size_t idle_count;
	uint64_t upstream_age; /* connections of before it are used for no further request */

	/* For parts to fill in when the outlet is opened: */
	rf_outlet_accept *accept; /* NULL: TLS is not ended */
	struct rf_ends *ends;     /* that does */
	/* Makes TLS to a server; or NULL: there is none. */
	const struct rf_transport_maker *(*secure)(struct rf_outlet *outlet,
						   const struct rf_forward_place *place);
	struct rf_buf pem; /* what the box is to trust */
	const struct rf_forward_filter *filters[RF_FORWARD_FILTERS];
	void *filter_data[RF_FORWARD_FILTERS];
	size_t filter_count;
	void *parts[RF_OUTLET_PARTS]; /* each part's own */
};

struct rf_outlet_part {
	const char *name;
	/* Both may find `*own` NULL.  `open` is borrowed for the call, secrets and all. */
	int (*open)(struct rf_outlet *outlet, const struct rf_gate_open *open, void **own,
		    struct rf_err *err);
	/* The policy has changed, to one that outlet->net is: fails if the part can't go along, and then nothing has changed.  May be NULL. */
	int (*change)(struct rf_outlet *outlet, void *own, struct rf_err *err);
	/* The box is over: closes connections that are the part's own, before those of the outlet are.  May be NULL. */
	void (*stop)(struct rf_outlet *outlet, void *own);
	/* Frees it; nothing of the box is under way any more. */
	void (*close)(struct rf_outlet *outlet, void *own);
};

/* Ended by a row without a name. */
extern const struct rf_outlet_part rf_outlet_parts[];

/* Adds a filter (borrows it and its data for as long as the outlet lives).  False if there is no room. */
bool rf_outlet_add_filter(struct rf_outlet *outlet, const struct rf_forward_filter *filter,
			  void *data);

/* `fd` is the client's connection (borrows), `id` the client's number for the box. */
int rf_outlet_new(struct rf_gateway *gateway, int fd, uint64_t id, const struct rf_gate_open *open,
		  struct rf_outlet **ret_outlet, struct rf_err *err);

/* Closes all that the box has; some of it tells its end in the next turns of the loop. */
void rf_outlet_close(struct rf_outlet *outlet);
void rf_outlet_free(struct rf_outlet *outlet);

/* Closed, and all of it has told its end: it can be freed. */
bool rf_outlet_is_quiet(const struct rf_outlet *outlet);

/* Puts a policy in place of the one it has: new connections are judged by it, and those are closed that it does not allow. */
int rf_outlet_change(struct rf_outlet *outlet, const char *policy, size_t len, struct rf_err *err);

/* The same for who has its connection: where it is sealed, within that. */
int rf_outlet_change_within(struct rf_outlet *outlet, const char *policy, size_t len,
			    struct rf_err *err);

/* The same for good: no hand on it leads beyond that, but where a seal says how far it does. */
int rf_outlet_bound(struct rf_outlet *outlet, const char *policy, size_t len, struct rf_err *err);

/*
 * From now on its connection may be in hands that are trusted with nothing: whatever is said there leads to no more than this policy, and what it was opened
 * with beyond rules stays (credentials, filters, roots).
 */
int rf_outlet_seal(struct rf_outlet *outlet, const char *policy, size_t len, struct rf_err *err);

/* Goes by what the watcher's books say from now on (wire/books.h). */
int rf_outlet_take_books(struct rf_outlet *outlet, const char *text, size_t len,
			 struct rf_err *err);

/* Whether the box may have one more connection; and it has one more, or one less. */
bool rf_outlet_has_room(const struct rf_outlet *outlet);
void rf_outlet_count(struct rf_outlet *outlet, int change);

#endif
