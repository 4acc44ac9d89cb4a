/* What passes between a client and a port of a sandbox: see transit.h. */
#include "server/transit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "server/proxy-location.h"
#include "server/upgrade.h"

/* What ends here, in both directions: it is about a connection, or is written from what was read. */
static const char *const of_connections[] = {
	"connection",
	"keep-alive",
	"proxy-connection",
	"te",
	"trailer",
	"transfer-encoding",
	"upgrade",
	"content-length",
	"host",
	"expect",
	"proxy-authenticate",
	"proxy-authorization",
};

/* What a client says of itself on the way here is no business of the program's, or is the server's. */
static const char *const of_requests[] = {
	"x-api-key",          "forwarded",
	"x-forwarded-for",    "x-forwarded-host",
	"x-forwarded-proto",  "x-forwarded-port",
	"x-forwarded-prefix", "x-forwarded-server",
	"x-real-ip",          "via",
};

/* What would hold for all of this server's names and ports, or be reported elsewhere. */
static const char *const of_answers[] = {
	"strict-transport-security",
	"public-key-pins",
	"public-key-pins-report-only",
	"clear-site-data",
	"alt-svc",
	"service-worker-allowed",
	"expect-ct",
	"nel",
	"report-to",
	"reporting-endpoints",
	"set-cookie2",
	"x-request-id",
	"access-control-allow-origin", /* which pages may read it is this server's to say */
	"access-control-allow-credentials",
	"access-control-expose-headers",
};

static bool is_among(struct rf_span name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rf_span_is_like(name, rf_span_of(names[i])))
			return true;
	return false;
}

/* Named by Connection, a field is about the connection, whatever it is. */
static bool is_named(struct rf_fields fields, struct rf_span name)
{
	for (size_t i = 0; i < fields.count; i++) {
		struct rf_span list = fields.at[i].value, token;

		if (!rf_span_is_like(fields.at[i].name, RF_SPAN("connection")))
			continue;
		while (rf_field_next_token(&list, &token) > 0)
			if (rf_span_is_like(token, name))
				return true;
	}
	return false;
}

static bool ends_here(struct rf_fields fields, struct rf_span name)
{
	return is_among(name, of_connections, RF_LEN(of_connections)) || is_named(fields, name);
}

static struct rf_span keep(struct rf_arena *memory, struct rf_span text)
{
	char *copy = rf_arena_alloc(memory, text.len + 1);

	if (copy && text.len > 0)
		memcpy(copy, text.at, text.len);
	return (struct rf_span){ copy, copy ? text.len : 0 };
}

/* ------------------------------------------------------------- requests */

/* Keys that came as names of protocols are left out. */
static struct rf_span keep_protocols(struct rf_arena *memory, struct rf_span list)
{
	char *text = rf_arena_alloc(memory, 2 * list.len + 1);
	struct rf_span name;
	size_t len = 0;

	while (text && rf_upgrade_next(&list, &name) > 0) {
		if (len > 0) {
			text[len++] = ',';
			text[len++] = ' ';
		}
		memcpy(text + len, name.at, name.len);
		len += name.len;
	}
	return (struct rf_span){ text, len };
}

static int add_field(struct rf_transit *t, struct rf_field field, struct rf_api_error *error)
{
	if (t->count >= RF_TRANSIT_FIELDS - 1)
		return rf_api_error_say(error, RF_API_MALFORMED, NULL, "too many fields");
	t->fields[t->count++] = field;
	return 0;
}

static int read_field(struct rf_transit *t, const struct rf_http1_head *head,
		      const struct rf_field *field, bool hides_authorization,
		      struct rf_api_error *error)
{
	struct rf_field copy;

	if (memchr(field->name.at, '_', field->name.len)) {
		rf_api_error_say(
			error, RF_API_MALFORMED, NULL, "a field's name has an underscore: `%.*s`",
			(int)(field->name.len < 60 ? field->name.len : 60), field->name.at);
		return rf_api_error_hint(error, "programs take it for a hyphen: use one");
	}
	if (ends_here(head->fields, field->name) ||
	    is_among(field->name, of_requests, RF_LEN(of_requests)) ||
	    (hides_authorization && rf_span_is_like(field->name, RF_SPAN("authorization"))))
		return 0;
	copy.name = keep(t->memory, field->name);
	if (rf_span_is_like(field->name, RF_SPAN("sec-websocket-protocol"))) {
		copy.value = keep_protocols(t->memory, field->value);
		if (copy.value.len == 0)
			return 0;
	} else {
		copy.value = keep(t->memory, field->value);
	}
	return add_field(t, copy, error);
}

int rf_transit_request(const struct rf_http1_head *head, const char *prefix, uint16_t port,
		       struct rf_transit_key key, bool is_websocket,
		       struct rf_transit **ret_transit, struct rf_api_error *error)
{
	struct rf_transit *t = calloc(1, sizeof(*t));
	struct rf_span path = head->start.url.path, target = head->start.target, rest;
	int code = 0;

	if (t)
		t->memory = rf_arena_new();
	if (!t || !t->memory) {
		free(t);
		return rf_api_error_say(error, RF_API_UNAVAILABLE, NULL, "there is no memory left");
	}
	t->port = port;
	t->is_websocket = is_websocket;
	t->has_key = key.is_shown;
	t->authority = head->authority;
	t->body = head->framing.body;
	t->length = head->framing.length;
	t->prefix = rf_arena_copy(t->memory, prefix);
	t->method = keep(t->memory, head->start.method);
	/* The target may be a whole URL. */
	rest = rf_span_part(path, strlen(prefix), path.len);
	rest.len = (size_t)(target.at + target.len - rest.at);
	t->target = keep(t->memory, rest);
	for (size_t i = 0; code == 0 && i < head->fields.count; i++)
		code = read_field(t, head, &head->fields.at[i], key.is_authorization, error);
	if (code == 0)
		code = add_field(t,
				 (struct rf_field){ RF_SPAN("X-Forwarded-Prefix"),
						    rf_span_of(t->prefix ? t->prefix : "") },
				 error);
	if (code == 0 && t->memory->has_failed)
		code = rf_api_error_say(error, RF_API_UNAVAILABLE, NULL, "there is no memory left");
	if (code < 0) {
		rf_transit_free(t);
		return -1;
	}
	*ret_transit = t;
	return 0;
}

void rf_transit_free(struct rf_transit *transit)
{
	if (!transit)
		return;
	rf_arena_free(transit->memory);
	free(transit);
}

/* ------------------------------------------------------------- answers */

/* Leads through here, where it leads to the port. */
static bool is_own_place(struct rf_transit *t, struct rf_span place, struct rf_span *ret_path)
{
	const struct rf_proxy_location_base base = {
		.prefix = t->prefix, .port = t->port, .target = t->target, .authority = t->authority
	};

	return rf_proxy_location_read(&base, place, t->memory, ret_path);
}

static size_t count_of(struct rf_fields fields, struct rf_span name)
{
	size_t count = 0;

	for (size_t i = 0; i < fields.count; i++)
		count += rf_span_is_like(fields.at[i].name, name);
	return count;
}

/*
 * A field with an address.  One that leads away from the port is handed to a client with a key as a field that nothing
 * follows by itself: who reads it decides.  So are two addresses, since clients differ in which of them they take.
 */
static void turn(struct rf_transit *t, struct rf_fields fields, struct rf_field *field)
{
	struct rf_span path;
	bool is_redirect = rf_span_is_like(field->name, RF_SPAN("location"));
	bool is_own = is_own_place(t, field->value, &path);

	if (is_redirect && t->has_key && (!is_own || count_of(fields, field->name) > 1))
		field->name = RF_SPAN(RF_TRANSIT_LOCATION);
	else if (is_own)
		field->value = path;
}

static bool begins_like(struct rf_span text, struct rf_span word)
{
	return text.len >= word.len && rf_span_is_like(rf_span_part(text, 0, word.len), word);
}

/*
 * What a cookie may say of itself besides its value.  Anything else is left out, because clients trim more than spaces: to some
 * of them a no-break space and `Path` is a path, and the first path counts.
 */
static bool is_cookie_word(struct rf_span part)
{
	static const char *const words[] = { "expires",  "max-age",     "secure",  "httponly",
					     "samesite", "partitioned", "priority" };

	return is_among(rf_span_trim(rf_span_part(part, 0, rf_span_find(part, '='))), words,
			RF_LEN(words));
}

/* A cookie holds for the port's path, on the host that it came from, and nowhere else. */
static struct rf_span bind_cookie(struct rf_transit *t, struct rf_span cookie)
{
	static const char before[] = "; Path=";
	/* A semicolon may become one and a space. */
	char *text =
		rf_arena_alloc(t->memory, 2 * cookie.len + strlen(t->prefix) + sizeof(before) + 2);
	size_t len = 0, prefix_len = strlen(t->prefix);

	if (!text)
		return (struct rf_span){ NULL, 0 };
	while (cookie.len > 0) {
		size_t end = rf_span_find(cookie, ';');
		struct rf_span part = rf_span_trim(rf_span_part(cookie, 0, end));

		cookie = rf_span_part(cookie, end + 1, cookie.len);
		if (len > 0 && !is_cookie_word(part))
			continue;
		if (len > 0) {
			text[len++] = ';';
			text[len++] = ' ';
		}
		memcpy(text + len, part.at, part.len);
		len += part.len;
		if (len == 0)
			break; /* no name: it is none */
	}
	memcpy(text + len, before, sizeof(before) - 1);
	len += sizeof(before) - 1;
	memcpy(text + len, t->prefix, prefix_len);
	len += prefix_len;
	text[len++] = '/';
	return (struct rf_span){ text, len };
}

int rf_transit_answer(struct rf_transit *transit, const struct rf_http1_head *head,
		      struct rf_field *fields)
{
	size_t count = 0;

	for (size_t i = 0; i < head->fields.count; i++) {
		struct rf_field field = head->fields.at[i];

		if (ends_here(head->fields, field.name) ||
		    is_among(field.name, of_answers, RF_LEN(of_answers)))
			continue;
		if (count >= RF_TRANSIT_FIELDS - 2)
			return -E2BIG;
		/* Names of this server's own fields, from a program, would be a lie. */
		if (begins_like(field.name, RF_SPAN("x-ringfort-")))
			continue;
		if (transit->has_key && rf_span_is_like(field.name, RF_SPAN("refresh")) &&
		    !rf_proxy_location_is_bare_refresh(field.value))
			continue;
		if (rf_span_is_like(field.name, RF_SPAN("location")) ||
		    rf_span_is_like(field.name, RF_SPAN("content-location")))
			turn(transit, head->fields, &field);
		if (rf_span_is_like(field.name, RF_SPAN("set-cookie")))
			field.value = bind_cookie(transit, field.value);
		fields[count++] = field;
	}
	fields[count++] = (struct rf_field){ RF_SPAN("Content-Security-Policy"),
					     RF_SPAN(RF_TRANSIT_SANDBOX) };
	return transit->memory->has_failed ? -ENOMEM : (int)count;
}
