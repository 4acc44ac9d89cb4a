/* What is recorded of a tenant, and its breakers; asked of the clerk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "server/ask-clerk.h"
#include "server/audit-ask.h"
#include "server/follow.h"
#include "server/form.h"
#include "server/handlers.h"

#define BODY_MOST 4096

void rf_serve_audit(struct rf_api_call *call)
{
	struct rf_audit_ask_events ask = { .limit = 100 };
	const struct {
		const char *name;
		char *text;
	} words[] = {
		{ "since", ask.since }, { "until", ask.until },     { "kind", ask.kind },
		{ "box", ask.box },     { "verdict", ask.verdict }, { "cursor", ask.cursor }
	};
	char limit[16] = "", *end = NULL;
	struct rf_api_error error;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, BODY_MOST);
	for (size_t i = 0; i < RF_LEN(words); i++)
		if (rf_api_call_parameter(call, words[i].name, words[i].text, RF_AUDIT_ASK_WORD,
					  &error) < 0) {
			rf_api_call_fail(call, &error);
			return;
		}
	if (rf_api_call_parameter(call, "limit", limit, sizeof(limit), &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	if (limit[0]) {
		unsigned long number = strtoul(limit, &end, 10);

		if (limit[0] < '1' || limit[0] > '9' || *end || number > RF_AUDIT_ASK_MOST) {
			rf_api_error_say(&error, RF_API_INVALID, "limit",
					 "limit: it is a number from 1 to %d", RF_AUDIT_ASK_MOST);
			rf_api_call_fail(call, &error);
			return;
		}
		ask.limit = (uint32_t)number;
	}
	if (call->wants_stream && !call->is_head) {
		rf_follow_begin(call, &ask);
		return;
	}
	rf_audit_ask_put_events(&ask, &body);
	rf_ask_clerk_json(call, RF_CLERK_AUDIT, &body, false);
}

/* ------------------------------------------------------------- breakers */

void rf_serve_breaker_list(struct rf_api_call *call)
{
	rf_ask_clerk_json(call, RF_CLERK_BREAKERS, NULL, false);
}

static void ask_breaker(struct rf_api_call *call, struct rf_audit_ask_breaker *ask)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, BODY_MOST);
	snprintf(ask->name, sizeof(ask->name), "%s", call->parts.part[0]);
	rf_audit_ask_put_breaker(ask, &body);
	rf_ask_clerk_json(call, RF_CLERK_BREAKER, &body, false);
}

void rf_serve_breaker_reset(struct rf_api_call *call)
{
	struct rf_audit_ask_breaker ask = { 0 };

	ask_breaker(call, &ask);
}

/* What may be said of an opening. */
struct trip {
	const char *reason;
	uint64_t seconds;
};

static const struct rf_form_field trip_fields[] = {
	{ "reason", RF_FORM_STRING, offsetof(struct trip, reason), 0, 100, false },
	{ "seconds", RF_FORM_NUMBER, offsetof(struct trip, seconds), 1, 31536000, false },
};

void rf_serve_breaker_trip(struct rf_api_call *call)
{
	struct rf_audit_ask_breaker ask = { .is_trip = true };
	struct rf_jsonread *json = NULL;
	struct rf_arena *arena = rf_arena_new();
	struct rf_api_error error;
	struct rf_err err = RF_ERR_INIT;
	struct trip trip = { 0 };
	int code = -1;

	if (!arena)
		rf_api_error_say(&error, RF_API_UNAVAILABLE, NULL, "there is no memory left");
	else if (rf_jsonread_parse(call->body.data ? call->body.data : "", call->body.len, &json,
				   &err) < 0)
		rf_api_error_say(&error, RF_API_MALFORMED, "body", "%s", err.msg);
	else
		code = rf_form_read(rf_jsonread_root(json), trip_fields, RF_LEN(trip_fields), &trip,
				    arena, "", &error);
	if (code == 0) {
		snprintf(ask.reason, sizeof(ask.reason), "%s", trip.reason ? trip.reason : "");
		ask.seconds = (uint32_t)trip.seconds;
		ask_breaker(call, &ask);
	} else {
		rf_api_call_fail(call, &error);
	}
	rf_jsonread_free(json);
	rf_arena_free(arena);
}
