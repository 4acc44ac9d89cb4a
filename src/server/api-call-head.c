/* What a request of the API says in its head and in its target: see api-call-inside.h. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/fd.h"
#include "base/json.h"
#include "server/api-call-inside.h"
#include "server/api-key.h"
#include "server/front.h"
#include "server/herald-word.h"
#include "server/holder.h"
#include "server/transit.h"
#include "wire/wire.h"

struct rf_span rf_api_call_value(const struct rf_http1_head *head, struct rf_span name)
{
	const struct rf_field *field = rf_field_find(head->fields, name);

	return field ? field->value : (struct rf_span){ NULL, 0 };
}

struct rf_span rf_api_call_bearer(const struct rf_http1_head *head)
{
	struct rf_span value = rf_api_call_value(head, RF_SPAN("Authorization"));

	if (value.len > 7 && rf_span_is_like(rf_span_part(value, 0, 7), RF_SPAN("Bearer ")))
		return rf_span_trim(rf_span_part(value, 7, value.len));
	return (struct rf_span){ NULL, 0 };
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
void rf_api_call_name(struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_span own = rf_api_call_value(head, RF_SPAN("X-Request-Id"));
	struct rf_span trace = rf_api_call_value(head, RF_SPAN("traceparent"));
	uint8_t chance[RF_TRACE_CHANCE] = { 1 };

	if (getrandom(chance, sizeof(chance), GRND_NONBLOCK) < 0)
		memcpy(chance + 16, &call->id, sizeof(call->id));
	rf_trace_begin(trace, chance, &call->trace);
	rf_trace_format(&call->trace, call->part);
	if (own.at && is_plain(own, sizeof(call->request_id) - 1))
		memcpy(call->request_id, own.at, own.len);
	else
		snprintf(call->request_id, sizeof(call->request_id), "%s", call->trace.span);
	if (trace.len == 55 && is_plain(trace, 55))
		memcpy(call->traceparent, trace.at, trace.len);
}

/* Which of two keys or origins would count is anybody's guess, and another's on the way here may be a different one. */
int rf_api_call_check_fields(const struct rf_http1_head *head, struct rf_api_error *error)
{
	static const char *const names[] = { "Authorization", "X-API-Key", "Origin" };
	size_t counts[RF_LEN(names)] = { 0 };

	for (size_t i = 0; i < head->fields.count; i++)
		for (size_t k = 0; k < RF_LEN(names); k++)
			if (rf_span_is_like(head->fields.at[i].name, rf_span_of(names[k])) &&
			    counts[k]++)
				return rf_api_error_say(error, RF_API_MALFORMED, names[k],
							"%s: it is there twice", names[k]);
	return 0;
}

/*
 * Whom a request on a port is for must be an address, localhost or a name that we were told: a page whose name leads here (DNS rebinding) names itself.
 * Where a page asks, it must be one of ours.
 */
int rf_api_call_check_names(const struct rf_api_call *call, const struct rf_http1_head *head,
			    struct rf_api_error *error)
{
	const struct rf_pass_rules *rules = &call->front->rules;
	struct rf_span origin = rf_api_call_value(head, RF_SPAN("Origin"));
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

int rf_api_call_check_type(const struct rf_api_call *call, const struct rf_http1_head *head,
			   struct rf_api_error *error)
{
	struct rf_span type = rf_api_call_value(head, RF_SPAN("Content-Type"));
	size_t end = type.at ? rf_span_find(type, ';') : 0;
	struct rf_span media = rf_span_trim(rf_span_part(type, 0, end));

	if (head->framing.body == RF_BODY_NONE || (call->route->how & RF_ROUTE_ANY_TYPE))
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

bool rf_api_call_accepts(struct rf_span accept, struct rf_span type)
{
	for (size_t i = 0; i + type.len <= accept.len; i++)
		if (rf_span_is_like(rf_span_part(accept, i, type.len), type))
			return true;
	return false;
}

static void copy(struct rf_span value, char *to, size_t size)
{
	if (value.len < size && value.len > 0)
		memcpy(to, value.at, value.len);
}

/* A part of what may have changed meanwhile (If-Range) is not worth the question: it is given as a whole. */
void rf_api_call_note(struct rf_api_call *call, const struct rf_http1_head *head)
{
	struct rf_span accept = rf_api_call_value(head, RF_SPAN("Accept"));

	call->wants_stream = rf_api_call_accepts(accept, RF_SPAN("text/event-stream"));
	call->wants_raw = !call->wants_stream &&
			  rf_api_call_accepts(accept, RF_SPAN("application/octet-stream"));
	call->is_head = rf_span_is(head->start.method, RF_SPAN("HEAD"));
	copy(rf_api_call_value(head, RF_SPAN("Content-Type")), call->type, sizeof(call->type));
	if (!rf_api_call_value(head, RF_SPAN("If-Range")).at)
		copy(rf_api_call_value(head, RF_SPAN("Range")), call->range, sizeof(call->range));
}

/*
 * How a request to a port shows a key.  Authorization is the program's where the key comes in another field, or where none is
 * needed; but never where it has the key itself: a client may send one key in both fields, or by habit to the unix socket.
 */
static struct rf_transit_key find_key(const struct rf_api_call *call,
				      const struct rf_http1_head *head)
{
	struct rf_span field = rf_api_call_value(head, RF_SPAN("X-API-Key"));
	struct rf_span other = field.len ? field : rf_span_of(call->upgrade.token);
	struct rf_span bearer = rf_api_call_bearer(head);
	bool is_ours = rf_span_is(rf_span_part(bearer, 0, strlen(RF_API_KEY_MARK)),
				  RF_SPAN(RF_API_KEY_MARK));
	bool is_authorization = other.len        ? bearer.len && rf_span_is(bearer, other)
				: call->is_local ? is_ours
						 : true;

	return (struct rf_transit_key){ .is_shown =
						!call->is_local || other.len || is_authorization,
					.is_authorization = is_authorization };
}

/* What follows the port in its target is asked for inside.  The key goes no further, in whatever field it came. */
int rf_api_call_keep_head(struct rf_api_call *call, const struct rf_http1_head *head,
			  struct rf_api_error *error)
{
	unsigned long long port = 0;
	char prefix[2 * RF_ROUTE_PART + 32];

	if (rf_span_number(rf_span_of(call->parts.part[1]), UINT16_MAX, &port) != 0 || port == 0 ||
	    call->parts.part[1][0] == '0')
		return rf_api_error_say(error, RF_API_NOT_FOUND, "port",
					"port: it is no number from 1 to 65535");
	snprintf(prefix, sizeof(prefix), "/v1/sandboxes/%s/ports/%s", call->parts.part[0],
		 call->parts.part[1]);
	return rf_transit_request(head, prefix, (uint16_t)port, find_key(call, head),
				  call->upgrade.is_websocket, &call->transit, error);
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
int rf_api_call_check_query(const struct rf_api_call *call, struct rf_api_error *error)
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

void rf_api_call_tell_span(const struct rf_api_call *call)
{
	const struct rf_pass_holder *pass = call->holder ? &call->holder->pass : NULL;
	struct rf_herald_span span = { .status = call->status,
				       .took_ns = rf_loop_now() - call->since_ns };
	struct timespec now = { 0 };
	struct rf_err ignored = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 4096);
	if (!call->front->rules.tells_spans || !call->route || !call->route->path[0])
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	span.start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - span.took_ns;
	memcpy(span.trace, call->trace.id, sizeof(span.trace));
	memcpy(span.span, call->trace.span, sizeof(span.span));
	memcpy(span.parent, call->trace.parent, sizeof(span.parent));
	snprintf(span.name, sizeof(span.name), "%s %s", call->route->method, call->route->path);
	snprintf(span.tenant, sizeof(span.tenant), "%s", pass ? pass->tenant : "");
	snprintf(span.request, sizeof(span.request), "%s", call->request_id);
	rf_herald_word_put_span(&span, &body);
	rf_wire_send(call->front->host, RF_WIRE_HERALD_SPAN, 0, body.data, body.len, NULL, 0,
		     &ignored);
}
