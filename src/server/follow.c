/* A tenant's events as they are written: see follow.h. */
#include "server/follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "server/api-call-inside.h"
#include "server/ask-clerk.h"
#include "server/front.h"
#include "server/handlers.h"

#define MS                  1000000ull
#define SOON_MS             100
#define SELDOM_MS           1000 /* also by which a key that was removed may be late */
#define ALIVE_NS            (15000 * MS)
#define PAGE                100
#define FOLLOWERS           64 /* at once, of all */
#define FOLLOWERS_OF_ONE    8  /* and of one key */
#define FOLLOWERS_OF_TENANT 16 /* whatever keys it has */
#define BODY_MOST           4096

struct follow {
	char last[RF_AUDIT_ASK_WORD]; /* Last-Event-ID, or "" */
	struct rf_audit_ask_events ask;
	unsigned pause_ms;
	uint64_t said_ns;
	bool is_counted;
};

void rf_serve_audit_heed(struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_span last = rf_api_call_value(head, RF_SPAN("Last-Event-ID"));
	struct follow *follow;

	if (!call->wants_stream)
		return;
	follow = calloc(1, sizeof(*follow));
	call->extra = follow;
	if (follow && last.len > 0) /* what is too long for one is none, cut or not */
		snprintf(follow->last, sizeof(follow->last), "%.*s", (int)last.len, last.at);
}

static void on_gone(struct rf_api_call *call)
{
	struct follow *follow = call->extra;

	if (follow->is_counted) {
		call->front->followers--;
		call->holder->followers--;
	}
}

/* ------------------------------------------------------------- what is told */

static void say(struct rf_api_call *call, const char *name, const char *cursor, const char *json)
{
	struct follow *follow = call->extra;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_AUDIT_ASK_JSON);
	rf_buf_puts(&text, json);
	rf_api_call_event_at(call, cursor, name, &text);
	follow->said_ns = rf_loop_now();
}

/* Where it begins is said first: who is cut off before the first event can go on from there. */
static void begin(struct rf_api_call *call, const char *cursor)
{
	char json[RF_AUDIT_ASK_WORD + 32];

	rf_api_call_begin_events(call);
	snprintf(json, sizeof(json), "{\"cursor\": \"%s\"}", cursor);
	say(call, "following", cursor, json);
}

/* Whether nothing more is to be said: the key is gone, or the server is about to be. */
static bool is_over(struct rf_api_call *call)
{
	struct rf_api_error error;

	if (call->holder->is_withdrawn) {
		rf_api_error_say(&error, RF_API_NO_KEY, NULL, "the key was removed");
		rf_api_error_hint(&error, "`ringfort key create` makes another");
		rf_api_call_fail(call, &error);
		return true;
	}
	if (call->front->is_draining)
		rf_api_call_end(call);
	return call->front->is_draining;
}

/* ------------------------------------------------------------- asking again and again */

static void ask_on(struct rf_api_call *call);

static void on_time(void *data, int what)
{
	struct rf_api_call *call = data;
	struct follow *follow = call->extra;

	(void)what;
	if (is_over(call))
		return;
	if (rf_loop_now() - follow->said_ns > ALIVE_NS) {
		rf_api_call_keep_alive(call);
		follow->said_ns = rf_loop_now();
	}
	ask_on(call);
}

/* Nothing more is asked for while a client does not read. */
static void ask_later(struct rf_api_call *call)
{
	const struct follow *follow = call->extra;

	rf_event_again(call->timer, rf_loop_now() + follow->pause_ms * MS);
}

static void give(struct rf_api_call *call, const struct rf_wire_message *answer)
{
	struct follow *follow = call->extra;
	struct rf_audit_ask_row row;
	struct rf_audit_ask_reader reader;
	bool has_come = false;
	struct rf_err err = RF_ERR_INIT;

	rf_audit_ask_read_init(&reader, answer->body, answer->len);
	while (rf_audit_ask_read(&reader, &row, &err) > 0) {
		if (!call->is_stream)
			begin(call, row.before);
		say(call, "audit", row.cursor, row.json);
		has_come = true;
	}
	if (err.code < 0) {
		rf_api_call_fail_with(call, &err, NULL);
		return;
	}
	if (!call->is_stream)
		begin(call, row.cursor);
	snprintf(follow->ask.cursor, sizeof(follow->ask.cursor), "%s", row.cursor);
	follow->pause_ms = has_come                           ? SOON_MS
			   : 2 * follow->pause_ms > SELDOM_MS ? SELDOM_MS
							      : 2 * follow->pause_ms;
	if (is_over(call))
		return;
	if (row.has_more && !rf_api_call_is_full(call))
		ask_on(call);
	else
		ask_later(call);
}

/* A clerk that died, or is asked too much, is no reason to go: the cursor holds. */
static void on_told(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct follow *follow = call->extra;

	call->petition = NULL;
	if (answer) {
		give(call, answer);
	} else if (call->is_stream &&
		   (why->code == -ECONNRESET || why->code == -EAGAIN || why->code == -ETIMEDOUT)) {
		follow->pause_ms = SELDOM_MS;
		ask_later(call);
	} else {
		rf_api_call_fail_with(call, why, NULL);
	}
}

static void ask_on(struct rf_api_call *call)
{
	const struct follow *follow = call->extra;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, BODY_MOST);
	if (rf_api_call_is_full(call)) {
		ask_later(call);
		return;
	}
	rf_audit_ask_put_events(&follow->ask, &body);
	rf_ask_clerk(call, RF_CLERK_FOLLOW, &body, on_told);
}

/* ------------------------------------------------------------- its start */

static unsigned count_of_tenant(const struct rf_front *front, const char *tenant)
{
	unsigned count = 0;

	for (const struct rf_holder *holder = front->holders; holder; holder = holder->next)
		if (strcmp(holder->pass.tenant, tenant) == 0)
			count += holder->followers;
	return count;
}

static bool is_room_for(struct rf_api_call *call, struct follow *follow)
{
	struct rf_api_error error;
	bool is_own = call->holder->followers >= FOLLOWERS_OF_ONE;
	bool is_tenants =
		count_of_tenant(call->front, call->holder->pass.tenant) >= FOLLOWERS_OF_TENANT;

	if (!is_own && !is_tenants && call->front->followers < FOLLOWERS) {
		follow->is_counted = true;
		call->front->followers++;
		call->holder->followers++;
		return true;
	}
	rf_api_error_say(&error, RF_API_TOO_MANY, NULL, "%d follow the log%s",
			 is_own       ? FOLLOWERS_OF_ONE
			 : is_tenants ? FOLLOWERS_OF_TENANT
				      : FOLLOWERS,
			 is_own       ? " with this key"
			 : is_tenants ? " with this tenant's keys"
				      : "");
	rf_api_error_hint(&error, "end one of them, or ask for pages");
	error.retry_s = 1;
	rf_api_call_fail(call, &error);
	return false;
}

void rf_follow_begin(struct rf_api_call *call, const struct rf_audit_ask_events *ask)
{
	struct follow *follow = call->extra;
	struct rf_api_error error;
	struct rf_err err = RF_ERR_INIT;

	if (!follow) {
		rf_exchange_abort(call->x);
		return;
	}
	if (ask->until[0]) {
		rf_api_error_say(&error, RF_API_INVALID, "until",
				 "until: a stream goes on, so it has no end");
		rf_api_error_hint(&error, "leave it out, or ask for pages: without "
					  "Accept: text/event-stream");
		rf_api_call_fail(call, &error);
		return;
	}
	call->on_gone = on_gone;
	follow->ask = *ask;
	follow->ask.limit = PAGE;
	follow->pause_ms = SOON_MS;
	if (follow->last[0])
		memcpy(follow->ask.cursor, follow->last, sizeof(follow->ask.cursor));
	else if (!ask->cursor[0] && !ask->since[0]) /* from now on */
		snprintf(follow->ask.cursor, sizeof(follow->ask.cursor), "%s", RF_AUDIT_ASK_END);
	if (!is_room_for(call, follow))
		return;
	/* Set before the first answer needs it, and far away until then. */
	if (rf_loop_timer(call->front->loop, UINT64_MAX / 2, on_time, call, &call->timer, &err) < 0)
		rf_api_call_fail_with(call, &err, NULL);
	else
		ask_on(call);
}
