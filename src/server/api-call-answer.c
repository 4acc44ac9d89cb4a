/* How a request of the API is answered: as a whole, or in pieces.  See api-call.h. */
#include <stdio.h>
#include <string.h>

#include "server/api-call-inside.h"
#include "server/cors.h"
#include "server/fate.h"
#include "server/front.h"
#include "server/once.h"

#define PIECE   (64 * 1024)  /* of an answer that is sent at a time */
#define BACKLOG (256 * 1024) /* of an answer that waits, before its source does */
#define MORE    4            /* fields of a handler's own */

/* Bytes of whole answers that wait: those that are short do not count. */
#define OWED_LEAST        (64u << 10)
#define OWED_TO_STRANGERS (64u << 20)
#define OWED_TO_KEY       (128u << 20)
#define OWED              (512u << 20)

void rf_api_call_pump(struct rf_api_call *call)
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
		  uint64_t length, const struct rf_api_error *error, struct rf_fields more)
{
	struct rf_field fields[9 + RF_CORS_FIELDS + MORE];
	char retry[16];
	size_t n = 0;

	call->state = RF_API_DONE;
	call->status = status;
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
	if (call->more.value.len)
		fields[n++] = call->more;
	if (error && error->allow[0])
		fields[n++] = (struct rf_field){ RF_SPAN("Allow"), rf_span_of(error->allow) };
	if (error && (error->code == RF_API_TOO_MANY || error->retry_s)) {
		snprintf(retry, sizeof(retry), "%u", error->retry_s ? error->retry_s : 1);
		fields[n++] = (struct rf_field){ RF_SPAN("Retry-After"), rf_span_of(retry) };
	}
	n += rf_cors_put(call, fields + n);
	for (size_t i = 0; i < more.count && i < MORE; i++)
		fields[n++] = more.at[i];
	rf_exchange_answer(call->x, status, (struct rf_fields){ fields, n }, body, length);
}

void rf_api_call_begin_bytes(struct rf_api_call *call, unsigned status, const char *type,
			     uint64_t length, struct rf_fields more)
{
	begin(call, status, type, length == UINT64_MAX ? RF_BODY_CHUNKED : RF_BODY_LENGTH,
	      length == UINT64_MAX ? 0 : length, NULL, more);
}

/*
 * An answer as a whole waits in memory until its client has read it, and who reads slowly may take all day: there is a most for one key, for all of
 * them, and for who has none.  One answer alone is never too much.
 */
static bool owe(struct rf_api_call *call, size_t len)
{
	struct rf_front *front = call->front;
	struct rf_holder *holder = call->holder;
	size_t *own = holder ? &holder->owed : &front->owed_to_strangers;
	size_t most = holder ? OWED_TO_KEY : OWED_TO_STRANGERS;

	if ((*own > 0 && *own + len > most) || (front->owed > 0 && front->owed + len > OWED))
		return false;
	*own += len;
	front->owed += len;
	call->owed += len;
	return true;
}

void rf_api_call_settle(struct rf_api_call *call)
{
	*(call->holder ? &call->holder->owed : &call->front->owed_to_strangers) -= call->owed;
	call->front->owed -= call->owed;
	call->owed = 0;
}

/* What is said in the place of an answer that there is no room for. */
static unsigned excuse(struct rf_buf *bytes, struct rf_api_error *error)
{
	rf_buf_done(bytes);
	rf_buf_init(bytes, 16 * 1024);
	rf_api_error_say(error, RF_API_UNAVAILABLE, NULL,
			 "too many answers wait for who asked to read them");
	rf_api_error_hint(error, "read them, or ask again later");
	rf_api_error_format(error, bytes);
	return rf_api_error_status(error->code);
}

static void send_all(struct rf_api_call *call, unsigned status, const char *type,
		     struct rf_buf *bytes, const struct rf_api_error *error)
{
	void (*on_answer)(struct rf_api_call * call, unsigned status, const struct rf_buf *bytes,
			  const struct rf_api_error *error) = call->on_answer;
	struct rf_api_error none;

	if (on_answer) { /* it is not the client who hears it */
		call->on_answer = NULL;
		on_answer(call, status, bytes, error);
		return;
	}
	if (call->state == RF_API_DONE || rf_once_keep(call, status, bytes, error))
		return;
	if (bytes->has_failed) {
		rf_buf_clear(bytes);
		status = 503;
	}
	if (bytes->len > OWED_LEAST && !owe(call, bytes->len)) {
		status = excuse(bytes, &none);
		type = "application/json";
		error = &none;
	}
	begin(call, status, bytes->len ? type : NULL, bytes->len ? RF_BODY_LENGTH : RF_BODY_NONE,
	      bytes->len, error, (struct rf_fields){ 0 });
	rf_buf_done(&call->out);
	call->out = *bytes;
	*bytes = (struct rf_buf){ 0 };
	call->is_last = true;
	rf_exchange_pause(call->x, false); /* what is left of the body is passed over */
	rf_api_call_pump(call);
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

void rf_api_call_answer_empty(struct rf_api_call *call, unsigned status, struct rf_fields more)
{
	if (call->state == RF_API_DONE)
		return;
	begin(call, status, NULL, RF_BODY_NONE, 0, NULL, more);
	call->is_last = true;
	rf_exchange_pause(call->x, false);
	rf_api_call_pump(call);
}

void rf_api_call_fail(struct rf_api_call *call, const struct rf_api_error *error)
{
	RF_AUTO_BUF struct rf_buf text;
	struct rf_api_error removed;

	rf_buf_init(&text, 16 * 1024);
	if (rf_fate_ask(call, error))
		return;
	/* Its connections were ended for that: see rf_household_withdraw(). */
	if (call->holder && call->holder->is_removed && error->code == RF_API_UNAVAILABLE) {
		rf_api_error_say(&removed, RF_API_NO_KEY, NULL,
				 "the key was removed, and what it ran has ended");
		rf_api_error_hint(&removed, "`ringfort key create` makes one");
		error = &removed;
	}
	rf_api_error_format(error, &text);
	if (call->is_stream && !call->on_answer) { /* it is too late for a status */
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
	begin(call, 200, "text/event-stream", RF_BODY_CHUNKED, 0, NULL, (struct rf_fields){ 0 });
	call->is_stream = true;
}

void rf_api_call_event(struct rf_api_call *call, const char *name, const struct rf_buf *json)
{
	rf_api_call_event_at(call, NULL, name, json);
}

/* JSON without line breaks is one line of data. */
void rf_api_call_event_at(struct rf_api_call *call, const char *id, const char *name,
			  const struct rf_buf *json)
{
	size_t len = json->len;

	if (id)
		rf_buf_printf(&call->out, "id: %s\n", id);
	while (len > 0 && json->data[len - 1] == '\n')
		len--;
	rf_buf_printf(&call->out, "event: %s\ndata: ", name);
	rf_buf_add(&call->out, json->data, len);
	rf_buf_puts(&call->out, "\n\n");
	if (call->out.has_failed)
		rf_exchange_abort(call->x);
	else
		rf_api_call_pump(call);
}

void rf_api_call_end(struct rf_api_call *call)
{
	call->is_last = true;
	rf_api_call_pump(call);
}

void rf_api_call_keep_alive(struct rf_api_call *call)
{
	rf_buf_puts(&call->out, ": still here\n\n");
	rf_api_call_pump(call);
}

bool rf_api_call_is_full(const struct rf_api_call *call)
{
	return call->out.len - call->out_at > BACKLOG;
}
