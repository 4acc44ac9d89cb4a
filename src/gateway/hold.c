/* Requests that are held: see hold.h. */
#include "gateway/hold.h"

#include <stdio.h>

#include "base/fd.h"
#include "base/json.h"
#include "gateway/custody.h"
#include "gateway/message.h"
#include "gateway/pretend.h"
#include "http/compose.h"

#define MORE "…"

/* The words of a refusal, in the two cases in which there are some. */
static const struct words {
	const char *code, *upgrade, *large, *trailer, *long_one, *full;
} trial = {
	"not_in_a_trial",
	"This is a trial run: a connection on which both sides write "
	"can't be held back, so none is opened.",
	"This is a trial run: a body of more than 1 MiB can't be held back.",
	"This is a trial run: a request with a trailer can't be held back.",
	"This is a trial run: the request is too long to be held back.",
	"This is a trial run, and no more requests can be held back.",
}, approval = {
	"needs_approval",
	"Writes wait for approval here: a connection on which both sides write can't wait, so none is opened.",
	"Writes wait for approval here: a body of more than 1 MiB can't wait.",
	"Writes wait for approval here: a request with a trailer can't wait.",
	"Writes wait for approval here: the request is too long to wait.",
	"Writes wait for approval here, and no more of them can wait.",
};

static const struct words *words_of(const struct rf_forward *f)
{
	return f->outlet->holds_writes ? &trial : &approval;
}

static bool is_read(struct rf_span method)
{
	return rf_span_is(method, RF_SPAN("GET")) || rf_span_is(method, RF_SPAN("HEAD")) ||
	       rf_span_is(method, RF_SPAN("OPTIONS")) || rf_span_is(method, RF_SPAN("TRACE"));
}

static bool has_body(const struct rf_forward_message *request)
{
	return request->body != RF_BODY_NONE &&
	       !(request->body == RF_BODY_LENGTH && request->length == 0);
}

/* By its first line, by fields that many servers heed more than that, and by having no body: what a read brings along, somebody heeds. */
static bool only_reads(const struct rf_forward *f)
{
	for (size_t i = 0; i < f->request.count; i++)
		if (rf_pretend_is_method(f->request.fields[i].name) &&
		    !is_read(f->request.fields[i].value))
			return false;
	return is_read(f->request.method) && !has_body(&f->request);
}

/* Writes wait, and nobody was named who could approve them. */
static bool is_nobody_there(const struct rf_outlet *outlet)
{
	return !outlet->holds_writes && !outlet->custody;
}

static void refuse_as_unapproved(struct rf_forward *f)
{
	struct rf_refusal refusal = { .status = 403, .code = approval.code };

	rf_judge_place(&f->place.host, f->place.port, refusal.host, sizeof(refusal.host));
	snprintf(refusal.message, sizeof(refusal.message),
		 "Writes need approval here, and nobody is there to give it.");
	snprintf(refusal.rule, sizeof(refusal.rule), "network.writes: hold");
	snprintf(refusal.remedy, sizeof(refusal.remedy), "network.writes: pass");
	f->is_held = false;
	rf_forward_deny(f, &refusal);
}

bool rf_hold_look(struct rf_forward *f)
{
	const struct rf_outlet *outlet = f->outlet;

	if (f->is_approved || (!outlet->holds_writes && !outlet->net->holds_writes))
		return true;
	if (f->upgrade.len > 0) {
		rf_forward_refuse_with(f, 403, words_of(f)->code, words_of(f)->upgrade);
		return false;
	}
	f->is_held = !only_reads(f);
	if (f->is_held && is_nobody_there(outlet)) {
		refuse_as_unapproved(f);
		return false;
	}
	if (f->is_held && f->request.body == RF_BODY_LENGTH &&
	    f->request.length > RF_GATE_HELD_BODY) {
		f->is_held = false;
		rf_forward_refuse_with(f, 413, "too_large_to_hold", words_of(f)->large);
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

/* `name` is what it is called; or NULL: its number is. */
static void answer(struct rf_forward *f, unsigned number, const char *name)
{
	static const char in_trial[] = "This is a trial run: the request is kept, and will be sent "
				       "if the run's changes are applied.";
	static const char in_custody[] =
		"The request is kept, and will be sent if it is approved before this sandbox ends.";
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
	if (name)
		rf_json_string(&json, "id", name);
	else
		rf_json_int(&json, "id", number);
	rf_json_string(&json, "message", name ? in_custody : in_trial);
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

static void refuse(struct rf_forward *f, unsigned status, const char *code, const char *message)
{
	f->is_held = false;
	rf_forward_refuse_with(f, status, code, message);
}

void rf_hold_answer_asked(struct rf_forward *f, const struct rf_gate_taken *taken)
{
	char words[200];

	if (!f->exchange)
		return;
	if (taken->id[0]) {
		answer(f, 0, taken->id);
		return;
	}
	snprintf(words, sizeof(words), "Writes wait for approval here, and this one can't: %.100s",
		 taken->reason);
	refuse(f, 503, "cannot_hold", words);
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

	if (f->request.path.len < sizeof(path))
		snprintf(path, sizeof(path), "%.*s", (int)f->request.path.len, f->request.path.at);
	else /* who decides is to see that there is more of it, which the message has */
		snprintf(path, sizeof(path), "%.*s" MORE, (int)(sizeof(path) - sizeof(MORE)),
			 f->request.path.at);
	rf_buf_init(&message, RF_GATE_HELD_MAX);
	if (f->up_trailer.count > 0) {
		refuse(f, 403, words_of(f)->code, words_of(f)->trailer);
		return;
	}
	if (!compose(f, &message)) {
		refuse(f, 413, "too_large_to_hold", words_of(f)->long_one);
		return;
	}
	held.message = message.data;
	held.len = message.len;
	if (!outlet->holds_writes) {
		if (!rf_custody_ask(f, &held))
			refuse(f, 503, "cannot_hold", words_of(f)->full);
		return;
	}
	if (outlet->held_count >= RF_GATE_HELD_COUNT ||
	    outlet->held_bytes + held.len > RF_GATE_HELD_BYTES ||
	    !rf_note_hold(outlet->note, &held)) {
		refuse(f, 503, "cannot_hold", words_of(f)->full);
		return;
	}
	outlet->held_count++;
	outlet->held_bytes += held.len;
	answer(f, outlet->held_count, NULL);
}
