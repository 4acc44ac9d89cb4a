/*
 * Heads on their way to a port of a sandbox and back.  What passes can be written again, has no key in it, and leads nowhere but where it may.  The first byte says which way, and
 * whether the client of an answer has no key.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/compose.h"
#include "http/url-path.h"
#include "replay.h"
#include "server/transit.h"

#define PREFIX "/v1/sandboxes/a/ports/80"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Fields that must not pass, either way or this one. */
static void check(struct rf_fields fields, const char *const *never, size_t count)
{
	for (size_t i = 0; i < fields.count; i++)
		for (size_t k = 0; k < count; k++)
			require(!rf_span_is_like(fields.at[i].name, rf_span_of(never[k])));
}

static void write_again(struct rf_fields fields)
{
	static const struct rf_authority nobody = { .host.text = "localhost", .host.len = 9 };
	struct rf_compose head;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	rf_compose_request(&head, &out, RF_SPAN("GET"), RF_SPAN("/"), &nobody);
	for (size_t i = 0; i < fields.count; i++)
		rf_compose_field(&head, fields.at[i].name, fields.at[i].value);
	require(rf_compose_end(&head) == RF_FAULT_NONE);
}

static void pass_up(const struct rf_http1_head *head)
{
	static const char *const never[] = { "x-api-key",      "authorization",
					     "connection",     "host",
					     "content-length", "transfer-encoding",
					     "x-forwarded-for" };
	struct rf_api_error error = { 0 };
	struct rf_transit *transit = NULL;
	struct rf_span path = head->start.url.path;

	if (path.len <= strlen(PREFIX) || memcmp(path.at, PREFIX "/", sizeof(PREFIX)) != 0)
		return;
	if (rf_transit_request(head, PREFIX, 80, (struct rf_transit_key){ true, true }, false,
			       &transit, &error) < 0) {
		require(error.message[0]);
		return;
	}
	require(transit->target.len > 0 && transit->target.at[0] == '/');
	check((struct rf_fields){ transit->fields, transit->count }, never, RF_LEN(never));
	for (size_t i = 0; i < transit->count; i++)
		require(!memchr(transit->fields[i].name.at, '_', transit->fields[i].name.len));
	write_again((struct rf_fields){ transit->fields, transit->count });
	rf_transit_free(transit);
}

/* What a client with a key follows: beneath the prefix, also for one that resolves it again as a browser does. */
static void check_path(struct rf_span place)
{
	struct rf_span path = rf_span_part(place, 0, rf_span_find(place, '?'));
	struct rf_url_path form;
	char room[1 << 17];

	path = rf_span_part(path, 0, rf_span_find(path, '#'));
	require(path.len >= sizeof(PREFIX) && memcmp(path.at, PREFIX "/", sizeof(PREFIX)) == 0);
	if (path.len > sizeof(room) / 3)
		return;
	require(rf_url_path_read(path, room, sizeof(room), &form) == RF_FAULT_NONE);
	require(rf_span_is(form.text, path) && !(form.odd & RF_URL_PATH_DOTS));
}

static bool is_value_of(struct rf_fields fields, struct rf_span value)
{
	for (size_t i = 0; i < fields.count; i++)
		if (rf_span_is_like(fields.at[i].name, RF_SPAN("location")) &&
		    rf_span_is(fields.at[i].value, value))
			return true;
	return false;
}

static void pass_down(const struct rf_http1_head *head, bool has_key)
{
	static const char *const never[] = { "connection", "content-length", "transfer-encoding",
					     "strict-transport-security", "clear-site-data" };
	struct rf_transit transit = { .memory = rf_arena_new(),
				      .port = 80,
				      .target = RF_SPAN("/a/b?c"),
				      .has_key = has_key };
	struct rf_field fields[RF_TRANSIT_FIELDS];
	char prefix[] = PREFIX;
	int count;

	transit.prefix = prefix;
	count = rf_transit_answer(&transit, head, fields);
	require(count > 0 && count < RF_TRANSIT_FIELDS);
	check((struct rf_fields){ fields, (size_t)count }, never, RF_LEN(never));
	for (int i = 0; i < count; i++) {
		struct rf_span value = fields[i].value;

		if (rf_span_is_like(fields[i].name, RF_SPAN("set-cookie")))
			require(value.len > sizeof(PREFIX) &&
				memcmp(value.at + value.len - sizeof(PREFIX), PREFIX "/",
				       sizeof(PREFIX)) == 0);
		if (rf_span_is_like(fields[i].name, RF_SPAN("location")) && has_key)
			check_path(value);
		if (rf_span_is_like(fields[i].name, RF_SPAN("x-ringfort-location")))
			require(has_key && is_value_of(head->fields, value));
	}
	write_again((struct rf_fields){ fields, (size_t)count });
	rf_arena_free(transit.memory);
}

RF_FUZZ(data, size)
{
	static const struct rf_framing_asked asked = { 0 };
	struct rf_field fields[100];
	struct rf_http1 http;
	size_t used;

	if (size < 1)
		return 0;
	rf_http1_init(&http, &rf_http1_usual, fields, RF_LEN(fields));
	if (data[0] & 1)
		rf_http1_begin_response(&http, &asked);
	else
		rf_http1_begin_request(&http);
	if (rf_http1_next(&http, (struct rf_span){ (const char *)data + 1, size - 1 }, &used) !=
	    RF_HTTP1_HEAD)
		return 0;
	if (data[0] & 1)
		pass_down(&http.head, !(data[0] & 2));
	else
		pass_up(&http.head);
	return 0;
}
