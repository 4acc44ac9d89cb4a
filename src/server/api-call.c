/* One request of the API: see api-call.h. */
#include "server/api-call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "server/api-key.h"
#include "server/front.h"

#define PIECE       (64 * 1024)  /* of an answer that is sent at a time */
#define BACKLOG     (256 * 1024) /* of an answer that waits, before its source does */
#define LINE_MOST   1024         /* calls of one key that wait for a place */
#define ANSWER_MOST (200ul << 20)

/* ------------------------------------------------------------- heads */

static struct rf_span value_of(const struct rf_http1_head *head, struct rf_span name)
{
	const struct rf_field *field = rf_field_find(head->fields, name);

	return field ? field->value : (struct rf_span){ NULL, 0 };
}

static bool is_plain(struct rf_span text, size_t most)
{
	for (size_t i = 0; i < text.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.",
			    text.at[i]) ||
		    !text.at[i])
			return false;
	return text.len > 0 && text.len <= most;
}

/* The client's own, where it is one that can be written into a log; else ours. */
static void name_call(struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_span own = value_of(head, RF_SPAN("X-Request-Id"));
	struct rf_span trace = value_of(head, RF_SPAN("traceparent"));
	uint64_t chance = 0;

	if (is_plain(own, sizeof(call->request_id) - 1)) {
		memcpy(call->request_id, own.at, own.len);
	} else {
		if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
			chance = call->id;
		snprintf(call->request_id, sizeof(call->request_id), "%016llx",
			 (unsigned long long)chance);
	}
	if (trace.len == 55 && is_plain(trace, 55))
		memcpy(call->traceparent, trace.at, trace.len);
}

/*
 * Whom a request on a port is for must be an address, localhost or a name that we were told: a page whose name leads here (DNS rebinding) names itself.
 * Where a page asks, it must be one of ours.
 */
static int check_names(const struct rf_api_call *call, const struct rf_http1_head *head,
		       struct rf_api_error *error)
{
	const struct rf_pass_rules *rules = &call->front->rules;
	struct rf_span origin = value_of(head, RF_SPAN("Origin"));
	const struct rf_host *host = &head->authority.host;
	bool is_known = call->is_local || host->kind != RF_HOST_NAME ||
			strcmp(host->text, "localhost") == 0;

	for (char **at = rules->hosts; !is_known && at && *at; at++)
		is_known = strcmp(*at, host->text) == 0;
	if (!is_known) {
		rf_api_error_say(error, RF_API_FORBIDDEN, "Host", "this server is not `%.60s`",
				 host->text);
		return rf_api_error_hint(error, "`ringfort serve --host NAME` makes it that");
	}
	is_known = !origin.at;
	for (char **at = rules->origins; !is_known && at && *at; at++)
		is_known = rf_span_is(origin, rf_span_of(*at));
	if (is_known)
		return 0;
	rf_api_error_say(error, RF_API_FORBIDDEN, "Origin", "pages of `%.*s` may not ask here",
			 (int)(origin.len < 60 ? origin.len : 60), origin.at);
	return rf_api_error_hint(error, "`ringfort serve --origin URL` lets them");
}

static int check_type(const struct rf_api_call *call, const struct rf_http1_head *head,
		      struct rf_api_error *error)
{
	struct rf_span type = value_of(head, RF_SPAN("Content-Type"));
	size_t end = type.at ? rf_span_find(type, ';') : 0;
	struct rf_span media = rf_span_trim(rf_span_part(type, 0, end));

	if (head->framing.body == RF_BODY_NONE || strcmp(call->route->method, "PUT") == 0)
		return 0;
	if (call->route->body == 0 && head->framing.body == RF_BODY_LENGTH &&
	    head->framing.length == 0)
		return 0;
	if (call->route->body == 0) {
		rf_api_error_say(error, RF_API_MALFORMED, "body", "this request has no body");
		return rf_api_error_hint(error, "leave it out");
	}
	if (rf_span_is_like(media, RF_SPAN("application/json")))
		return 0;
	rf_api_error_say(error, RF_API_NO_TYPE, "Content-Type", "the body must be JSON");
	return rf_api_error_hint(error, "send `Content-Type: application/json`");
}

static bool accepts_events(struct rf_span accept)
{
	for (size_t i = 0; i + 17 <= accept.len; i++)
		if (rf_span_is_like(rf_span_part(accept, i, 17), RF_SPAN("text/event-stream")))
			return true;
	return false;
}

/* ------------------------------------------------------------- parameters */

static int hex_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static int decode(struct rf_span value, const char *name, char *text, size_t size,
		  struct rf_api_error *error)
{
	size_t n = 0;

	for (size_t i = 0; i < value.len; i++, n++) {
		int c = (unsigned char)value.at[i];

		if (c == '%') {
			int high = i + 2 < value.len + 0 ? hex_of(value.at[i + 1]) : -1;
			int low = high >= 0 ? hex_of(value.at[i + 2]) : -1;

			if (low < 0)
				return rf_api_error_say(error, RF_API_MALFORMED, name,
							"%s: a percent sign without two digits",
							name);
			c = high << 4 | low;
			i += 2;
		} else if (c == '+') {
			c = ' ';
		}
		if (n + 1 >= size)
			return rf_api_error_say(error, RF_API_MALFORMED, name,
						"%s: it is longer than %zu bytes", name, size - 1);
		if (c == 0)
			return rf_api_error_say(error, RF_API_MALFORMED, name, "%s: it has a NUL",
						name);
		text[n] = (char)c;
	}
	text[n] = '\0';
	if (!rf_json_is_utf8(text, n))
		return rf_api_error_say(error, RF_API_MALFORMED, name, "%s: it is no UTF-8", name);
	return 0;
}

int rf_api_call_parameter(const struct rf_api_call *call, const char *name, char *text, size_t size,
			  struct rf_api_error *error)
{
	struct rf_span rest = rf_span_of(call->query ? call->query : "");

	while (rest.len > 0) {
		size_t end = rf_span_find(rest, '&');
		struct rf_span pair = rf_span_part(rest, 0, end);
		size_t sign = rf_span_find(pair, '=');

		rest = rf_span_part(rest, end + 1, rest.len);
		if (rf_span_is(rf_span_part(pair, 0, sign), rf_span_of(name)))
			return decode(rf_span_part(pair, sign + 1, pair.len), name, text, size,
				      error) < 0
				       ? -1
				       : 1;
	}
	return 0;
}

/* What is there twice means two things, and what nobody knows means none. */
static int check_query(const struct rf_api_call *call, struct rf_api_error *error)
{
	struct rf_span rest = rf_span_of(call->query ? call->query : "");
	char name[64], word[70], seen[512] = ",";

	while (rest.len > 0) {
		size_t end = rf_span_find(rest, '&');
		struct rf_span pair = rf_span_part(rest, 0, end);
		struct rf_span key = rf_span_part(pair, 0, rf_span_find(pair, '='));

		rest = rf_span_part(rest, end + 1, rest.len);
		snprintf(name, sizeof(name), "%.*s", (int)(key.len < 60 ? key.len : 60), key.at);
		snprintf(word, sizeof(word), ",%s,", name);
		if (!is_plain(key, 60) || !call->route->query ||
		    !strstr(call->route->query, word)) {
			rf_api_error_say(
				error, RF_API_MALFORMED, is_plain(key, 60) ? name : "query",
				"there is no parameter `%s`", is_plain(key, 60) ? name : "?");
			return rf_api_error_hint(error, "the API is described at /v1/openapi.json");
		}
		if (strstr(seen, word))
			return rf_api_error_say(error, RF_API_MALFORMED, name,
						"%s: it is there twice", name);
		strncat(seen, word + 1, sizeof(seen) - strlen(seen) - 1);
	}
	return 0;
}

/* ------------------------------------------------------------- answers */

static void pump(struct rf_api_call *call)
{
	while (call->out_at < call->out.len && !call->is_held) {
		struct rf_span piece = { call->out.data + call->out_at,
					 call->out.len - call->out_at };
		int code;

		piece.len = piece.len < PIECE ? piece.len : PIECE;
		code = rf_exchange_send(call->x, piece);
		if (code < 0)
			return; /* on_end() will come */
		call->out_at += piece.len;
		call->is_held = code > 0; /* until on_room() */
	}
	if (call->out_at < call->out.len) {
		if (call->out_at > BACKLOG) { /* what was sent need not be kept */
			memmove(call->out.data, call->out.data + call->out_at,
				call->out.len - call->out_at);
			call->out.len -= call->out_at;
			call->out_at = 0;
		}
		return;
	}
	rf_buf_clear(&call->out);
	call->out_at = 0;
	if (call->is_last)
		rf_exchange_finish(call->x, (struct rf_fields){ 0 });
}

static void begin(struct rf_api_call *call, unsigned status, const char *type, enum rf_body body,
		  uint64_t length, const struct rf_api_error *error)
{
	struct rf_field fields[9];
	char retry[16];
	size_t n = 0;

	call->state = RF_API_DONE;
	call->front->figures.requests[status / 100 < RF_FRONT_STATUSES ? status / 100 : 0]++;
	if (type)
		fields[n++] = (struct rf_field){ RF_SPAN("Content-Type"), rf_span_of(type) };
	fields[n++] = (struct rf_field){ RF_SPAN("X-Request-Id"), rf_span_of(call->request_id) };
	fields[n++] = (struct rf_field){ RF_SPAN("Cache-Control"), RF_SPAN("no-store") };
	fields[n++] = (struct rf_field){ RF_SPAN("X-Content-Type-Options"), RF_SPAN("nosniff") };
	if (call->traceparent[0])
		fields[n++] =
			(struct rf_field){ RF_SPAN("traceparent"), rf_span_of(call->traceparent) };
	if (status == 401)
		fields[n++] = (struct rf_field){ RF_SPAN("WWW-Authenticate"), RF_SPAN("Bearer") };
	if (error && error->allow[0])
		fields[n++] = (struct rf_field){ RF_SPAN("Allow"), rf_span_of(error->allow) };
	if (error && error->code == RF_API_TOO_MANY) {
		snprintf(retry, sizeof(retry), "%u", error->retry_s ? error->retry_s : 1);
		fields[n++] = (struct rf_field){ RF_SPAN("Retry-After"), rf_span_of(retry) };
	}
	rf_exchange_answer(call->x, status, (struct rf_fields){ fields, n }, body, length);
}

static void send_all(struct rf_api_call *call, unsigned status, const char *type,
		     struct rf_buf *bytes, const struct rf_api_error *error)
{
	if (call->state == RF_API_DONE)
		return;
	if (bytes->has_failed) {
		rf_buf_clear(bytes);
		status = 503;
	}
	begin(call, status, bytes->len ? type : NULL, bytes->len ? RF_BODY_LENGTH : RF_BODY_NONE,
	      bytes->len, error);
	rf_buf_done(&call->out);
	call->out = *bytes;
	*bytes = (struct rf_buf){ 0 };
	call->is_last = true;
	rf_exchange_pause(call->x, false); /* what is left of the body is passed over */
	pump(call);
}

void rf_api_call_answer(struct rf_api_call *call, unsigned status, struct rf_buf *json)
{
	send_all(call, status, "application/json", json, NULL);
}

void rf_api_call_answer_bytes(struct rf_api_call *call, unsigned status, const char *type,
			      struct rf_buf *bytes)
{
	send_all(call, status, type, bytes, NULL);
}

void rf_api_call_fail(struct rf_api_call *call, const struct rf_api_error *error)
{
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 16 * 1024);
	rf_api_error_format(error, &text);
	if (call->is_stream) { /* it is too late for a status */
		rf_api_call_event(call, "error", &text);
		rf_api_call_end(call);
		return;
	}
	if (error->code == RF_API_TOO_MANY)
		call->front->figures.refused++;
	send_all(call, rf_api_error_status(error->code), "application/json", &text, error);
}

void rf_api_call_fail_with(struct rf_api_call *call, const struct rf_err *err, const char *where)
{
	struct rf_api_error error;

	rf_api_error_of(&error, err, where);
	rf_api_call_fail(call, &error);
}

void rf_api_call_begin_events(struct rf_api_call *call)
{
	begin(call, 200, "text/event-stream", RF_BODY_CHUNKED, 0, NULL);
	call->is_stream = true;
}

/* JSON without line breaks is one line of data. */
void rf_api_call_event(struct rf_api_call *call, const char *name, const struct rf_buf *json)
{
	size_t len = json->len;

	while (len > 0 && json->data[len - 1] == '\n')
		len--;
	rf_buf_printf(&call->out, "event: %s\ndata: ", name);
	rf_buf_add(&call->out, json->data, len);
	rf_buf_puts(&call->out, "\n\n");
	if (call->out.has_failed)
		rf_exchange_abort(call->x);
	else
		pump(call);
}

void rf_api_call_end(struct rf_api_call *call)
{
	call->is_last = true;
	pump(call);
}

bool rf_api_call_is_full(const struct rf_api_call *call)
{
	return call->out.len - call->out_at > BACKLOG;
}

/* ------------------------------------------------------------- places */

static void leave_line(struct rf_api_call *call)
{
	struct rf_holder *holder = call->holder;
	struct rf_api_call **at = &holder->first;

	while (*at && *at != call)
		at = &(*at)->next_waiting;
	if (!*at)
		return;
	*at = call->next_waiting;
	if (holder->last == &call->next_waiting)
		holder->last = at;
	call->next_waiting = NULL;
	holder->waiting--;
	call->front->figures.waiting--;
}

bool rf_api_call_is_paced(struct rf_api_call *call)
{
	struct rf_api_error error;
	uint32_t wait_s = rf_admit_pace(&call->holder->admit, rf_loop_now());

	if (wait_s == 0)
		return true;
	rf_api_error_say(&error, RF_API_TOO_MANY, NULL, "this key may begin %u things a minute",
			 call->holder->pass.rate);
	rf_api_error_hint(&error, "try again in %u seconds", wait_s);
	error.retry_s = wait_s;
	rf_api_call_fail(call, &error);
	return false;
}

void rf_api_call_take_place(struct rf_api_call *call, void (*go)(struct rf_api_call *call))
{
	struct rf_holder *holder = call->holder;
	struct rf_api_error error;

	if (!rf_api_call_is_paced(call))
		return;
	if (!holder->first && rf_admit_enter(&holder->admit)) {
		call->is_counted = true;
		call->state = RF_API_WORK;
		call->front->figures.under_way++;
		go(call);
		return;
	}
	if (holder->waiting >= LINE_MOST) {
		rf_api_error_say(&error, RF_API_TOO_MANY, NULL,
				 "%u boxes of this key run, and %u requests wait",
				 holder->admit.now, holder->waiting);
		rf_api_error_hint(&error, "try again when some of them have ended");
		error.retry_s = 1;
		rf_api_call_fail(call, &error);
		return;
	}
	call->state = RF_API_LINE;
	call->go = go;
	*holder->last = call;
	holder->last = &call->next_waiting;
	holder->waiting++;
	call->front->figures.waiting++;
}

void rf_api_call_leave_place(struct rf_api_call *call)
{
	struct rf_holder *holder = call->holder;
	struct rf_api_call *next = holder ? holder->first : NULL;

	if (!call->is_counted)
		return;
	call->is_counted = false;
	call->front->figures.under_way--;
	rf_admit_leave(&holder->admit);
	if (!next || !rf_admit_enter(&holder->admit))
		return;
	leave_line(next);
	next->is_counted = true;
	next->state = RF_API_WORK;
	next->front->figures.under_way++;
	next->go(next);
}

/* ------------------------------------------------------------- requests */

static void refuse_scope(struct rf_api_call *call)
{
	struct rf_api_error error;
	char text[32];

	rf_api_error_say(&error, RF_API_FORBIDDEN, "Authorization",
			 "this key is not good for that");
	rf_api_error_hint(&error, "it takes a key with scope %s",
			  rf_api_key_format_scopes(call->route->scope, text));
	rf_api_call_fail(call, &error);
}

static void serve_if_whole(struct rf_api_call *call)
{
	if (call->state != RF_API_BODY || !call->has_body_ended)
		return;
	call->state = RF_API_WORK;
	call->route->serve(call);
}

void rf_api_call_admit(struct rf_api_call *call, struct rf_holder *holder, const struct rf_err *why)
{
	struct rf_api_error error;

	if (!holder) {
		rf_api_error_say(&error, RF_API_NO_KEY, "Authorization", "%s", why->msg);
		rf_api_error_hint(&error, "%s", why->hint);
		rf_api_call_fail(call, &error);
		return;
	}
	call->holder = rf_holder_ref(holder);
	if (!(holder->pass.scopes & call->route->scope)) {
		refuse_scope(call);
		return;
	}
	call->state = RF_API_BODY;
	rf_exchange_pause(call->x, false);
	serve_if_whole(call);
}

static void find_holder(struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_span value = value_of(head, RF_SPAN("Authorization"));
	struct rf_err err = RF_ERR_INIT;
	struct rf_holder *holder = call->is_local ? call->front->local_holder : NULL;

	if (!call->is_local) {
		bool is_bearer = value.len > 7 &&
				 rf_span_is_like(rf_span_part(value, 0, 7), RF_SPAN("Bearer "));

		if (!is_bearer)
			value = value_of(head, RF_SPAN("X-API-Key"));
		else
			value = rf_span_trim(rf_span_part(value, 7, value.len));
		if (!value.len) {
			rf_fail_say(&err, -EACCES, "this takes a key");
			rf_fail_hint(&err, "send `Authorization: Bearer KEY`; `ringfort key "
					   "create` makes one");
		} else {
			holder = rf_front_look_up(call->front, call, value, &err);
		}
	} else if (!holder) {
		rf_fail_say(&err, -EIO, "the server is not ready");
	}
	if (holder || err.code) {
		rf_api_call_admit(call, holder, &err);
		return;
	}
	call->state = RF_API_AUTH; /* rf_api_call_admit() will come */
	rf_exchange_pause(call->x, true);
}

static void refuse_at_once(struct rf_api_call *call, const struct rf_api_error *error)
{
	static const struct rf_route none = { "", "", 0, 0, NULL, NULL };

	if (!call->route)
		call->route = &none;
	rf_api_call_fail(call, error);
}

static int read_head(struct rf_api_call *call, const struct rf_http1_head *head,
		     struct rf_api_error *error)
{
	const struct rf_url *url = &head->start.url;

	if (check_names(call, head, error) < 0)
		return -1;
	call->route = rf_route_find(head->start.method, url->path, &call->parts, error);
	if (!call->route)
		return -1;
	if (url->has_query) {
		call->query = strndup(url->query.at, url->query.len);
		if (!call->query)
			return rf_api_error_say(error, RF_API_UNAVAILABLE, NULL,
						"there is no memory left");
	}
	call->wants_stream = accepts_events(value_of(head, RF_SPAN("Accept")));
	if (head->framing.body == RF_BODY_LENGTH && head->framing.length > call->route->body &&
	    call->route->body > 0) {
		rf_api_error_say(error, RF_API_TOO_LARGE, "body",
				 "the body may have %zu bytes here", call->route->body);
		return rf_api_error_hint(error, "send less at a time");
	}
	return check_type(call, head, error) < 0 ? -1 : check_query(call, error);
}

static void on_request(void *data, struct rf_exchange *x, const struct rf_http1_head *head)
{
	const struct rf_front_side *side = data;
	struct rf_api_call *call = calloc(1, sizeof(*call));
	struct rf_api_error error;

	if (!call) {
		rf_exchange_keep(x, NULL);
		rf_exchange_abort(x);
		return;
	}
	call->front = side->front;
	call->is_local = side->is_local;
	call->x = x;
	call->id = ++side->front->last_id;
	call->since_ns = rf_loop_now();
	call->state = RF_API_BODY;
	side->front->calls++;
	rf_buf_init(&call->out, ANSWER_MOST);
	rf_exchange_keep(x, call);
	name_call(call, head);
	if (read_head(call, head, &error) < 0) {
		refuse_at_once(call, &error);
		return;
	}
	rf_buf_init(&call->body, call->route->body + 1);
	if (call->route->scope)
		find_holder(call, head);
}

static void on_body(void *own, struct rf_exchange *x, struct rf_span bytes)
{
	struct rf_api_call *call = own;
	struct rf_api_error error;

	(void)x;
	if (!call || (call->state != RF_API_BODY && call->state != RF_API_AUTH))
		return; /* it is answered already */
	if (bytes.len <= call->route->body && call->body.len + bytes.len <= call->route->body) {
		rf_buf_add(&call->body, bytes.at, bytes.len);
		return;
	}
	rf_api_error_say(&error, RF_API_TOO_LARGE, "body", "the body may have %zu bytes here",
			 call->route->body);
	rf_api_error_hint(&error, call->route->body ? "send less at a time" : "leave it out");
	rf_api_call_fail(call, &error);
}

static void on_body_end(void *own, struct rf_exchange *x, struct rf_fields trailer)
{
	struct rf_api_call *call = own;

	(void)x;
	(void)trailer;
	if (!call)
		return;
	call->has_body_ended = true;
	serve_if_whole(call);
}

static void on_room(void *own, struct rf_exchange *x)
{
	struct rf_api_call *call = own;

	(void)x;
	if (!call)
		return;
	call->is_held = false;
	pump(call);
	if (call->job && call->is_stream && !rf_api_call_is_full(call))
		rf_job_pause(call->job, false);
}

/* Who asked is gone, or has all of the answer: what was for it alone ends. */
static void on_end(void *own, struct rf_exchange *x, bool is_whole)
{
	struct rf_api_call *call = own;
	struct rf_front *front;

	(void)x;
	(void)is_whole;
	if (!call)
		return;
	front = call->front;
	if (call->state == RF_API_AUTH)
		rf_front_forget_call(front, call);
	if (call->state == RF_API_LINE)
		leave_line(call);
	if (call->on_gone)
		call->on_gone(call);
	rf_event_cancel(call->timer);
	rf_job_free(call->job);
	rf_query_drop(call->asked);
	rf_api_call_leave_place(call);
	rf_holder_unref(call->holder);
	rf_order_done(&call->order);
	rf_buf_done(&call->body);
	rf_buf_done(&call->out);
	free(call->query);
	free(call->extra);
	free(call);
	front->calls--;
}

const struct rf_exchange_ops rf_api_call_ops = {
	.on_request = on_request,
	.on_body = on_body,
	.on_body_end = on_body_end,
	.on_room = on_room,
	.on_end = on_end,
};
