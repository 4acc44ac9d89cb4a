/*
 * Writes of sandboxes that wait for approval, as the API shows them.  All of it is the clerk's (custodian.h): it knows whose they are, and by the terms of the
 * connection whether the key may decide.
 *
 * What was approved is answered on a connection that the clerk hands over: it is read to its end here, also where who approved is gone, since it is
 * cut by who hangs up.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/pack.h"
#include "server/approval-answer.h"
#include "server/approval-ask.h"
#include "server/ask-clerk.h"
#include "server/form.h"
#include "server/front.h"
#include "server/handlers.h"

#define BODY_MOST       4096
#define LIST_USUAL      100
#define CURSOR_MOST     9999999999999999999ull
#define ANSWER_MS       60000
#define SENDINGS        128 /* decisions under way at once, of all; they outlive who decided */
#define SENDINGS_OF_ONE 16  /* and of one key */

/* ------------------------------------------------------------- seen */

static int read_page(const struct rf_api_call *call, struct rf_approval_ask_page *ask,
		     struct rf_api_error *error)
{
	char text[32];
	unsigned long long number;
	int got = rf_api_call_parameter(call, "limit", text, sizeof(text), error);

	*ask = (struct rf_approval_ask_page){ .limit = LIST_USUAL };
	if (got > 0 &&
	    (rf_span_number(rf_span_of(text), RF_APPROVAL_ASK_MOST, &number) < 0 || number < 1)) {
		rf_api_error_say(error, RF_API_INVALID, "limit",
				 "limit: it is no number from 1 to %d", RF_APPROVAL_ASK_MOST);
		return rf_api_error_hint(error, "leave it out for %d", LIST_USUAL);
	}
	if (got > 0)
		ask->limit = (uint32_t)number;
	if (got < 0)
		return -1;
	got = rf_api_call_parameter(call, "cursor", text, sizeof(text), error);
	if (got > 0 && text[0]) {
		if (text[0] == '0' || rf_span_number(rf_span_of(text), CURSOR_MOST, &number) < 0) {
			rf_api_error_say(error, RF_API_INVALID, "cursor",
					 "cursor: no page has this one");
			return rf_api_error_hint(error, "pass `next_cursor` of the page before on");
		}
		ask->after_ns = number;
	}
	if (got < 0)
		return -1;
	return rf_api_call_parameter(call, "sandbox", ask->sandbox, sizeof(ask->sandbox), error);
}

void rf_serve_approval_list(struct rf_api_call *call)
{
	struct rf_approval_ask_page ask;
	struct rf_api_error error;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, BODY_MOST);
	if (read_page(call, &ask, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	rf_approval_ask_put_page(&ask, &body);
	rf_ask_clerk_json(call, RF_CLERK_APPROVALS, &body, false);
}

void rf_serve_approval_get(struct rf_api_call *call)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, BODY_MOST);
	rf_pack_string(&body, call->parts.part[0]);
	rf_ask_clerk_json(call, RF_CLERK_APPROVAL, &body, false);
}

/* ------------------------------------------------------------- what is answered to it */

/* A decision that is under way.  Outlives the call that it is for: what is approved is cut by who hangs up. */
struct sending {
	struct rf_api_call *call; /* or NULL: who decided is gone */
	struct rf_holder *holder; /* of the line on which the clerk answers */
	struct rf_front *front;
	int fd; /* or -1: nothing is sent yet */
	struct rf_event *event, *timer;
	struct rf_approval_answer answer;
};

static void tell_decision(struct rf_api_call *call, const char *state, const struct sending *s)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_json json;

	rf_buf_init(&out, BODY_MOST);
	rf_json_init(&json, &out, false);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "id", call->parts.part[0]);
	rf_json_string(&json, "state", state);
	if (s && s->answer.status)
		rf_json_int(&json, "status", s->answer.status);
	else if (s)
		rf_json_null(&json, "status");
	if (s)
		rf_json_string(&json, "refused", s->answer.refused[0] ? s->answer.refused : NULL);
	rf_json_close_object(&json);
	rf_buf_puts(&out, "\n");
	rf_api_call_answer(call, 200, &out);
}

static void free_sending(struct sending *s)
{
	rf_event_cancel(s->event);
	rf_event_cancel(s->timer);
	rf_fd_done(&s->fd);
	s->front->sendings--;
	s->holder->sendings--;
	rf_holder_unref(s->holder);
	free(s);
}

static void on_gone(struct rf_api_call *call)
{
	struct sending *s = call->extra;

	call->extra = NULL;
	if (s)
		s->call = NULL;
}

/* Who decided can be answered; or NULL: there is nobody. */
static struct rf_api_call *part(struct sending *s)
{
	struct rf_api_call *call = s->call;

	if (call) {
		call->extra = NULL;
		call->on_gone = NULL;
	}
	return call;
}

static void finish(struct sending *s)
{
	struct rf_api_call *call = part(s);

	if (call)
		tell_decision(call, "approved", s);
	free_sending(s);
}

static void on_late(void *data, int what)
{
	(void)what;
	finish(data);
}

static void on_bytes(void *data, int what)
{
	struct sending *s = data;

	(void)what;
	if (rf_approval_answer_read(&s->answer, s->fd))
		finish(s);
}

/* ------------------------------------------------------------- decided */

static void read_answer(struct sending *s, int *fd)
{
	struct rf_err err = RF_ERR_INIT;

	s->fd = rf_fd_take(fd);
	rf_approval_answer_init(&s->answer);
	if (fcntl(s->fd, F_SETFL, O_NONBLOCK) < 0 ||
	    rf_loop_watch(s->front->loop, s->fd, RF_LOOP_READ, on_bytes, s, &s->event, &err) < 0 ||
	    rf_loop_timer(s->front->loop, rf_loop_now() + RF_APPROVAL_ANSWER_S * 1000000000ull,
			  on_late, s, &s->timer, &err) < 0)
		finish(s);
}

static void on_decided(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct sending *s = data;
	struct rf_api_call *call;

	if (answer && answer->fd_count == 1) {
		read_answer(s, &answer->fds[0]);
		return;
	}
	call = part(s);
	if (call && answer)
		tell_decision(call, "denied", NULL);
	else if (call)
		rf_api_call_fail_with(call, why, why->code == -ENOENT ? "id" : NULL);
	free_sending(s);
}

static bool is_room_for(struct rf_api_call *call)
{
	struct rf_api_error error;
	bool is_own = call->holder->sendings >= SENDINGS_OF_ONE;

	if (!is_own && call->front->sendings < SENDINGS)
		return true;
	rf_api_error_say(&error, RF_API_TOO_MANY, NULL, "%d approvals%s are under way",
			 is_own ? SENDINGS_OF_ONE : SENDINGS, is_own ? " of this key" : "");
	rf_api_error_hint(&error, "wait for servers to answer what was approved");
	error.retry_s = 1;
	rf_api_call_fail(call, &error);
	return false;
}

static void decide(struct rf_api_call *call, const struct rf_approval_ask_decision *decision)
{
	struct rf_clerk_ask ask = { .question = RF_CLERK_DECIDE };
	struct rf_petition *ignored;
	struct sending *s;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, BODY_MOST);
	if (decision->is_approved && !is_room_for(call))
		return;
	s = calloc(1, sizeof(*s));
	if (!s) {
		rf_exchange_abort(call->x);
		return;
	}
	*s = (struct sending){ .call = call, .front = call->front, .fd = -1 };
	s->holder = rf_holder_ref(call->holder);
	s->front->sendings++;
	s->holder->sendings++;
	call->extra = s;
	call->on_gone = on_gone;
	rf_approval_ask_put_decision(decision, &body);
	ask.body = body.data;
	ask.len = body.len;
	if (rf_petition_ask(&s->holder->clerk, s->front->loop, &ask, NULL, 0, ANSWER_MS, on_decided,
			    s, &ignored, &err) < 0) {
		part(s);
		rf_api_call_fail_with(call, &err, NULL);
		free_sending(s);
	}
}

/* What may be said of a decision. */
struct words {
	const char *reason;
};

static const struct rf_form_field word_fields[] = {
	{ "reason", RF_FORM_STRING, offsetof(struct words, reason), 0, 200, false },
};

static void read_and_decide(struct rf_api_call *call, bool is_approved)
{
	struct rf_approval_ask_decision decision = { .is_approved = is_approved };
	const char *text = call->body.len ? call->body.data : "{}";
	struct rf_jsonread *json = NULL;
	struct rf_arena *arena = rf_arena_new();
	struct rf_api_error error;
	struct rf_err err = RF_ERR_INIT;
	struct words words = { 0 };
	int code = -1;

	if (!arena)
		rf_api_error_say(&error, RF_API_UNAVAILABLE, NULL, "there is no memory left");
	else if (rf_jsonread_parse(text, call->body.len ? call->body.len : 2, &json, &err) < 0)
		rf_api_error_say(&error, RF_API_MALFORMED, "body", "%s", err.msg);
	else
		code = rf_form_read(rf_jsonread_root(json), word_fields, RF_LEN(word_fields),
				    &words, arena, "", &error);
	if (code == 0) {
		snprintf(decision.reason, sizeof(decision.reason), "%s",
			 words.reason ? words.reason : "");
		/* A longer name than any has is cut to one that none has either. */
		snprintf(decision.id, sizeof(decision.id), "%.*s", RF_APPROVAL_ASK_ID - 1,
			 call->parts.part[0]);
		decide(call, &decision);
	} else {
		rf_api_call_fail(call, &error);
	}
	rf_jsonread_free(json);
	rf_arena_free(arena);
}

void rf_serve_approval_approve(struct rf_api_call *call)
{
	read_and_decide(call, true);
}

void rf_serve_approval_deny(struct rf_api_call *call)
{
	read_and_decide(call, false);
}
