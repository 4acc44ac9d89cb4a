/* Connections to servers that are kept: see upstream.h. */
#include "gateway/upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/way.h"
#include "http2/h2-client.h"

#define MOST_IDLE                                                                                  \
	128 /* as many as a busy box has at once: a new one costs more than ten requests on an old one */
#define IDLE_NS (15ull * 1000000000)

struct tag {
	struct rf_forward_place place;
	struct rf_way *way; /* lives as long as the connection */
	uint64_t age;       /* of the box's, when it was made */
};

static struct tag *tag_of(const struct rf_call *call)
{
	return rf_call_origin(call)->tag;
}

static void remove_at(struct rf_outlet *outlet, struct rf_call **at)
{
	struct rf_call *call = *at;

	*at = *rf_call_next(call);
	*rf_call_next(call) = NULL;
	outlet->idle_count--;
}

void rf_upstream_drop(struct rf_call *call)
{
	struct tag *tag = tag_of(call);

	rf_call_close(call);
	free(tag);
}

void rf_upstream_trim(struct rf_outlet *outlet, size_t most)
{
	while (outlet->idle_count > most) {
		struct rf_call **at = &outlet->idle, *call;

		while (*rf_call_next(*at)) /* the one that waits longest */
			at = rf_call_next(*at);
		call = *at;
		remove_at(outlet, at);
		rf_upstream_drop(call);
	}
}

void rf_upstream_retire(struct rf_outlet *outlet)
{
	outlet->upstream_age++;
	rf_upstream_trim(outlet, 0);
}

static bool on_idle(struct rf_call_host *host, struct rf_call *call)
{
	struct rf_outlet *outlet = host->pool;

	/* Who waits for a connection needs this one's place more. */
	if (outlet->pending_count > 0 || tag_of(call)->age != outlet->upstream_age)
		return false;
	*rf_call_next(call) = outlet->idle;
	outlet->idle = call;
	outlet->idle_count++;
	rf_call_idle_until(call, rf_loop_now() + IDLE_NS);
	rf_upstream_trim(outlet, MOST_IDLE);
	return true;
}

static void on_gone(struct rf_call_host *host, struct rf_call *call)
{
	struct rf_outlet *outlet = host->pool;

	for (struct rf_call **at = &outlet->idle; *at; at = rf_call_next(*at))
		if (*at == call) {
			remove_at(outlet, at);
			break;
		}
	free(tag_of(call));
}

void rf_upstream_init(struct rf_outlet *outlet)
{
	outlet->upstream = (struct rf_call_host){
		.loop = outlet->gateway->loop,
		.deadlines = outlet->gateway->deadlines,
		.limits = &outlet->call_limits,
		.on_idle = on_idle,
		.on_gone = on_gone,
		.pool = outlet,
	};
}

static bool is_same(const struct rf_forward_place *place, const struct rf_forward_place *other)
{
	return place->port == other->port && place->is_tls == other->is_tls &&
	       place->is_http2 == other->is_http2 && rf_host_is_same(&place->host, &other->host);
}

struct rf_call *rf_upstream_find(struct rf_outlet *outlet, const struct rf_forward_place *place)
{
	for (struct rf_call **at = &outlet->idle; *at; at = rf_call_next(*at))
		if (is_same(&tag_of(*at)->place, place)) {
			struct rf_call *call = *at;

			remove_at(outlet, at);
			return call;
		}
	return NULL;
}

int rf_upstream_make(struct rf_outlet *outlet, const struct rf_forward_place *place,
		     struct rf_way *way, struct rf_call **ret_call, struct rf_err *err)
{
	struct tag *tag = malloc(sizeof(*tag));
	struct rf_call_origin origin = { .tag = tag };
	struct rf_transport transport;

	if (!tag) {
		rf_way_close(way);
		return rf_fail(err, -ENOMEM, "connection");
	}
	*tag = (struct tag){ *place, way, outlet->upstream_age };
	if (rf_way_transport(way, &transport, err) < 0 ||
	    (place->is_http2 && rf_h2_client_new(outlet->gateway->loop, outlet->gateway->deadlines,
						 transport, &transport, err) < 0) ||
	    rf_call_new_on(&outlet->upstream, &origin, transport, ret_call, err) < 0) {
		free(tag);
		return err->code;
	}
	return 0;
}

void rf_upstream_record(struct rf_call *call, enum rf_breaker_outcome outcome)
{
	rf_way_record(tag_of(call)->way, outcome);
}

const char *rf_upstream_address(const struct rf_call *call)
{
	return rf_way_address(tag_of(call)->way);
}
