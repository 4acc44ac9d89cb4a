/* Requests that are held: see hold.h. */
#include "gateway/hold.h"

#include <stdio.h>

#include "base/fd.h"
#include "base/json.h"
#include "gateway/message.h"
#include "http/compose.h"

static bool is_read(struct rf_span method)
{
	return rf_span_is(method, RF_SPAN("GET")) || rf_span_is(method, RF_SPAN("HEAD")) ||
	       rf_span_is(method, RF_SPAN("OPTIONS")) || rf_span_is(method, RF_SPAN("TRACE"));
}

bool rf_hold_look(struct rf_forward *f)
{
	if (!f->outlet->holds_writes)
		return true;
	if (f->upgrade.len > 0) {
		rf_forward_refuse_with(
			f, 403, "not_in_a_trial",
			"This is a trial run: a connection on which both sides write "
			"can't be held back, so none is opened.");
		return false;
	}
	f->is_held = !is_read(f->request.method);
	if (f->is_held && f->request.body == RF_BODY_LENGTH &&
	    f->request.length > RF_GATE_HELD_BODY) {
		rf_forward_refuse_with(
			f, 413, "too_large_to_hold",
			"This is a trial run: a body of more than 1 MiB can't be held back.");
		return false;
	}
	return true;
}

static bool compose(struct rf_forward *f, struct rf_buf *out)
{
	const struct rf_forward_message *request = &f->request;
	struct rf_authority authority = { .host = f->place.host };
	struct rf_compose head;

	if (f->place.port != (f->place.is_tls ? 443 : 80))
		authority.port = f->place.port;
	rf_compose_request(&head, out, request->method, rf_message_target(&f->request), &authority);
	for (size_t i = 0; i < request->count; i++)
		rf_compose_field(&head, request->fields[i].name, request->fields[i].value);
	if (request->body != RF_BODY_NONE)
		rf_compose_length(&head, request->gathered.len);
	if (rf_compose_end(&head))
		return false;
	rf_buf_add(out, request->gathered.at, request->gathered.len);
	return !out->has_failed;
}

static void answer(struct rf_forward *f, unsigned number)
{
	static const char message[] = "This is a trial run: the request is kept, and will be sent "
				      "if the run's changes are applied.";
	struct rf_field fields[] = {
		{ RF_SPAN("Content-Type"), RF_SPAN("application/json") },
		{ RF_SPAN("X-Ringfort"), RF_SPAN("held") },
	};
	RF_AUTO_BUF struct rf_buf body;
	struct rf_json json;

	rf_buf_init(&body, 1024);
	rf_json_init(&json, &body, false);
	rf_json_open_object(&json, NULL);
	rf_json_open_object(&json, "held");
	rf_json_int(&json, "id", number);
	rf_json_string(&json, "message", message);
	rf_json_close_object(&json);
	rf_json_close_object(&json);
	rf_buf_puts(&body, "\n");
	f->is_refused = f->is_answered = true;
	f->status = 202;
	if (rf_exchange_answer(f->exchange, 202, (struct rf_fields){ fields, RF_LEN(fields) },
			       RF_BODY_LENGTH, body.len) ||
	    rf_exchange_send(f->exchange, (struct rf_span){ body.data, body.len }) < 0 ||
	    rf_exchange_finish(f->exchange, (struct rf_fields){ 0 }) < 0)
		rf_exchange_abort(f->exchange);
}

void rf_hold_take(struct rf_forward *f)
{
	struct rf_outlet *outlet = f->outlet;
	char path[RF_GATE_PATH];
	struct rf_gate_held held = {
		.place = { f->place.host.text, f->place.port, f->place.is_tls },
		.method = rf_message_text(&f->request, f->request.method),
		.path = path,
	};
	RF_AUTO_BUF struct rf_buf message;

	snprintf(path, sizeof(path), "%.*s", (int)f->request.path.len, f->request.path.at);
	rf_buf_init(&message, RF_GATE_HELD_MAX);
	if (f->up_trailer.count > 0) {
		f->is_held = false;
		rf_forward_refuse_with(
			f, 403, "not_in_a_trial",
			"This is a trial run: a request with a trailer can't be held back.");
		return;
	}
	if (!compose(f, &message)) {
		f->is_held = false;
		rf_forward_refuse_with(
			f, 413, "too_large_to_hold",
			"This is a trial run: the request is too long to be held back.");
		return;
	}
	held.message = message.data;
	held.len = message.len;
	if (outlet->held_count >= RF_GATE_HELD_COUNT ||
	    outlet->held_bytes + held.len > RF_GATE_HELD_BYTES ||
	    !rf_note_hold(outlet->note, &held)) {
		f->is_held = false;
		rf_forward_refuse_with(
			f, 503, "cannot_hold",
			"This is a trial run, and no more requests can be held back.");
		return;
	}
	outlet->held_count++;
	outlet->held_bytes += held.len;
	answer(f, outlet->held_count);
}
