/* One box's way out: see outlet.h. */
#include "gateway/outlet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "gateway/annals.h"
#include "gateway/crossing.h"
#include "gateway/custody.h"
#include "gateway/dns-line.h"
#include "gateway/edict.h"
#include "gateway/hand.h"
#include "gateway/listener.h"
#include "gateway/publish.h"
#include "gateway/upstream.h"
#include "policy/net-change.h"
#include "policy/policy.h"

#define SECOND    1000000000ull
#define BREAKERS  1024
#define PEM_BYTES (48 * 1024)
#define FILES_SHARE                                                                                \
	4 /* descriptors of the process that one box's connections may use: a part of so many */
#define FILES_EACH 3 /* that a connection needs: itself, the server's, and the half of two pipes */
#define LEAST      16
#define FEW        4 /* connections that a box has in any case */
#define IDLE_MS    300000
#define CONNECT_MS 15000

/* ------------------------------------------------------------- the policy */

static int read_policy(const char *text, size_t len, struct rf_policy **ret_policy,
		       struct rf_net **ret_net, struct rf_err *err)
{
	struct rf_policy *policy = NULL;

	if (rf_policy_parse(text, len, "/", "/", &policy, err) < 0)
		return rf_fail_in(err, "the box's policy");
	if (rf_net_make(policy, ret_net, err) < 0) {
		rf_policy_free(policy);
		return rf_fail_in(err, "the box's policy");
	}
	*ret_policy = policy;
	return 0;
}

/* The first one is what the box may have at most, where somebody bounds it. */
static int open_policy(struct rf_outlet *outlet, const char *text, struct rf_err *err)
{
	if (read_policy(text, strlen(text), &outlet->opened, &outlet->net, err) < 0)
		return err->code;
	rf_buf_puts(&outlet->policy, text);
	return outlet->policy.has_failed ? rf_fail(err, -ENOMEM, "a box") : 0;
}

/* Where every request is to be seen, none goes through unread. */
static void look_everywhere(const struct rf_outlet *outlet, struct rf_net *net)
{
	net->looks_everywhere = net->looks_everywhere || outlet->looks_everywhere;
	net->needs_tls = net->needs_tls || net->looks_everywhere;
}

static uint32_t ms_of(uint64_t limit, uint32_t usual)
{
	if (limit == RF_LIMIT_NONE)
		return usual;
	return limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t rate_of(uint64_t limit, uint64_t whole)
{
	uint64_t rate = least(limit, whole);

	return rate == RF_LIMIT_NONE ? 0 : rate;
}

/* The connections that one box may have at most: all of them together never need more descriptors than there are. */
static uint64_t share_of(const struct rf_gateway *gateway)
{
	size_t boxes = gateway->boxes > FILES_SHARE ? gateway->boxes : FILES_SHARE;

	return gateway->files / boxes / FILES_EACH;
}

/* What the policy's figures mean for connections that begin from now on. */
static void set_limits(struct rf_outlet *outlet)
{
	const uint64_t *limits = outlet->net->limits;
	uint64_t now = rf_loop_now(), room;
	uint32_t idle = ms_of(limits[RF_NET_IDLE_TIME], IDLE_MS);
	uint32_t total = ms_of(limits[RF_NET_TOTAL_TIME], 0);

	outlet->exchange_limits = rf_exchange_usual;
	outlet->exchange_limits.idle_ms = idle;
	outlet->exchange_limits.stall_ms = idle;
	outlet->exchange_limits.total_ms = total;
	outlet->call_limits = rf_call_usual;
	outlet->call_limits.connect_ms = ms_of(limits[RF_NET_CONNECT_TIME], CONNECT_MS);
	outlet->call_limits.answer_ms = idle;
	outlet->call_limits.stall_ms = idle;
	outlet->call_limits.total_ms = total;
	if (limits[RF_NET_RATE] == RF_LIMIT_NONE)
		rf_pace_rate_init(&outlet->rate, 0, 0, 0);
	else
		rf_pace_rate_init(&outlet->rate, rf_limit_rate_per_day(limits[RF_NET_RATE]),
				  86400 * SECOND, rf_limit_rate_burst(limits[RF_NET_RATE]));
	rf_pace_bytes_init(&outlet->up,
			   rate_of(limits[RF_NET_BANDWIDTH_UP], limits[RF_NET_BANDWIDTH]), now);
	rf_pace_bytes_init(&outlet->down,
			   rate_of(limits[RF_NET_BANDWIDTH_DOWN], limits[RF_NET_BANDWIDTH]), now);
	room = share_of(outlet->gateway);
	if (limits[RF_NET_CONNECTIONS] < room && limits[RF_NET_PENDING] < room)
		room = least(room, limits[RF_NET_CONNECTIONS] + limits[RF_NET_PENDING] + LEAST);
	outlet->connection_most = room < LEAST ? LEAST : (size_t)room;
}

/* ------------------------------------------------------------- life */

bool rf_outlet_add_filter(struct rf_outlet *outlet, const struct rf_forward_filter *filter,
			  void *data)
{
	if (outlet->filter_count == RF_FORWARD_FILTERS)
		return false;
	outlet->filters[outlet->filter_count] = filter;
	outlet->filter_data[outlet->filter_count++] = data;
	return true;
}

static int open_parts(struct rf_outlet *outlet, const struct rf_gate_open *open, struct rf_err *err)
{
	for (size_t i = 0; rf_outlet_parts[i].name; i++)
		if (rf_outlet_parts[i].open(outlet, open, &outlet->parts[i], err) < 0)
			return rf_fail_in(err, "%s", rf_outlet_parts[i].name);
	return 0;
}

/* A host that is left alone, or tried again, or well again. */
static void on_breaker(void *arg, const struct rf_breaker_view *view, enum rf_breaker_state before)
{
	struct rf_outlet *outlet = arg;
	bool is_open = view->state == RF_BREAKER_OPEN && view->retry_ms != RF_CLOCK_NEVER;
	struct rf_gate_event event = {
		.kind = RF_GATE_BREAKER,
		.verdict = RF_GATE_ALLOWED,
		.host = view->name,
		.method = rf_breaker_state_name(before),
		.rule = rf_breaker_state_name(view->state),
		.duration_us = is_open ? view->retry_ms * 1000 : 0,
		.reason = view->reason,
	};

	rf_note_tell(outlet->note, &event);
}

static int make_tables(struct rf_outlet *outlet, struct rf_err *err)
{
	struct rf_breaker_options breakers = { .cap = BREAKERS,
					       .changed = on_breaker,
					       .arg = outlet };
	uint64_t key[2];

	if (rf_gateway_key(key, err) < 0 || rf_gateway_key(breakers.key, err) < 0)
		return err->code;
	outlet->names = rf_names_new(RF_OUTLET_NAMES, key);
	outlet->breakers = rf_breaker_new(&breakers);
	if (!outlet->names || !outlet->breakers)
		return rf_fail(err, -ENOMEM, "a box");
	return 0;
}

int rf_outlet_new(struct rf_gateway *gateway, int fd, uint64_t id, const struct rf_gate_open *open,
		  struct rf_outlet **ret_outlet, struct rf_err *err)
{
	struct rf_outlet *outlet = calloc(1, sizeof(*outlet));

	if (!outlet)
		return rf_fail(err, -ENOMEM, "a box");
	outlet->gateway = gateway;
	gateway->boxes++;
	outlet->holds_writes = open->holds_writes;
	outlet->looks_everywhere = open->holds_writes || open->looks_everywhere;
	snprintf(outlet->box, sizeof(outlet->box), "%s", open->box);
	rf_buf_init(&outlet->pem, PEM_BYTES);
	rf_buf_init(&outlet->policy, RF_MAX_POLICY_BYTES);
	if (rf_note_new(gateway->deadlines, fd, id, &outlet->note, err) < 0 ||
	    make_tables(outlet, err) < 0 || open_policy(outlet, open->policy, err) < 0) {
		rf_outlet_free(outlet);
		return err->code;
	}
	look_everywhere(outlet, outlet->net);
	set_limits(outlet);
	rf_upstream_init(outlet);
	if (open_parts(outlet, open, err) < 0) {
		rf_outlet_free(outlet);
		return err->code;
	}
	*ret_outlet = outlet;
	return 0;
}

void rf_outlet_close(struct rf_outlet *outlet)
{
	for (size_t i = 0; rf_outlet_parts[i].name; i++)
		if (rf_outlet_parts[i].stop)
			rf_outlet_parts[i].stop(outlet, outlet->parts[i]);
	rf_hand_free_all(outlet);
	rf_custody_free(outlet);
	rf_listener_close(outlet);
	rf_dns_line_close(outlet);
	rf_publish_close(outlet);
	rf_crossing_close(outlet);
	rf_forward_close(outlet);
	rf_upstream_trim(outlet, 0);
}

bool rf_outlet_is_quiet(const struct rf_outlet *outlet)
{
	return !outlet->forwards && !outlet->lines && !outlet->ways && !outlet->crossings;
}

void rf_outlet_free(struct rf_outlet *outlet)
{
	if (!outlet)
		return;
	outlet->gateway->boxes--;
	for (size_t i = 0; rf_outlet_parts[i].name; i++)
		if (rf_outlet_parts[i].close)
			rf_outlet_parts[i].close(outlet, outlet->parts[i]);
	rf_hand_free_all(outlet);
	rf_custody_free(outlet);
	rf_net_free(outlet->net);
	rf_policy_free(outlet->opened);
	rf_policy_free(outlet->most);
	rf_buf_done(&outlet->policy);
	rf_names_free(outlet->names);
	rf_breaker_free(outlet->breakers);
	rf_edict_free(outlet->edict);
	rf_note_free(outlet->note);
	rf_annals_free(outlet->annals);
	rf_buf_done(&outlet->pem);
	free(outlet);
}

/* ------------------------------------------------------------- changes */

static int change_parts(struct rf_outlet *outlet, struct rf_err *err)
{
	for (size_t i = 0; rf_outlet_parts[i].name; i++)
		if (rf_outlet_parts[i].change &&
		    rf_outlet_parts[i].change(outlet, outlet->parts[i], err) < 0)
			return rf_fail_in(err, "%s", rf_outlet_parts[i].name);
	return 0;
}

int rf_outlet_change(struct rf_outlet *outlet, const char *policy, size_t len, struct rf_err *err)
{
	struct rf_net *before = outlet->net, *net = NULL;
	struct rf_policy *read = NULL;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	rf_buf_add(&text, policy, len);
	if (text.has_failed)
		return rf_fail(err, -E2BIG, "the new policy");
	if (read_policy(policy, len, &read, &net, err) < 0 || !net)
		return err->code;
	rf_policy_free(read);
	look_everywhere(outlet, net);
	if (net->needs_tls && !outlet->accept) {
		rf_net_free(net);
		rf_fail_say(err, -EOPNOTSUPP,
			    "the new policy looks into TLS, and the box was begun without a "
			    "certificate for that");
		return rf_fail_hint(err, "start it anew with that policy");
	}
	outlet->net = net;
	if (change_parts(outlet, err) < 0) {
		outlet->net = before;
		rf_net_free(net);
		return err->code;
	}
	rf_net_free(before);
	rf_buf_done(&outlet->policy);
	outlet->policy = text;
	rf_buf_init(&text, 0);
	set_limits(outlet);
	rf_upstream_retire(outlet);
	rf_crossing_review(outlet);
	rf_forward_review(outlet);
	return 0;
}

/* What a text says of the keys that can change, as far as the seal allows it: the rest is as it was opened. */
static int narrow(const struct rf_outlet *outlet, const char *policy, size_t len,
		  struct rf_buf *out, struct rf_err *err)
{
	struct rf_policy *read = NULL, *made = NULL;
	RF_AUTO_BUF struct rf_buf text;
	int code;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	if (rf_policy_parse(policy, len, "/", "/", &read, err) < 0)
		return rf_fail_in(err, "the box's policy");
	rf_buf_puts(&text, "");
	rf_net_change_format(read, &text);
	rf_policy_free(read);
	if (text.has_failed)
		return rf_fail(err, -ENOMEM, "a policy's text");
	code = rf_net_change_make(outlet->opened, text.data, text.len, outlet->most, false, &made,
				  err);
	if (code == 0) {
		rf_policy_format_net(made, out);
		code = out->has_failed ? rf_fail(err, -ENOMEM, "a policy's text") : 0;
	}
	rf_policy_free(made);
	return code;
}

int rf_outlet_change_within(struct rf_outlet *outlet, const char *policy, size_t len,
			    struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	if (!outlet->most)
		return rf_outlet_change(outlet, policy, len, err);
	if (narrow(outlet, policy, len, &text, err) < 0)
		return err->code;
	return rf_outlet_change(outlet, text.data, text.len, err);
}

int rf_outlet_seal(struct rf_outlet *outlet, const char *policy, size_t len, struct rf_err *err)
{
	struct rf_policy *most = NULL;

	if (outlet->most)
		return rf_fail_say(err, -EPERM, "the box is sealed already");
	if (rf_policy_parse(policy, len, "/", "/", &most, err) < 0)
		return rf_fail_in(err, "the box's seal");
	outlet->annals = rf_annals_new();
	if (!outlet->annals) {
		rf_policy_free(most);
		return rf_fail(err, -ENOMEM, "a box");
	}
	outlet->most = most;
	rf_note_keep(outlet->note, outlet->annals);
	return 0;
}

int rf_outlet_bound(struct rf_outlet *outlet, const char *policy, size_t len, struct rf_err *err)
{
	struct rf_policy *opened = NULL;

	if (outlet->most) /* which is bound enough: what it was opened with stays */
		return rf_outlet_change_within(outlet, policy, len, err) < 0
			       ? rf_fail_in(err, "the box's bounds")
			       : 0;
	if (rf_policy_parse(policy, len, "/", "/", &opened, err) < 0)
		return rf_fail_in(err, "the box's bounds");
	if (rf_outlet_change(outlet, policy, len, err) < 0) {
		rf_policy_free(opened);
		return rf_fail_in(err, "the box's bounds");
	}
	rf_policy_free(outlet->opened);
	outlet->opened = opened;
	return 0;
}

/* ------------------------------------------------------------- what others decide */

struct search {
	const char *name;
	size_t len;
	char found[RF_TABLE_NAME];
};

/* One that is not as it was made, by its name or by that of its host. */
static void find_breaker(void *arg, const struct rf_breaker_view *view)
{
	struct search *search = arg;

	if ((view->state != RF_BREAKER_CLOSED || view->streak > 0) &&
	    strncmp(view->name, search->name, search->len) == 0 &&
	    (!view->name[search->len] || view->name[search->len] == ':'))
		snprintf(search->found, sizeof(search->found), "%s", view->name);
}

static void reset_host(struct rf_outlet *outlet, const char *name)
{
	uint64_t now_ms = rf_loop_now() / 1000000;
	struct search search = { .name = name, .len = strlen(name) };

	for (int i = 0; i < BREAKERS; i++) {
		search.found[0] = '\0';
		rf_breaker_each(outlet->breakers, now_ms, find_breaker, &search);
		if (!search.found[0])
			return;
		rf_breaker_reset(outlet->breakers, RF_TABLE_HOST, search.found, now_ms);
	}
}

int rf_outlet_take_books(struct rf_outlet *outlet, const char *text, size_t len, struct rf_err *err)
{
	const struct rf_books *books;

	if (rf_edict_take(&outlet->edict, text, len, rf_loop_now() / 1000000, err) < 0)
		return err->code;
	if (outlet->most) /* whoever says this may open more breakers, and close none */
		rf_edict_restrict(outlet->edict);
	books = rf_edict_books(outlet->edict);
	for (size_t i = 0; i < books->order_count; i++) {
		const struct rf_books_order *order = &books->orders[i];

		if (order->is_reset && !order->is_credential)
			reset_host(outlet, order->name);
		else if (!order->is_reset && !order->is_credential)
			rf_upstream_retire(outlet); /* which are asked by nobody any more */
	}
	return 0;
}

/* ------------------------------------------------------------- counts */

bool rf_outlet_has_room(const struct rf_outlet *outlet)
{
	return outlet->connection_count < outlet->connection_most &&
	       (outlet->connection_count < FEW ||
		outlet->connection_count < share_of(outlet->gateway));
}

void rf_outlet_count(struct rf_outlet *outlet, int change)
{
	bool had_room = rf_outlet_has_room(outlet);

	outlet->connection_count += (size_t)change;
	if (!had_room && rf_outlet_has_room(outlet))
		rf_listener_resume(outlet);
}
