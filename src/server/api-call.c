/* One request of the API: see api-call.h. */
#include "server/api-call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "server/api-call-inside.h"
#include "server/api-key.h"
#include "server/cors.h"
#include "server/front.h"
#include "server/mcp-visit.h"
#include "server/once.h"
#include "server/outing.h"
#include "server/transit.h"
#include "server/wicket.h"

#define ANSWER_MOST (200ul << 20)
#define BODY_PIECE  (1ul << 20)   /* of one that is told as it comes */
#define HELD_OF_ALL (160ul << 20) /* of bodies that are kept */
#define HELD_OF_ONE (64ul << 20)  /* the same, of one key */

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
	if (call->route->how & RF_ROUTE_STREAMED) { /* who serves it says when it goes on */
		call->state = RF_API_WORK;
		rf_exchange_pause(call->x, true);
		call->route->serve(call);
		return;
	}
	rf_exchange_pause(call->x, false);
	serve_if_whole(call);
}

/* What a client shows, in one of three ways; without bytes if it shows none.  Where there are two, Authorization is for somebody else: a program in a sandbox. */
static struct rf_span find_token(const struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_span value = rf_api_call_value(head, RF_SPAN("X-API-Key"));

	if (value.len || call->upgrade.token[0])
		return value.len ? value : rf_span_of(call->upgrade.token);
	return rf_api_call_bearer(head);
}

static void find_holder(struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_span value = find_token(call, head);
	struct rf_err err = RF_ERR_INIT;
	struct rf_holder *holder = call->is_local ? call->front->local_holder : NULL;

	if (!call->is_local) {
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
	static const struct rf_route none = { .method = "", .path = "" };

	if (!call->route)
		call->route = &none;
	rf_api_call_fail(call, error);
}

static int read_head(struct rf_api_call *call, const struct rf_http1_head *head,
		     struct rf_api_error *error)
{
	const struct rf_url *url = &head->start.url;

	if (rf_api_call_check_fields(head, error) < 0 ||
	    rf_upgrade_read(head, &call->upgrade, error) < 0 ||
	    rf_api_call_check_names(call, head, error) < 0)
		return -1;
	rf_cors_note(call, head);
	if (rf_cors_answer(call, head))
		return 1;
	call->route = rf_route_find(head->start.method, url->path, &call->parts, error);
	if (!call->route)
		return -1;
	if (url->has_query) {
		call->query = strndup(url->query.at, url->query.len);
		if (!call->query)
			return rf_api_error_say(error, RF_API_UNAVAILABLE, NULL,
						"there is no memory left");
	}
	rf_api_call_note(call, head);
	if (call->route->how & RF_ROUTE_RELAYED)
		return rf_api_call_keep_head(call, head, error);
	if (rf_once_read(call, head, error) < 0)
		return -1;
	if (!(call->route->how & RF_ROUTE_STREAMED) && head->framing.body == RF_BODY_LENGTH &&
	    head->framing.length > call->route->body && call->route->body > 0) {
		rf_api_error_say(error, RF_API_TOO_LARGE, "body",
				 "the body may have %zu bytes here", call->route->body);
		return rf_api_error_hint(error, "send less at a time");
	}
	return rf_api_call_check_type(call, head, error) < 0 ? -1
							     : rf_api_call_check_query(call, error);
}

static void on_request(void *data, struct rf_exchange *x, const struct rf_http1_head *head)
{
	const struct rf_front_side *side = data;
	struct rf_api_call *call = calloc(1, sizeof(*call));
	struct rf_api_error error;
	int code;

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
	rf_api_call_name(call, head);
	code = read_head(call, head, &error);
	if (code != 0) {
		if (code < 0)
			refuse_at_once(call, &error);
		return; /* it is answered */
	}
	rf_buf_init(&call->body,
		    call->route->how & RF_ROUTE_STREAMED ? BODY_PIECE : call->route->body + 1);
	if (call->route->heed)
		call->route->heed(call, head);
	if (call->route->scope)
		find_holder(call, head);
}

/* Of bodies that have not come as a whole only so much is kept, of all keys and of one: who sends many of them by halves fills nothing. */
static bool hold(struct rf_api_call *call, size_t len)
{
	struct rf_api_error error;
	bool is_own = call->holder && call->holder->held + len > HELD_OF_ONE;

	if (!is_own && call->front->held + len <= HELD_OF_ALL) {
		call->held += len;
		call->front->held += len;
		if (call->holder)
			call->holder->held += len;
		return true;
	}
	rf_api_error_say(&error, is_own ? RF_API_TOO_MANY : RF_API_UNAVAILABLE, "body",
			 is_own ? "requests of this key have brought %u MiB that wait to be whole"
				: "requests have brought %u MiB that wait to be whole",
			 (unsigned)((is_own ? HELD_OF_ONE : HELD_OF_ALL) >> 20));
	rf_api_error_hint(&error, "try again when some of them are answered");
	error.retry_s = 1;
	rf_api_call_fail(call, &error);
	return false;
}

static void let_go(struct rf_api_call *call)
{
	call->front->held -= call->held;
	if (call->holder)
		call->holder->held -= call->held;
	call->held = 0;
}

static void on_body(void *own, struct rf_exchange *x, struct rf_span bytes)
{
	struct rf_api_call *call = own;
	struct rf_api_error error;

	(void)x;
	if (call && call->on_bytes && call->state == RF_API_WORK) {
		call->on_bytes(call, bytes);
		return;
	}
	if (!call || (call->state != RF_API_BODY && call->state != RF_API_AUTH))
		return; /* it is answered already */
	if (!hold(call, bytes.len))
		return;
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
	if (call->on_bytes_end && call->state == RF_API_WORK)
		call->on_bytes_end(call);
	else
		serve_if_whole(call);
}

static void on_room(void *own, struct rf_exchange *x)
{
	struct rf_api_call *call = own;

	(void)x;
	if (!call)
		return;
	call->is_held = false;
	if (call->on_room) {
		call->on_room(call);
		return;
	}
	rf_api_call_pump(call);
	if (call->job && call->is_stream && !rf_api_call_is_full(call))
		rf_job_pause(call->job, false);
}

void rf_api_call_let_go(struct rf_api_call *call)
{
	call->on_answer = NULL;
	if (call->state == RF_API_LINE)
		rf_api_call_leave_line(call);
	if (call->on_gone)
		call->on_gone(call);
	call->on_gone = NULL;
	rf_event_cancel(call->timer);
	call->timer = NULL;
	rf_job_free(call->job);
	call->job = NULL;
	rf_query_drop(call->asked);
	call->asked = NULL;
	rf_petition_drop(call->petition);
	call->petition = NULL;
	rf_outing_free(call->outing);
	call->outing = NULL;
	rf_api_call_leave_place(call);
}

void rf_api_call_free(struct rf_api_call *call)
{
	struct rf_front *front = call->front;

	rf_wicket_forget(call);
	rf_event_cancel(call->free_timer);
	rf_buf_done(&call->kept);
	free(call->fated);
	if (call->state == RF_API_AUTH)
		rf_front_forget_call(front, call);
	rf_api_call_let_go(call);
	rf_mcp_visit_free(call->visit);
	rf_transit_free(call->transit);
	let_go(call);
	rf_api_call_settle(call);
	rf_holder_unref(call->holder);
	rf_order_done(&call->order);
	rf_buf_done(&call->body);
	rf_buf_done(&call->out);
	free(call->query);
	free(call->extra);
	free(call);
	front->calls--;
}

/* Who asked is gone, or has all of the answer: what was for it alone ends, unless it is to be done once. */
static void on_end(void *own, struct rf_exchange *x, bool is_whole)
{
	struct rf_api_call *call = own;

	(void)x;
	(void)is_whole;
	if (call)
		rf_api_call_tell_span(call);
	if (call && rf_once_outlives(call))
		call->x = NULL;
	else if (call)
		rf_api_call_free(call);
}

const struct rf_exchange_ops rf_api_call_ops = {
	.on_request = on_request,
	.on_body = on_body,
	.on_body_end = on_body_end,
	.on_room = on_room,
	.on_end = on_end,
};
