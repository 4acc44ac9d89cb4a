/*
 * A connection to a server: see way.h.
 *
 *   QUEUED     waits for one of the box's others to close; then goes on
 *   RESOLVING  the resolver is asked
 *   DIALLING   addresses that were judged are tried
 *   OPEN       it stands, and is the caller's
 *   FAILED     `refusal` says why
 */
#include "gateway/way.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "gateway/dial.h"
#include "gateway/edict.h"
#include "gateway/judge.h"
#include "gateway/upstream.h"

#define MS 1000000ull

enum state {
	QUEUED,
	RESOLVING,
	DIALLING,
	OPEN,
	FAILED
};

struct rf_way {
	struct rf_outlet *outlet;
	struct rf_way *next, **link;
	struct rf_forward_place place;
	enum state state;
	rf_way_fn *fn;
	void *data;
	struct rf_deadline soon, limit;
	struct rf_resolve_query *query;
	struct rf_dial *dial;
	int fd;
	uint64_t ticket;
	bool has_ticket, is_counted;
	char breaker[RF_TABLE_NAME];
	char address[RF_ADDRESS_TEXT];
	struct rf_refusal refusal;
	struct rf_transport inner;
};

/* As often in a row, or half of so many; for the whole of Ringfort alike (watch/breaker.h). */
static const struct rf_breaker_rule breaker_rule = {
	.failures = 5, .rate_percent = 50, .of = 10, .within_ms = 60000, .open_ms = 60000
};

/* ------------------------------------------------------------- breakers */

/* A name that a breaker takes: the end of a long one, which is what hosts have in common least, and a sum of the rest. */
static void name_breaker(struct rf_way *way)
{
	char place[RF_HOST_TEXT + 16];
	size_t len;

	rf_judge_place(&way->place.host, way->place.port, place, sizeof(place));
	len = strlen(place);
	if (len < sizeof(way->breaker)) {
		memcpy(way->breaker, place, len + 1);
		return;
	}
	snprintf(way->breaker, sizeof(way->breaker), "%016llx..%s",
		 (unsigned long long)rf_table_hash((const uint64_t[2]){ 1, 2 }, place, len),
		 place + len - 100);
}

/* Somebody has opened it by hand, for this port or for all. */
static bool is_barred(struct rf_way *way, struct rf_breaker_answer *ret_answer)
{
	char host[RF_HOST_TEXT + 16];
	const char *reason;

	rf_judge_place(&way->place.host, 0, host, sizeof(host));
	reason = rf_edict_bars(way->outlet->edict, false, way->breaker, host, rf_loop_now() / MS,
			       &ret_answer->retry_ms);
	if (reason)
		snprintf(ret_answer->reason, sizeof(ret_answer->reason), "%s", reason);
	return reason;
}

static bool is_broken(struct rf_way *way)
{
	struct rf_breaker_answer answer = { 0 };

	name_breaker(way);
	if (!is_barred(way, &answer))
		rf_breaker_admit(way->outlet->breakers, RF_TABLE_HOST, way->breaker,
				 rf_loop_now() / MS, &answer);
	way->has_ticket = answer.is_admitted;
	way->ticket = answer.ticket;
	if (answer.is_admitted)
		return false;
	way->refusal = (struct rf_refusal){ .status = 503, .code = "host_breaker_open" };
	if (answer.retry_ms < UINT32_MAX)
		way->refusal.retry_s = (unsigned)(answer.retry_ms / 1000 + 1);
	rf_judge_place(&way->place.host, way->place.port, way->refusal.host,
		       sizeof(way->refusal.host));
	snprintf(way->refusal.message, sizeof(way->refusal.message),
		 "%.120s is left alone for a while: %.100s.", way->refusal.host, answer.reason);
	return true;
}

void rf_way_record(struct rf_way *way, enum rf_breaker_outcome outcome)
{
	if (!way->has_ticket)
		return;
	way->has_ticket = false;
	rf_breaker_record(way->outlet->breakers, RF_TABLE_HOST, way->breaker, &breaker_rule,
			  way->ticket, outcome, rf_loop_now() / MS);
}

/* ------------------------------------------------------------- refusals */

void rf_way_explain(const struct rf_forward_place *place, int code, const char *what,
		    struct rf_refusal *ret_refusal)
{
	bool is_late = code == -ETIMEDOUT;

	*ret_refusal = (struct rf_refusal){
		.status = is_late ? 504 : 502,
		.code = is_late ? "upstream_timeout" : "upstream_failed",
	};
	rf_judge_place(&place->host, place->port, ret_refusal->host, sizeof(ret_refusal->host));
	snprintf(ret_refusal->message, sizeof(ret_refusal->message), "%.100s: %.140s",
		 ret_refusal->host, what);
}

/* The caller is told from the loop. */
static void settle(struct rf_way *way, enum state state)
{
	way->state = state;
	rf_deadline_cancel(&way->limit);
	rf_deadline_set(&way->soon, rf_loop_now());
}

static void fail(struct rf_way *way, int code, const char *what)
{
	rf_way_explain(&way->place, code, what, &way->refusal);
	rf_way_record(way, RF_BREAKER_FAILED);
	settle(way, FAILED);
}

static void refuse(struct rf_way *way, const struct rf_judge *judge)
{
	rf_judge_refuse(judge, &way->place.host, way->place.port, &way->refusal);
	way->refusal.code = "address_denied";
	rf_way_record(way, RF_BREAKER_UNKNOWN);
	settle(way, FAILED);
}

/* ------------------------------------------------------------- the way */

static void on_dialled(void *data, int fd, const struct rf_address *addr)
{
	struct rf_way *way = data;
	struct rf_judge judge = { .is_allowed = true };

	way->dial = NULL;
	rf_address_format(addr, way->address);
	if (fd < 0) {
		char what[96];

		snprintf(what, sizeof(what), "connect to %s: %s", way->address, strerror(-fd));
		fail(way, fd, what);
		return;
	}
	way->fd = fd;
	/* The policy may have changed since it was dialled. */
	rf_judge_standing(way->outlet, &way->place.host, way->place.port, way->address, &judge);
	if (judge.is_allowed)
		settle(way, OPEN);
	else
		refuse(way, &judge);
}

/* Those of the addresses that may be dialled; if there is none, why the first may not. */
static void dial(struct rf_way *way, const struct rf_address *list, size_t count, uint16_t port,
		 bool is_named)
{
	struct rf_gateway *gateway = way->outlet->gateway;
	struct rf_address allowed[RF_DIAL_MOST];
	struct rf_judge judge, first = { 0 };
	size_t kept = 0;
	struct rf_err err;

	for (size_t i = 0; i < count && kept < RF_DIAL_MOST; i++) {
		rf_judge_address(way->outlet, &way->place.host, &list[i], port, is_named, &judge);
		if (judge.is_allowed)
			allowed[kept++] = list[i];
		else if (!first.reason[0])
			first = judge;
	}
	if (kept == 0) {
		if (count > 0)
			rf_address_format(&list[0], way->address);
		refuse(way, &first);
		return;
	}
	way->state = DIALLING;
	if (rf_dial_new(gateway->loop, gateway->deadlines, allowed, kept, port,
			way->outlet->call_limits.connect_ms, on_dialled, way, &way->dial, &err) < 0)
		fail(way, err.code, err.msg);
}

static void on_resolved(void *data, const struct rf_resolve_answer *answer)
{
	struct rf_way *way = data;
	char what[128];

	way->query = NULL;
	if (answer->code == 0) {
		dial(way, answer->list, answer->count, way->place.port, false);
		return;
	}
	snprintf(what, sizeof(what), "the name can't be resolved: %s", answer->why);
	fail(way, answer->code, what);
}

static void go(struct rf_way *way)
{
	const struct rf_host *host = &way->place.host;
	const struct rf_net_alias *alias = rf_net_alias_of(way->outlet->net, host);
	struct rf_address addr;
	struct rf_err err;

	way->is_counted = true;
	way->outlet->way_count++;
	if (alias) {
		memcpy(addr.octets, alias->address, sizeof(addr.octets));
		dial(way, &addr, 1, alias->port ? alias->port : way->place.port, true);
	} else if (rf_net_address_of(host, addr.octets)) {
		dial(way, &addr, 1, way->place.port, false);
	} else {
		way->state = RESOLVING;
		if (rf_resolve_ask(way->outlet->gateway->resolve, host->text, on_resolved, way,
				   &way->query, &err) < 0)
			fail(way, err.code, err.msg);
	}
}

static bool has_turn(struct rf_outlet *outlet)
{
	uint64_t most = outlet->net->limits[RF_NET_CONNECTIONS];

	if (outlet->way_count >= most && outlet->idle_count > 0)
		rf_upstream_trim(outlet, outlet->idle_count - 1);
	return outlet->way_count < most;
}

static void begin(struct rf_way *way)
{
	struct rf_outlet *outlet = way->outlet;

	if (is_broken(way)) {
		settle(way, FAILED);
	} else if (has_turn(outlet)) {
		go(way);
	} else if (outlet->pending_count < outlet->net->limits[RF_NET_PENDING]) {
		way->state = QUEUED;
		outlet->pending_count++;
	} else {
		way->refusal = (struct rf_refusal){ .status = 429,
						    .code = "too_many_connections",
						    .retry_s = 1 };
		rf_judge_place(&way->place.host, way->place.port, way->refusal.host,
			       sizeof(way->refusal.host));
		snprintf(way->refusal.message, sizeof(way->refusal.message),
			 "This sandbox has %zu connections, and no more may wait.",
			 outlet->way_count);
		snprintf(way->refusal.remedy, sizeof(way->refusal.remedy),
			 "close some, or raise network.connections");
		rf_way_record(way, RF_BREAKER_UNKNOWN);
		settle(way, FAILED);
	}
}

/* One that waits has its turn: the oldest, which is the last of the list. */
static void wake_next(struct rf_outlet *outlet)
{
	struct rf_way *oldest = NULL;

	if (outlet->pending_count == 0 || !has_turn(outlet))
		return;
	for (struct rf_way *way = outlet->ways; way; way = way->next)
		if (way->state == QUEUED)
			oldest = way;
	if (oldest) {
		outlet->pending_count--;
		go(oldest);
	}
}

static void on_soon(void *data)
{
	struct rf_way *way = data;

	way->fn(way->data, way, way->state == OPEN ? NULL : &way->refusal);
}

static void on_limit(void *data)
{
	struct rf_way *way = data;

	if (way->state == QUEUED)
		way->outlet->pending_count--;
	rf_resolve_cancel(way->query);
	way->query = NULL;
	rf_dial_cancel(way->dial);
	way->dial = NULL;
	fail(way, -ETIMEDOUT,
	     way->state == QUEUED ? "no connection became free in time"
				  : "there is no connection in time");
}

int rf_way_new(struct rf_outlet *outlet, const struct rf_forward_place *place, rf_way_fn *fn,
	       void *data, struct rf_way **ret_way, struct rf_err *err)
{
	struct rf_way *way = calloc(1, sizeof(*way));

	if (!way)
		return rf_fail(err, -ENOMEM, "connection");
	way->outlet = outlet;
	way->place = *place;
	way->fn = fn;
	way->data = data;
	way->fd = -1;
	way->state = FAILED; /* until it has begun */
	way->link = &outlet->ways;
	way->next = outlet->ways;
	if (way->next)
		way->next->link = &way->next;
	outlet->ways = way;
	if (rf_deadline_init(&way->soon, outlet->gateway->deadlines, on_soon, way) < 0 ||
	    rf_deadline_init(&way->limit, outlet->gateway->deadlines, on_limit, way) < 0) {
		rf_way_close(way);
		return rf_fail(err, -ENOMEM, "connection");
	}
	rf_deadline_set(&way->limit, rf_loop_now() + outlet->call_limits.connect_ms * 2 * MS);
	begin(way);
	*ret_way = way;
	return 0;
}

void rf_way_close(struct rf_way *way)
{
	struct rf_outlet *outlet;

	if (!way)
		return;
	outlet = way->outlet;
	rf_way_record(way, RF_BREAKER_UNKNOWN);
	rf_resolve_cancel(way->query);
	rf_dial_cancel(way->dial);
	rf_fd_done(&way->fd);
	rf_deadline_done(&way->soon);
	rf_deadline_done(&way->limit);
	*way->link = way->next;
	if (way->next)
		way->next->link = way->link;
	if (way->state == QUEUED && !way->is_counted && outlet->pending_count > 0)
		outlet->pending_count--;
	if (way->is_counted)
		outlet->way_count--;
	free(way);
	wake_next(outlet);
}

int rf_way_take(struct rf_way *way)
{
	return rf_fd_take(&way->fd);
}

const char *rf_way_address(const struct rf_way *way)
{
	return way->address;
}

/* ------------------------------------------------------------- as a transport */

/* What one must wait for stands in the outer transport as well. */
static void mirror(struct rf_transport *transport, const struct rf_transport *inner)
{
	transport->is_deep = inner->is_deep;
	transport->read_needs = inner->read_needs;
	transport->write_needs = inner->write_needs;
}

static ssize_t way_read(struct rf_transport *transport, void *data, size_t size)
{
	struct rf_way *way = transport->data;
	ssize_t n = way->inner.ops->read(&way->inner, data, size);

	mirror(transport, &way->inner);
	return n;
}

static ssize_t way_write(struct rf_transport *transport, const void *data, size_t len)
{
	struct rf_way *way = transport->data;
	ssize_t n = way->inner.ops->write(&way->inner, data, len);

	mirror(transport, &way->inner);
	return n;
}

static void way_shut(struct rf_transport *transport)
{
	struct rf_way *way = transport->data;

	way->inner.ops->shut(&way->inner);
}

static void way_done(struct rf_transport *transport)
{
	struct rf_way *way = transport->data;

	way->inner.ops->done(&way->inner);
	rf_way_close(way);
	transport->fd = -1;
}

static bool way_explain(const struct rf_transport *transport, struct rf_err *err)
{
	const struct rf_way *way = transport->data;

	return way->inner.ops->explain && way->inner.ops->explain(&way->inner, err);
}

int rf_way_transport(struct rf_way *way, struct rf_transport *ret_transport, struct rf_err *err)
{
	static const struct rf_transport_ops ops = {
		.read = way_read,
		.write = way_write,
		.shut = way_shut,
		.done = way_done,
		.explain = way_explain,
	};
	const struct rf_transport_maker *secure =
		way->outlet->secure ? way->outlet->secure(way->outlet, &way->place) : NULL;
	int code = 0;

	if (!way->place.is_tls)
		way->inner = rf_transport_plain(&way->fd);
	else if (secure)
		code = secure->make(secure, &way->fd, way->place.host.text, &way->inner, err);
	else
		code = rf_fail_say(err, -ENOTSUP, "TLS to servers is not there");
	if (code < 0) {
		rf_way_close(way);
		return code;
	}
	*ret_transport = (struct rf_transport){ .ops = &ops, .fd = way->inner.fd, .data = way };
	mirror(ret_transport, &way->inner);
	return 0;
}
