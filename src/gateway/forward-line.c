/*
 * Requests of a box, read and judged before anything is sent: see forward.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "gateway/crossing.h"
#include "gateway/forward-inside.h"
#include "gateway/frames.h"
#include "gateway/hold.h"
#include "gateway/message.h"
#include "gateway/pretend.h"

#define SECOND 1000000000ull

/* ------------------------------------------------------------- the request's head */

/* Whom it is for: the line's place, with which what it says must agree; on a proxy's line, what it says. */
static bool find_place(struct rf_forward *f, const struct rf_forward_line *line,
		       const struct rf_http1_head *head)
{
	const struct rf_authority *authority = &head->authority;

	f->place = line->place;
	if (line->place.host.len > 0)
		return authority->host.len == 0 ||
		       (rf_host_is_same(&authority->host, &line->place.host) &&
			(authority->port == 0 || authority->port == line->place.port));
	if (head->start.form != RF_TARGET_URL || authority->host.len == 0)
		return false;
	f->place.host = authority->host;
	f->place.port = authority->port ? authority->port : 80;
	return head->start.url.scheme == RF_URL_HTTP;
}

/* HTTP/2 in clear is what a connection begins with, or it is not spoken: behind an upgrade, nobody would judge its requests. */
static bool offers_http(struct rf_span protocols)
{
	static const struct rf_span kinds[] = { RF_SPAN_INIT("h2"), RF_SPAN_INIT("http"),
						RF_SPAN_INIT("tls") };

	while (protocols.len > 0) {
		size_t comma = rf_span_find(protocols, ',');
		struct rf_span one = rf_span_trim(rf_span_part(protocols, 0, comma));

		for (size_t i = 0; i < RF_LEN(kinds); i++)
			if (rf_span_is_like(rf_span_part(one, 0, kinds[i].len), kinds[i]))
				return true;
		protocols = rf_span_part(protocols, comma + 1, protocols.len);
	}
	return false;
}

static bool wants_trailers(struct rf_fields fields)
{
	const struct rf_field *te = rf_field_find(fields, RF_SPAN("te"));
	struct rf_span list = te ? te->value : RF_SPAN(""), token;

	while (rf_field_next_token(&list, &token) > 0)
		if (rf_span_is_like(token, RF_SPAN("trailers")))
			return true;
	return false;
}

static int take_request(struct rf_forward *f, const struct rf_http1_head *head)
{
	struct rf_forward_message *request = &f->request;
	const struct rf_url *url = &head->start.url;

	request->method = rf_message_copy(request, head->start.method);
	request->query = rf_message_copy(request, url->query);
	request->has_query = url->has_query;
	f->wants_trailers = wants_trailers(head->fields);
	request->body = head->framing.body;
	request->length = head->framing.length;
	if (head->framing.is_upgrade && head->framing.body == RF_BODY_NONE) {
		const struct rf_field *upgrade = rf_field_find(head->fields, RF_SPAN("upgrade"));

		if (upgrade && !offers_http(upgrade->value))
			f->upgrade = rf_message_copy(request, upgrade->value);
	}
	return rf_message_take(request, head->fields);
}

/* A request that says that it is another (pretend.h) must be allowed as both.  Where rules look at requests, none may have another path. */
static bool may_pretend(struct rf_forward *f)
{
	bool looks_inside = rf_net_looks_inside(f->outlet->net, &f->place.host, f->place.port);

	for (size_t i = 0; i < f->request.count && looks_inside; i++) {
		const struct rf_field *field = &f->request.fields[i];

		if (f->judge.is_allowed && rf_pretend_is_method(field->name))
			rf_judge_request(f->outlet, &f->place.host, f->place.port, field->value,
					 &f->path, &f->judge);
		if (rf_pretend_is_path(field->name)) {
			f->judge.is_allowed = false;
			snprintf(f->judge.reason, sizeof(f->judge.reason),
				 "a field says that the path is another");
		}
	}
	return f->judge.is_allowed;
}

/*
 * A protocol that the connection is to be switched to.  A WebSocket is a part of HTTP; behind any other there are bytes that are
 * neither read nor judged, as on a connection that never was HTTP, and they need the same rule.
 */
static bool may_switch(struct rf_forward *f)
{
	if (f->upgrade.len == 0 || rf_frames_is_websocket(f->upgrade))
		return true;
	rf_judge_raw(f->outlet, &f->place.host, f->place.port, &f->judge);
	if (f->judge.is_allowed &&
	    rf_net_looks_inside(f->outlet->net, &f->place.host, f->place.port)) {
		f->judge.is_allowed = false;
		snprintf(f->judge.reason, sizeof(f->judge.reason),
			 "its rules speak of requests, and \"%.*s\" is no HTTP",
			 f->upgrade.len < 40 ? (int)f->upgrade.len : 40, f->upgrade.at);
	}
	return f->judge.is_allowed;
}

static bool may_be_sent(struct rf_forward *f)
{
	rf_judge_request(f->outlet, &f->place.host, f->place.port, f->request.method, &f->path,
			 &f->judge);
	return f->judge.is_allowed && may_pretend(f) && may_switch(f);
}

/* The policy, and what the box may do at a time.  False: it was refused. */
static bool pass_policy(struct rf_forward *f)
{
	struct rf_outlet *outlet = f->outlet;
	struct rf_refusal refusal;
	uint64_t wait;

	if (!may_be_sent(f)) {
		rf_judge_refuse(&f->judge, &f->place.host, f->place.port, &refusal);
		rf_forward_refuse(f, &refusal);
		return false;
	}
	if (!rf_hold_look(f))
		return false;
	if (!rf_note_has_room(outlet->note)) {
		f->judge.is_allowed = false;
		rf_forward_refuse_with(f, 503, "too_fast",
				       "This sandbox does more than can be recorded.");
		return false;
	}
	wait = rf_pace_rate_take(&outlet->rate, rf_loop_turn());
	if (wait > 0) {
		refusal = (struct rf_refusal){ .status = 429, .code = "rate_limited" };
		rf_judge_place(&f->place.host, f->place.port, refusal.host, sizeof(refusal.host));
		snprintf(refusal.message, sizeof(refusal.message),
			 "This sandbox sends more requests than network.rate allows.");
		refusal.retry_s = (unsigned)(wait / SECOND + 1);
		rf_forward_deny(f, &refusal);
		return false;
	}
	if (f->request.body == RF_BODY_LENGTH &&
	    f->request.length > outlet->net->limits[RF_NET_REQUEST_SIZE]) {
		rf_forward_refuse_with(f, 413, "request_too_large",
				       "The request's body is too long.");
		return false;
	}
	return true;
}

/* How much of the body is wanted first. */
static size_t gathers(struct rf_forward *f)
{
	struct rf_outlet *outlet = f->outlet;
	size_t most = 0;

	if (f->request.body == RF_BODY_NONE)
		return 0;
	f->was_filtered = true;
	for (size_t i = 0; i < outlet->filter_count; i++) {
		const struct rf_forward_filter *filter = outlet->filters[i];
		size_t wish = filter->gathers ? filter->gathers(outlet->filter_data[i], &f->own[i],
								&f->request)
					      : 0;

		most = wish > most ? wish : most;
	}
	return most < RF_FORWARD_GATHER ? most : RF_FORWARD_GATHER;
}

/* CONNECT: of a proxy, the connection becomes one to where it says, and is looked at like any other. */
static void connect_through(struct rf_forward *f, const struct rf_forward_line *line,
			    const struct rf_authority *to)
{
	struct rf_refusal refusal;
	struct rf_err err;

	f->place = (struct rf_forward_place){ .host = to->host, .port = to->port };
	f->request.path = RF_SPAN("");
	if (line->place.host.len > 0) {
		rf_forward_refuse_with(f, 405, "no_proxy",
				       "CONNECT is for a proxy, and this is a server.");
		return;
	}
	rf_judge_host(f->outlet, &to->host, to->port, &f->judge);
	if (!f->judge.is_allowed) {
		rf_judge_refuse(&f->judge, &to->host, to->port, &refusal);
		rf_forward_refuse(f, &refusal);
		return;
	}
	f->is_silent = true; /* the crossing tells */
	f->is_answered = true;
	if (rf_crossing_adopt(f->outlet, f->exchange, &f->place, &err) < 0)
		rf_exchange_abort(f->exchange);
}

static void on_request(void *data, struct rf_exchange *exchange, const struct rf_http1_head *head)
{
	struct rf_forward_line *line = data;
	struct rf_forward *f = rf_forward_new(line->outlet, exchange);
	struct rf_url_path path = { 0 };
	char *room;

	if (!f) {
		rf_exchange_keep(exchange, NULL);
		rf_exchange_abort(exchange);
		return;
	}
	if (line->is_spent) { /* who has the other end now may be trusted with nothing */
		f->is_silent = true;
		rf_exchange_abort(exchange);
		return;
	}
	f->is_approved = line->is_spent = line->is_approved;
	if (take_request(f, head) < 0) {
		rf_forward_refuse_with(f, 431, "request_malformed",
				       "The request's head is too long.");
		return;
	}
	if (head->start.form == RF_TARGET_AUTHORITY) {
		connect_through(f, line, &head->authority);
		return;
	}
	if (!find_place(f, line, head)) {
		rf_judge_host(f->outlet, &f->place.host, f->place.port, &f->judge);
		f->judge.is_allowed = false;
		snprintf(f->judge.rule, sizeof(f->judge.rule), "default");
		rf_forward_refuse_with(
			f, 421, "host_mismatch",
			"The Host field names another host than the connection was made to.");
		return;
	}
	room = rf_arena_alloc(f->request.arena, RF_URL_PATH_ROOM(head->start.url.path.len) + 4);
	if (head->start.form == RF_TARGET_ASTERISK)
		path.text = RF_SPAN("*");
	else if (!room || rf_url_path_read(head->start.url.path, room,
					   RF_URL_PATH_ROOM(head->start.url.path.len) + 4, &path)) {
		rf_forward_refuse_with(f, 400, "path_malformed",
				       "The path can be read in more than one way.");
		return;
	}
	f->path = path;
	f->request.path = path.text;
	if (!rf_forward_show(f) || !pass_policy(f))
		return;
	f->gather_most = f->is_held ? RF_GATE_HELD_BODY : gathers(f);
	/* What was approved is taken in as a whole, so that who brings it need not wait for the server. */
	if (f->is_approved && f->gather_most < RF_GATE_HELD_BODY)
		f->gather_most = RF_GATE_HELD_BODY;
	f->is_gathering = f->gather_most > 0 && f->request.body != RF_BODY_NONE;
	if (!f->is_gathering)
		rf_forward_start(f);
}

/* ------------------------------------------------------------- lines */

static const struct rf_exchange_ops line_ops = {
	.on_request = on_request,
	.on_body = rf_forward_on_body,
	.on_body_end = rf_forward_on_body_end,
	.on_room = rf_forward_on_room,
	.on_end = rf_forward_on_end,
};

/* What could not be read as a request is told all the same. */
static void on_line_refused(struct rf_exchange_host *host, unsigned status, const char *words)
{
	struct rf_forward_line *line = host->data;
	struct rf_gate_event event = {
		.kind = RF_GATE_REQUEST,
		.verdict = RF_GATE_DENIED,
		.host = line->place.host.text,
		.address = "",
		.port = line->place.port,
		.method = "",
		.path = "",
		.status = status,
		.credential = "",
		.rule = "default",
		.reason = words,
		.remedy = "",
	};

	rf_note_counts(line->outlet->note)->requests++;
	rf_note_tell(line->outlet->note, &event);
}

static void on_line_closed(struct rf_exchange_host *host)
{
	struct rf_forward_line *line = host->data;

	*line->link = line->next;
	if (line->next)
		line->next->link = line->link;
	rf_outlet_count(line->outlet, -1);
	free(line);
}

static int serve(struct rf_outlet *outlet, struct rf_transport transport,
		 const struct rf_forward_place *place, bool is_approved, struct rf_err *err)
{
	struct rf_forward_line *line = calloc(1, sizeof(*line));

	if (!line) {
		transport.ops->done(&transport);
		return rf_fail(err, -ENOMEM, "connection");
	}
	line->outlet = outlet;
	line->place = *place;
	line->is_approved = is_approved;
	line->host = (struct rf_exchange_host){
		.loop = outlet->gateway->loop,
		.deadlines = outlet->gateway->deadlines,
		.limits = &outlet->exchange_limits,
		.ops = &line_ops,
		.data = line,
		.on_closed = on_line_closed,
		.on_refused = on_line_refused,
	};
	if (rf_exchange_new(&line->host, transport, err) < 0) {
		free(line);
		return err->code;
	}
	line->link = &outlet->lines;
	line->next = outlet->lines;
	if (line->next)
		line->next->link = &line->next;
	outlet->lines = line;
	rf_outlet_count(outlet, 1);
	return 0;
}

int rf_forward_serve(struct rf_outlet *outlet, struct rf_transport transport,
		     const struct rf_forward_place *place, struct rf_err *err)
{
	return serve(outlet, transport, place, false, err);
}

int rf_forward_serve_approved(struct rf_outlet *outlet, struct rf_transport transport,
			      const struct rf_forward_place *place, struct rf_err *err)
{
	return serve(outlet, transport, place, true, err);
}

/* ------------------------------------------------------------- a policy that changes */

/* Whether something of it still goes to a server, or comes from there.  What is held goes nowhere before it is judged again. */
static bool is_under_way(const struct rf_forward *f)
{
	return f->tunnel || (f->exchange && !f->is_refused && !f->is_held &&
			     (f->call || f->way || f->is_gathering));
}

void rf_forward_review(struct rf_outlet *outlet)
{
	struct rf_forward *next;

	for (struct rf_forward *f = outlet->forwards; f; f = next) {
		next = f->next;
		if (!is_under_way(f))
			continue;
		if (may_be_sent(f))
			rf_judge_standing(outlet, &f->place.host, f->place.port, f->address,
					  &f->judge);
		if (!f->judge.is_allowed)
			rf_forward_cut(f, "the policy has changed");
	}
}
