/*
 * HTTP from a box to a server: see forward.h.
 *
 * A line is a connection of the box's, with an exchange on it; a forward is one request, from its head to the end of both sides.  It is
 * freed when the exchange and the call have both told their end, and tells what happened then.
 *
 *   read, judged       refused, or it goes on
 *   gathered           the whole body, where a filter must see it first; else it waits where it is
 *   filtered           on_request()
 *   way, call          an idle connection, or a new one
 *   sent and answered  both ways at once, each no faster than the other side takes it
 */
#include "gateway/forward.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/forward-inside.h"
#include "gateway/frames.h"
#include "gateway/hold.h"
#include "gateway/message.h"
#include "gateway/tunnel.h"
#include "gateway/upstream.h"
#include "gateway/way.h"

#define HOLD_NS                                                                                    \
	50000000u /* that a filter may keep bytes of an answer back: RF_FILTER_STREAM_HOLD_MS */
#define FILTER_ROOM (4u * 1024 * 1024) /* bytes that a filter may make of one piece */

/* ------------------------------------------------------------- life */

static void on_up_pause(void *data);
static void on_down_pause(void *data);
static void on_down_hold(void *data);

struct rf_forward *rf_forward_new(struct rf_outlet *outlet, struct rf_exchange *exchange)
{
	struct rf_forward *f = rf_forward_alloc(outlet->gateway);

	if (!f)
		return NULL;
	f->outlet = outlet;
	f->began_ns = rf_loop_turn();
	f->request.fields = f->request_fields;
	f->answer.fields = f->answer_fields;
	f->request.room = f->answer.room = RF_FORWARD_FIELDS;
	f->request.place = f->answer.place = &f->place;
	rf_buf_init(&f->gathered, RF_FORWARD_GATHER);
	rf_buf_init(&f->pieces[0], FILTER_ROOM);
	rf_buf_init(&f->pieces[1], FILTER_ROOM);
	if (!f->request.arena ||
	    rf_deadline_init(&f->up_pause, outlet->gateway->deadlines, on_up_pause, f) < 0 ||
	    rf_deadline_init(&f->down_pause, outlet->gateway->deadlines, on_down_pause, f) < 0 ||
	    rf_deadline_init(&f->down_hold, outlet->gateway->deadlines, on_down_hold, f) < 0) {
		rf_deadline_done(&f->up_pause);
		rf_deadline_done(&f->down_pause);
		rf_forward_release(outlet->gateway, f);
		return NULL;
	}
	f->link = &outlet->forwards;
	f->next = outlet->forwards;
	if (f->next)
		f->next->link = &f->next;
	outlet->forwards = f;
	f->exchange = exchange;
	rf_exchange_keep(exchange, f);
	return f;
}

static void tell(struct rf_forward *f)
{
	struct rf_gate_counts *counts = rf_note_counts(f->outlet->note);
	struct rf_gate_event event = {
		.kind = RF_GATE_REQUEST,
		.verdict = f->is_held ? RF_GATE_HELD : rf_judge_verdict(&f->judge),
		.host = f->place.host.text,
		.address = f->address,
		.port = f->place.port,
		.method = rf_message_text(&f->request, f->request.method),
		.path = rf_message_text(&f->request, f->request.path),
		.status = f->status,
		.up_bytes = f->up_bytes,
		.down_bytes = f->down_bytes,
		.duration_us = (rf_loop_turn() - f->began_ns) / 1000,
		.rule = f->judge.rule,
		.reason = f->reason ? f->reason : f->judge.reason,
		.remedy = f->judge.remedy,
	};

	counts->requests++;
	counts->up_bytes += f->up_bytes;
	counts->down_bytes += f->down_bytes;
	(f->was_sent ? rf_note_tell_sent : rf_note_tell)(f->outlet->note, &event);
}

/* Both sides have told their end. */
static void free_if_over(struct rf_forward *f)
{
	if (f->exchange || f->call || f->way || f->tunnel)
		return;
	for (size_t i = 0; f->was_filtered && i < f->outlet->filter_count; i++)
		if (f->outlet->filters[i]->on_end)
			f->outlet->filters[i]->on_end(f->outlet->filter_data[i], &f->own[i]);
	if (!f->is_silent)
		tell(f);
	*f->link = f->next;
	if (f->next)
		f->next->link = f->link;
	rf_deadline_done(&f->up_pause);
	rf_deadline_done(&f->down_pause);
	rf_deadline_done(&f->down_hold);
	rf_frames_free(f->frames);
	rf_buf_done(&f->gathered);
	rf_buf_done(&f->pieces[0]);
	rf_buf_done(&f->pieces[1]);
	rf_forward_release(f->outlet->gateway, f);
}

/* ------------------------------------------------------------- refusals */

/* Answers in our own words, if nothing was answered yet; else the answer is cut. */
void rf_forward_refuse(struct rf_forward *f, const struct rf_refusal *refusal)
{
	RF_AUTO_BUF struct rf_buf body;
	struct rf_field fields[3] = {
		{ RF_SPAN("Content-Type"), RF_SPAN("application/json") },
		{ RF_SPAN("X-Ringfort"), rf_span_of(refusal->code) },
	};
	char retry[16];
	size_t count = 2;

	rf_buf_init(&body, 4096);
	f->is_refused = true;
	snprintf(f->failure, sizeof(f->failure), "%.150s", refusal->message);
	f->reason = f->failure;
	if (!f->exchange)
		return;
	if (f->is_answered) {
		rf_exchange_abort(f->exchange);
		return;
	}
	f->is_answered = true;
	f->status = refusal->status;
	rf_refusal_format(refusal, &body);
	if (refusal->retry_s > 0) {
		snprintf(retry, sizeof(retry), "%u", refusal->retry_s);
		fields[count++] = (struct rf_field){ RF_SPAN("Retry-After"), rf_span_of(retry) };
	}
	rf_exchange_pause(f->exchange, false);
	if (rf_exchange_answer(f->exchange, refusal->status, (struct rf_fields){ fields, count },
			       RF_BODY_LENGTH, body.len) ||
	    rf_exchange_send(f->exchange, (struct rf_span){ body.data, body.len }) < 0 ||
	    rf_exchange_finish(f->exchange, (struct rf_fields){ 0 }) < 0)
		rf_exchange_abort(f->exchange);
}

void rf_forward_refuse_with(struct rf_forward *f, unsigned status, const char *code,
			    const char *message)
{
	struct rf_refusal refusal = { .status = status, .code = code };

	rf_judge_place(&f->place.host, f->place.port, refusal.host, sizeof(refusal.host));
	snprintf(refusal.message, sizeof(refusal.message), "%.250s", message);
	snprintf(refusal.rule, sizeof(refusal.rule), "%.255s", f->judge.rule);
	rf_forward_refuse(f, &refusal);
}

/* What was refused by one of ours is a denial; its words go into the event. */
void rf_forward_deny(struct rf_forward *f, const struct rf_refusal *refusal)
{
	f->judge.is_allowed = false;
	snprintf(f->judge.remedy, sizeof(f->judge.remedy), "%.319s", refusal->remedy);
	rf_forward_refuse(f, refusal);
}

/* ------------------------------------------------------------- the pace */

static void pause_up(struct rf_forward *f)
{
	if (f->exchange)
		rf_exchange_pause(f->exchange, f->is_up_slow || f->is_up_full || f->is_waiting);
}

/* Nothing comes while it is paused, and that says nothing about the server: time is counted anew from its end on. */
static void pause_down(struct rf_forward *f)
{
	bool is_paused = f->is_down_slow || f->is_down_full;

	if (f->call)
		rf_call_pause(f->call, is_paused);
	if (!is_paused && f->call && rf_forward_has_filter(f, f->down_wish))
		rf_deadline_set(&f->down_hold, rf_loop_now() + HOLD_NS);
}

static void on_up_pause(void *data)
{
	struct rf_forward *f = data;

	f->is_up_slow = false;
	pause_up(f);
}

static void on_down_pause(void *data)
{
	struct rf_forward *f = data;

	f->is_down_slow = false;
	pause_down(f);
}

/* Bytes that came are spent; if they were too many, no more come for a while. */
static bool spend(struct rf_pace_bytes *pace, size_t len, struct rf_deadline *pause)
{
	uint64_t wait;

	rf_pace_bytes_spend(pace, len);
	if (rf_pace_bytes_room(pace, 1, rf_loop_turn(), &wait) > 0)
		return false;
	rf_deadline_set(pause, rf_loop_now() + wait);
	return true;
}

/* ------------------------------------------------------------- the request's body */

static void send_up(struct rf_forward *f, struct rf_span bytes, bool is_last)
{
	int code = rf_forward_filter_body(f, true, &bytes, is_last);

	if (code < 0) {
		rf_call_abort(f->call);
		rf_forward_refuse_with(f, 502, "filter_failed",
				       "The request's body could not be looked through.");
		return;
	}
	if (f->request.body == RF_BODY_NONE)
		return;
	if (bytes.len > 0)
		f->is_up_full = rf_call_send(f->call, bytes) > 0;
	if (is_last)
		rf_call_finish(f->call, f->up_trailer);
}

void rf_forward_on_body(void *own, struct rf_exchange *exchange, struct rf_span bytes)
{
	struct rf_forward *f = own;

	if (!f)
		return;
	f->up_bytes += bytes.len;
	if (f->is_refused)
		return;
	if (f->up_bytes > f->outlet->net->limits[RF_NET_REQUEST_SIZE] ||
	    (f->is_gathering && f->gathered.len + bytes.len > f->gather_most)) {
		if (f->call)
			rf_call_abort(f->call);
		rf_forward_refuse_with(f, 413, "request_too_large",
				       "The request's body is too long.");
		return;
	}
	/* What was approved was paid for when the box wrote it, and who brings it now waits for nobody's pace. */
	if (!f->is_approved)
		f->is_up_slow = spend(&f->outlet->up, bytes.len, &f->up_pause);
	if (f->is_gathering)
		rf_buf_add(&f->gathered, bytes.at, bytes.len);
	else if (f->call)
		send_up(f, bytes, false);
	pause_up(f);
}

void rf_forward_on_body_end(void *own, struct rf_exchange *exchange, struct rf_fields trailer)
{
	struct rf_forward *f = own;
	struct rf_refusal refusal;

	if (!f)
		return;
	f->is_received = true;
	if (f->is_refused)
		return;
	if (!rf_forward_take_trailer(f, true, trailer, &refusal)) {
		rf_way_close(f->way);
		f->way = NULL;
		if (f->call)
			rf_call_abort(f->call);
		rf_forward_deny(f, &refusal);
		return;
	}
	if (f->is_gathering) {
		f->is_gathering = false;
		f->request.gathered = (struct rf_span){ f->gathered.data, f->gathered.len };
		rf_forward_start(f);
	} else if (f->call) {
		send_up(f, RF_SPAN(""), true);
	}
}

void rf_forward_on_room(void *own, struct rf_exchange *exchange)
{
	struct rf_forward *f = own;

	if (!f)
		return;
	f->is_down_full = false;
	pause_down(f);
}

void rf_forward_on_end(void *own, struct rf_exchange *exchange, bool is_whole)
{
	struct rf_forward *f = own;

	if (!f)
		return;
	f->exchange = NULL;
	if (!is_whole && !f->reason)
		f->reason = "the program hung up";
	rf_way_close(f->way);
	f->way = NULL;
	if (f->call && !f->tunnel)
		rf_call_abort(f->call); /* of one that is over, too: it has told its end by then */
	free_if_over(f);
}

/* ------------------------------------------------------------- the answer */

/* Runs the filters over the answer's head. */
static bool filter_answer(struct rf_forward *f)
{
	struct rf_outlet *outlet = f->outlet;
	struct rf_refusal refusal = { .status = 502, .code = "filter_refused" };

	for (size_t i = outlet->filter_count; i-- > 0;) {
		const struct rf_forward_filter *filter = outlet->filters[i];

		if (!filter->on_answer)
			continue;
		f->down_wish[i] =
			filter->on_answer(outlet->filter_data[i], &f->own[i], &f->answer, &refusal);
		if (f->down_wish[i] == RF_FORWARD_REFUSE) {
			rf_call_abort(f->call);
			rf_forward_deny(f, &refusal);
			return false;
		}
		if (f->down_wish[i] == RF_FORWARD_CHANGE && f->answer.body == RF_BODY_LENGTH)
			f->answer.body = RF_BODY_CHUNKED;
	}
	return true;
}

static void take_answer(struct rf_forward *f, const struct rf_http1_head *head)
{
	bool is_head = rf_span_is(f->request.method, RF_SPAN("HEAD"));
	bool has_length = rf_field_find(head->fields, RF_SPAN("content-length")) != NULL;

	f->answer.count = 0;
	f->answer.status = head->start.status;
	f->answer.method = f->request.method;
	f->answer.path = f->request.path;
	f->answer.query = f->request.query;
	f->answer.has_query = f->request.has_query;
	f->answer.is_head_answer = is_head;
	f->answer.body = head->framing.body == RF_BODY_CLOSE ? RF_BODY_CHUNKED : head->framing.body;
	f->answer.length = head->framing.length;
	if (is_head && head->start.status != 204 && head->start.status != 304)
		f->answer.body = has_length ? RF_BODY_LENGTH : RF_BODY_CHUNKED;
}

/* A WebSocket, or whatever both ends have agreed upon: the bytes of both sides are joined. */
static void on_tunnel_end(void *data, enum rf_relay_end end, const struct rf_relay_counts *counts)
{
	struct rf_forward *f = data;

	f->tunnel = NULL;
	f->up_bytes += counts->up;
	f->down_bytes += counts->down;
	free_if_over(f);
}

/* A WebSocket whose frames are looked into.  False: it was refused. */
static bool open_frames(struct rf_forward *f)
{
	f->frames = rf_frames_may_open(f) ? rf_frames_new(f) : NULL;
	if (f->frames)
		return true;
	rf_call_abort(f->call);
	rf_forward_refuse_with(
		f, 502, "answer_malformed",
		"The server wants an extension of WebSocket that was not asked for.");
	return false;
}

static void open_tunnel(struct rf_forward *f, const struct rf_http1_head *head)
{
	const struct rf_field *upgrade = rf_field_find(head->fields, RF_SPAN("upgrade"));
	const struct rf_relay_options options = {
		.loop = f->outlet->gateway->loop,
		.deadlines = f->outlet->gateway->deadlines,
		.up = &f->outlet->up,
		.down = &f->outlet->down,
		.idle_ms = f->outlet->call_limits.stall_ms,
		.total_ms = f->outlet->call_limits.total_ms,
		.fn = on_tunnel_end,
		.data = f,
	};
	struct rf_tunnel *tunnel;
	struct rf_err err;

	tunnel = upgrade ? rf_tunnel_new(&options, &err) : NULL;
	if (!tunnel ||
	    rf_exchange_take(f->exchange, upgrade->value,
			     (struct rf_fields){ f->answer.fields, f->answer.count },
			     rf_tunnel_inner(tunnel), rf_tunnel_on_event, tunnel, &err) < 0 ||
	    rf_call_take(f->call, rf_tunnel_outer(tunnel), rf_tunnel_on_event, tunnel, &err) < 0) {
		if (tunnel)
			rf_tunnel_cut(tunnel);
		rf_call_abort(f->call);
		rf_exchange_abort(f->exchange);
		return;
	}
	f->tunnel = tunnel;
	f->is_answered = true;
	if (f->frames)
		rf_tunnel_filter(tunnel, rf_frames_pass, f->frames);
	rf_tunnel_begin(tunnel);
}

/* A request for a WebSocket needs no rule that says TCP, so that nothing else may come of it. */
static bool is_asked_for(const struct rf_forward *f, const struct rf_http1_head *head)
{
	const struct rf_field *upgrade = rf_field_find(head->fields, RF_SPAN("upgrade"));

	return !rf_frames_is_websocket(f->upgrade) ||
	       (upgrade && rf_frames_is_websocket(upgrade->value) && rf_frames_is_proved(f));
}

static void on_answer(void *own, struct rf_call *call, const struct rf_http1_head *head)
{
	struct rf_forward *f = own;
	unsigned status = head->start.status;

	if (!f->exchange || f->is_refused)
		return;
	rf_upstream_record(call, status == 502 || status == 503 || status == 504 ? RF_BREAKER_FAILED
										 : RF_BREAKER_WELL);
	take_answer(f, head);
	if (rf_message_take(&f->answer, head->fields) < 0) {
		rf_call_abort(call);
		rf_forward_refuse_with(f, 502, "answer_too_large",
				       "The answer's head is too long.");
		return;
	}
	if (!filter_answer(f))
		return;
	f->status = status;
	if (head->framing.body == RF_BODY_TUNNEL) {
		if (!is_asked_for(f, head)) {
			rf_call_abort(call);
			rf_forward_refuse_with(f, 502, "answer_malformed",
					       "The server switches to another protocol than was "
					       "asked for.");
			return;
		}
		if (f->has_frames && !open_frames(f))
			return;
		open_tunnel(f, head);
		return;
	}
	if (f->answer.body == RF_BODY_LENGTH &&
	    f->answer.length > f->outlet->net->limits[RF_NET_RESPONSE_SIZE] &&
	    !f->answer.is_head_answer) {
		rf_call_abort(call);
		rf_forward_refuse_with(f, 502, "response_too_large",
				       "The answer's body is too long.");
		return;
	}
	f->is_answered = true;
	if (rf_exchange_answer(f->exchange, status,
			       (struct rf_fields){ f->answer.fields, f->answer.count },
			       f->answer.body, f->answer.length)) {
		f->is_answered = false;
		rf_call_abort(call);
		rf_forward_refuse_with(f, 502, "answer_malformed",
				       "The answer can't be passed on.");
	}
}

static void on_answer_body(void *own, struct rf_call *call, struct rf_span bytes)
{
	struct rf_forward *f = own;

	f->down_bytes += bytes.len;
	if (!f->exchange || f->is_refused)
		return;
	if (f->down_bytes > f->outlet->net->limits[RF_NET_RESPONSE_SIZE]) {
		f->reason = "the answer is longer than network.response_size";
		rf_call_abort(call);
		rf_exchange_abort(f->exchange);
		return;
	}
	f->is_down_slow = spend(&f->outlet->down, bytes.len, &f->down_pause);
	if (rf_forward_filter_body(f, false, &bytes, false) < 0) {
		f->reason = "the answer could not be looked through";
		rf_call_abort(call);
		rf_exchange_abort(f->exchange);
		return;
	}
	if (rf_forward_has_filter(f, f->down_wish))
		rf_deadline_set(&f->down_hold, rf_loop_now() + HOLD_NS);
	if (bytes.len > 0)
		f->is_down_full = rf_exchange_send(f->exchange, bytes) > 0;
	if (f->is_down_slow || f->is_down_full)
		pause_down(f);
}

static void on_answer_end(void *own, struct rf_call *call, struct rf_fields trailer)
{
	struct rf_forward *f = own;
	struct rf_refusal refusal;

	if (!f->exchange || f->is_refused || rf_forward_take_trailer(f, false, trailer, &refusal))
		return;
	f->reason = "what follows the answer could not be looked through";
	rf_call_abort(call);
	rf_exchange_abort(f->exchange);
}

/*
 * Nothing has come for a while: an event must not wait for the next one.  A box that does not read stops the server as well: what
 * is kept back then stays, or the box would choose where a token is cut in two.
 */
static void on_down_hold(void *data)
{
	struct rf_forward *f = data;
	struct rf_span bytes = RF_SPAN("");

	if (!f->exchange || f->is_refused || f->is_down_slow || f->is_down_full)
		return;
	if (rf_forward_filter_body(f, false, &bytes, false) < 0) {
		f->reason = "the answer could not be looked through";
		if (f->call)
			rf_call_abort(f->call);
		rf_exchange_abort(f->exchange);
		return;
	}
	if (bytes.len > 0 && rf_exchange_send(f->exchange, bytes) > 0) {
		f->is_down_full = true;
		pause_down(f);
	}
}

static void on_call_room(void *own, struct rf_call *call)
{
	struct rf_forward *f = own;

	f->is_up_full = false;
	pause_up(f);
}

/* The answer is whole: what filters kept back goes out. */
static void finish_answer(struct rf_forward *f)
{
	struct rf_span rest = RF_SPAN("");

	rf_deadline_cancel(&f->down_hold);
	if (rf_forward_has_filter(f, f->down_wish) && f->answer.body != RF_BODY_NONE &&
	    (rf_forward_filter_body(f, false, &rest, true) < 0 ||
	     (rest.len > 0 && rf_exchange_send(f->exchange, rest) < 0))) {
		rf_exchange_abort(f->exchange);
		return;
	}
	rf_exchange_finish(f->exchange, f->down_trailer);
}

static void fail_upstream(struct rf_forward *f, const struct rf_err *err)
{
	struct rf_refusal refusal;

	if (f->is_answered) {
		snprintf(f->failure, sizeof(f->failure), "%.150s", err->msg);
		f->reason = f->failure;
		rf_exchange_abort(f->exchange);
		return;
	}
	rf_way_explain(&f->place, err->code, err->msg, &refusal);
	rf_forward_refuse(f, &refusal);
}

static void open_way(struct rf_forward *f);

static bool can_repeat(const struct rf_forward *f)
{
	return f->request.body == RF_BODY_NONE && !f->is_retried &&
	       (rf_span_is(f->request.method, RF_SPAN("GET")) ||
		rf_span_is(f->request.method, RF_SPAN("HEAD")) ||
		rf_span_is(f->request.method, RF_SPAN("OPTIONS")));
}

static void on_call_end(void *own, struct rf_call *call, const struct rf_err *err)
{
	struct rf_forward *f = own;
	bool is_stale = err && rf_call_is_stale(call);

	if (err && !f->is_answered && f->exchange && !f->is_refused && !is_stale)
		rf_upstream_record(call, RF_BREAKER_FAILED);
	f->call = NULL;
	if (f->exchange && !f->is_refused && !f->tunnel) {
		if (!err) {
			finish_answer(f);
		} else if (is_stale && can_repeat(f)) {
			f->is_retried = true;
			open_way(f);
		} else {
			fail_upstream(f, err);
		}
	}
	free_if_over(f);
}

/* ------------------------------------------------------------- the call */

static void begin_call(struct rf_forward *f, struct rf_call *call)
{
	static const struct rf_call_ops ops = {
		.on_answer = on_answer,
		.on_body = on_answer_body,
		.on_body_end = on_answer_end,
		.on_room = on_call_room,
		.on_end = on_call_end,
	};
	struct rf_authority authority = { .host = f->place.host };
	struct rf_call_request request = {
		.method = f->request.method,
		.target = rf_message_target(&f->request),
		.authority = &authority,
		.fields = { f->request.fields, f->request.count },
		.body = f->request.body,
		.length = f->request.length,
		.upgrade = f->upgrade,
		.wants_trailers = f->wants_trailers,
	};
	struct rf_err err;

	if (f->place.port != (f->place.is_tls ? 443 : 80))
		authority.port = f->place.port;
	strncpy(f->address, rf_upstream_address(call), sizeof(f->address) - 1);
	if (rf_call_begin(call, &request, &ops, f, &err) < 0) {
		rf_upstream_drop(call);
		rf_forward_refuse_with(f, 400, "request_malformed", err.msg);
		return;
	}
	f->call = call;
	f->was_sent = true;
	f->is_waiting = false;
	if (f->request.gathered.at)
		send_up(f, f->request.gathered, true);
	else if (f->is_received && f->request.body != RF_BODY_NONE)
		send_up(f, RF_SPAN(""), true);
	pause_up(f);
}

static void on_way(void *data, struct rf_way *way, const struct rf_refusal *refusal)
{
	struct rf_forward *f = data;
	struct rf_call *call;
	struct rf_err err;

	f->way = NULL;
	if (refusal) {
		struct rf_refusal copy = *refusal;

		snprintf(f->address, sizeof(f->address), "%s", rf_way_address(way));
		rf_way_close(way);
		if (copy.status == 403)
			rf_forward_deny(f, &copy);
		else
			rf_forward_refuse(f, &copy);
	} else if (rf_upstream_make(f->outlet, &f->place, way, &call, &err) < 0) {
		fail_upstream(f, &err);
	} else {
		begin_call(f, call);
	}
}

static void open_way(struct rf_forward *f)
{
	struct rf_call *call = f->is_retried ? NULL : rf_upstream_find(f->outlet, &f->place);
	struct rf_err err;

	if (call) {
		begin_call(f, call);
		return;
	}
	f->is_waiting = true;
	pause_up(f);
	if (rf_way_new(f->outlet, &f->place, on_way, f, &f->way, &err) < 0)
		fail_upstream(f, &err);
}

bool rf_forward_show(struct rf_forward *f)
{
	const struct rf_outlet *outlet = f->outlet;
	struct rf_refusal refusal = { .status = 403, .code = "filter_refused" };

	for (size_t i = 0; i < outlet->filter_count; i++) {
		const struct rf_forward_filter *filter = outlet->filters[i];

		if (filter->on_sight && filter->on_sight(outlet->filter_data[i], &f->request,
							 &refusal) == RF_FORWARD_REFUSE) {
			f->is_held = false;
			snprintf(f->judge.rule, sizeof(f->judge.rule), "%.255s", refusal.rule);
			rf_forward_deny(f, &refusal);
			return false;
		}
	}
	return true;
}

/* gRPC is HTTP/2 by definition; all else is spoken in HTTP/1.1, which costs less. */
static bool is_grpc(const struct rf_forward_message *request)
{
	static const struct rf_span kind = RF_SPAN_INIT("application/grpc");
	const struct rf_field *type = rf_forward_find(request, RF_SPAN("content-type"));

	return type && rf_span_is_like(rf_span_part(type->value, 0, kind.len), kind) &&
	       (type->value.len == kind.len || strchr("+; ", type->value.at[kind.len]));
}

/* Runs the filters over the request's head, and sends it. */
void rf_forward_start(struct rf_forward *f)
{
	struct rf_outlet *outlet = f->outlet;
	struct rf_refusal refusal = { .status = 403, .code = "filter_refused" };

	if (f->request.gathered.at && !rf_forward_show(f))
		return;
	if (f->is_held) {
		rf_hold_take(f);
		return;
	}
	f->was_filtered = true;
	f->has_frames = rf_frames_prepare(f);
	f->place.is_http2 = f->place.is_tls && is_grpc(&f->request);
	for (size_t i = 0; i < outlet->filter_count; i++) {
		const struct rf_forward_filter *filter = outlet->filters[i];

		if (!filter->on_request)
			continue;
		f->up_wish[i] = filter->on_request(outlet->filter_data[i], &f->own[i], &f->request,
						   &refusal);
		if (f->up_wish[i] == RF_FORWARD_REFUSE) {
			rf_forward_deny(f, &refusal);
			return;
		}
		if (f->up_wish[i] == RF_FORWARD_CHANGE && f->request.body == RF_BODY_LENGTH)
			f->request.body = RF_BODY_CHUNKED;
	}
	open_way(f);
}

/* ------------------------------------------------------------- the end */

void rf_forward_close(struct rf_outlet *outlet)
{
	struct rf_forward *next;

	while (outlet->lines)
		rf_exchange_close_all(&outlet->lines->host);
	for (struct rf_forward *f = outlet->forwards; f; f = next) {
		next = f->next;
		if (f->tunnel) {
			struct rf_relay_counts counts = rf_tunnel_cut(f->tunnel);

			on_tunnel_end(f, RF_RELAY_RESET, &counts);
		}
	}
}

void rf_forward_cut(struct rf_forward *f, const char *reason)
{
	struct rf_relay_counts counts;
	struct rf_refusal refusal;

	f->judge.is_allowed = false;
	if (f->tunnel) {
		counts = rf_tunnel_cut(f->tunnel);
		f->reason = reason;
		on_tunnel_end(f, RF_RELAY_RESET, &counts);
		return;
	}
	rf_way_close(f->way);
	f->way = NULL;
	if (f->call)
		rf_call_abort(f->call);
	rf_judge_refuse(&f->judge, &f->place.host, f->place.port, &refusal);
	rf_forward_refuse(f, &refusal);
	f->reason = reason;
}
