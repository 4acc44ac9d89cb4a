/*
 * ringfort-front: reads what strangers send, and answers.
 *
 * Has no right of its own (confine.h): it is given sockets that listen, and for each key that it is shown a connection to the warden on that key's
 * terms (landlord.h).  One thread, one loop.  Holds what can be lost: after a crash another front goes on, with the same boxes.
 */
#ifndef RF_SERVER_FRONT_H
#define RF_SERVER_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "http/http-server.h"
#include "server/api-call.h"
#include "server/duplex.h"
#include "server/pass.h"
#include "server/wsline.h"

struct ringfort_policy;
struct rf_background;
struct rf_airlock;
struct rf_call_host;
struct rf_parley;
struct rf_mcp_session;

#define RF_FRONT_STATUSES 6

struct rf_front_figures {
	uint64_t requests[RF_FRONT_STATUSES]; /* answered, by the first digit of their status */
	uint64_t runs, programs, sandboxes;   /* begun */
	uint64_t refused;                     /* for want of room, or by the rate */
	uint64_t waiting, under_way;          /* now */
	uint64_t run_ns;                      /* of all runs together, from request to answer */
	uint64_t runs_ended;
};

/* What a connection came through. */
struct rf_front_side {
	struct rf_front *front;
	bool is_local;
};

struct rf_front {
	struct rf_loop *loop;
	int host; /* the connection to who has the keys */
	struct rf_event *host_event;
	struct rf_buf in;
	char *rules_text; /* that the rules point into */
	struct rf_pass_rules rules;
	struct rf_front_side ports_side, local_side;
	struct rf_http_server *ports, *local;
	struct rf_airlock *airlock;     /* before the ports, or NULL: they speak no TLS */
	struct rf_holder *holders;      /* whose keys were shown */
	struct rf_holder *local_holder; /* or NULL */
	struct rf_background *programs; /* that run in the background, or did */
	size_t program_count;
	struct rf_wsline_host lines; /* WebSockets */
	struct rf_parley *parleys;   /* programs that have one, or had */
	size_t parley_count;
	struct rf_call_host
		*port_host; /* of connections to ports of sandboxes; NULL: there were none */
	struct rf_duplex_host duplexes;      /* and what WebSockets to them became */
	size_t port_count;                   /* requests that are on their way to one */
	struct rf_mcp_session *mcp_sessions; /* the one that was used last comes first */
	struct rf_api_call *to_be_told;      /* who asked the register: see wicket.h */
	struct rf_api_call *awaiting;        /* whose keys are being looked up */
	struct rf_order_tools tools;
	struct rf_front_figures figures;
	size_t owed, owed_to_strangers; /* bytes of answers that clients have not read */
	uint64_t last_id, calls;
	size_t held;        /* bytes of requests' bodies that are kept */
	unsigned watches;   /* folders that are watched */
	unsigned followers; /* of tenants' events */
	unsigned sendings;  /* decisions about approvals that are under way */
	uint64_t started_ns;
	struct rf_event *timer;
	bool is_ready, is_draining;
};

/* Serves on the connection to who started it, until that ends or says so; `speaks_tls` if its ports will. */
int rf_front_serve(int host, bool speaks_tls, struct rf_err *err);

/* Asks whose key a call's is, if nobody knows yet: gives the holder, or NULL: the call will be told. */
struct rf_holder *rf_front_look_up(struct rf_front *front, struct rf_api_call *call,
				   struct rf_span token, struct rf_err *err);
void rf_front_forget_call(struct rf_front *front, struct rf_api_call *call);

/* A policy, read before or now; it stays the front's, and is there until the next call. */
int rf_front_policy(struct rf_front *front, const char *text,
		    const struct ringfort_policy **ret_policy, struct rf_api_error *error);

/* The front's figures, as Prometheus reads them (serve-info.c). */
void rf_serve_put_figures(const struct rf_front *front, struct rf_buf *to);

#endif
