/*
 * Heads of any parts: divided at NUL, method, target, host, then names and values.  What is written at all is read back as exactly one
 * message with these parts.  The first byte says how the body is announced, and whether it is a response.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "http/compose.h"
#include "http/http1.h"
#include "replay.h"

#define FIELDS 16

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct rf_span take(struct rf_span *rest)
{
	size_t len = rf_span_find(*rest, '\0');
	struct rf_span part = rf_span_part(*rest, 0, len);

	*rest = rf_span_part(*rest, len + 1, rest->len);
	return part;
}

/* Reads it back: nothing is left, and each field is there again behind the `own` ones. */
static void read_back(const struct rf_buf *out, bool is_response, unsigned body,
		      const struct rf_field *fields, size_t count)
{
	static const struct rf_framing_asked asked;
	struct rf_field room[FIELDS + 4];
	struct rf_http1 http;
	enum rf_http1_event event;
	size_t used, own = is_response ? 0 : 1;

	rf_http1_init(&http, &rf_http1_usual, room, FIELDS + 4);
	if (is_response)
		rf_http1_begin_response(&http, &asked);
	else
		rf_http1_begin_request(&http);
	event = rf_http1_next(&http, (struct rf_span){ out->data, out->len }, &used);
	if (event ==
	    RF_HTTP1_BAD) /* rules about known fields: the writer does not know their grammar */
		require(http.fault == RF_FAULT_CONNECTION || http.fault == RF_FAULT_EXPECT ||
			http.fault == RF_FAULT_TARGET_FORM || http.fault == RF_FAULT_SCHEME ||
			http.fault == RF_FAULT_TARGET_METHOD || http.fault == RF_FAULT_USERINFO ||
			(http.fault >= RF_FAULT_HOST_EMPTY && http.fault <= RF_FAULT_PORT) ||
			http.fault == RF_FAULT_HOST_DIFFERS ||
			http.fault == RF_FAULT_BODY_UNWANTED || http.fault == RF_FAULT_SWITCH);
	else
		require(event == RF_HTTP1_HEAD && used == out->len &&
			http.head.fields.count == own + count + (body ? 1 : 0));
	for (size_t i = 0; event == RF_HTTP1_HEAD && i < count; i++)
		require(rf_span_is(http.head.fields.at[own + i].name, fields[i].name) &&
			rf_span_is(http.head.fields.at[own + i].value, fields[i].value));
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_span rest, method, target;
	struct rf_authority authority = { 0 };
	struct rf_field fields[FIELDS];
	struct rf_compose head;
	size_t count = 0;

	if (size < 1 || size > 8192)
		return 0;
	rest = (struct rf_span){ (const char *)data + 1, size - 1 };
	rf_buf_init(&out, 16384);
	method = take(&rest);
	target = take(&rest);
	if (rf_url_parse_authority(take(&rest), &authority))
		authority = (struct rf_authority){ 0 };
	if (data[0] & 4)
		rf_compose_response(&head, &out, 200u + data[0], method);
	else
		rf_compose_request(&head, &out, method, target, &authority);
	for (; rest.len > 0 && count < FIELDS; count++) {
		fields[count].name = take(&rest);
		fields[count].value = take(&rest);
		rf_compose_field(&head, fields[count].name, fields[count].value);
	}
	if (data[0] & 1)
		rf_compose_length(&head, size);
	if (data[0] & 2)
		rf_compose_chunked(&head);
	if (rf_compose_end(&head))
		require(out.len == 0);
	else
		read_back(&out, data[0] & 4, data[0] & 3, fields, count);
	return 0;
}
