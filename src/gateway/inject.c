/* A credential's value, put into a request: see inject.h. */
#include "gateway/inject.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "gateway/aws-sign.h"

#define VALUE_MAX (64 * 1024)

void rf_inject_wipe(struct rf_inject_wiped *wiped)
{
	for (size_t i = 0; i < wiped->count; i++)
		explicit_bzero(wiped->places[i].at, wiped->places[i].len);
	wiped->count = 0;
}

/* Moves what a buffer holds into the message's arena, and wipes the buffer. */
static struct rf_span keep(struct rf_forward_message *request, struct rf_buf *buf,
			   struct rf_inject_wiped *wiped)
{
	char *copy = buf->has_failed ? NULL : rf_arena_alloc(request->arena, buf->len + 1);
	struct rf_span span = { copy, buf->len };

	if (copy && wiped->count == RF_INJECT_SECRETS)
		copy = NULL;
	if (copy) {
		memcpy(copy, buf->data, buf->len);
		wiped->places[wiped->count].at = copy;
		wiped->places[wiped->count++].len = buf->len;
	}
	if (buf->data)
		explicit_bzero(buf->data, buf->len);
	return copy ? span : (struct rf_span){ NULL, 0 };
}

/* A template with {} in it. */
static void fill_in(const char *format, struct rf_span value, struct rf_buf *out)
{
	const char *at = strstr(format, "{}");

	rf_buf_add(out, format, at ? (size_t)(at - format) : strlen(format));
	if (at) {
		rf_buf_add(out, value.at, value.len);
		rf_buf_puts(out, at + 2);
	}
}

static int put(struct rf_forward_message *request, struct rf_span name, struct rf_span value,
	       struct rf_err *err)
{
	if (!value.at || !rf_forward_put(request, name, value))
		return rf_fail_say(err, -ENOMEM, "no room for a credential");
	return 0;
}

static int put_header(const struct rf_net_credential *credential, struct rf_span value,
		      struct rf_forward_message *request, struct rf_inject_wiped *wiped,
		      struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, VALUE_MAX);
	rf_buf_reserve(&text, VALUE_MAX / 2); /* so that no copy is left behind when it grows */
	fill_in(credential->format, value, &text);
	return put(request, rf_span_of(credential->field), keep(request, &text, wiped), err);
}

static int put_basic(const struct rf_net_credential *credential, struct rf_span value,
		     struct rf_forward_message *request, struct rf_inject_wiped *wiped,
		     struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf plain, coded;

	rf_buf_init(&plain, VALUE_MAX);
	rf_buf_init(&coded, 2 * VALUE_MAX);
	rf_buf_reserve(&plain, VALUE_MAX / 2);
	rf_buf_reserve(&coded, VALUE_MAX);
	fill_in(credential->format, value, &plain);
	rf_buf_puts(&coded, "Basic ");
	if (!plain.has_failed) {
		rf_base64_encode(plain.data, plain.len, &coded);
		explicit_bzero(plain.data, plain.len);
	}
	return put(request, RF_SPAN("Authorization"), keep(request, &coded, wiped), err);
}

static void put_percent(struct rf_span text, struct rf_buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		    c == '-' || c == '.' || c == '_' || c == '~')
			rf_buf_add(out, &c, 1);
		else
			rf_buf_printf(out, "%%%02X", (unsigned char)c);
	}
}

/* All parameters but ours as they were, and ours at the end. */
static int put_query(const struct rf_net_credential *credential, struct rf_span value,
		     struct rf_forward_message *request, struct rf_inject_wiped *wiped,
		     struct rf_err *err)
{
	struct rf_span rest = request->has_query ? request->query : RF_SPAN(""), kept;
	size_t len = strlen(credential->field);
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, 4 * VALUE_MAX);
	rf_buf_reserve(&text, rest.len + VALUE_MAX);
	while (rest.len > 0) {
		size_t end = rf_span_find(rest, '&');
		struct rf_span one = rf_span_part(rest, 0, end);

		rest = rf_span_part(rest, end < rest.len ? end + 1 : end, rest.len);
		if (one.len >= len && memcmp(one.at, credential->field, len) == 0 &&
		    (one.len == len || one.at[len] == '='))
			continue;
		rf_buf_add(&text, one.at, one.len);
		rf_buf_puts(&text, "&");
	}
	rf_buf_puts(&text, credential->field);
	rf_buf_puts(&text, "=");
	put_percent(value, &text);
	kept = keep(request, &text, wiped);
	if (!kept.at)
		return rf_fail_say(err, -ENOMEM, "no room for a credential");
	request->query = kept;
	request->has_query = true;
	return 0;
}

/* --- AWS --- */

/* What the program's own signature said of the body, if that can be said again. */
static bool is_known_payload(struct rf_span value)
{
	if (rf_span_is(value, RF_SPAN("UNSIGNED-PAYLOAD")))
		return true;
	for (size_t i = 0; i < value.len; i++)
		if (!((value.at[i] >= '0' && value.at[i] <= '9') ||
		      (value.at[i] >= 'a' && value.at[i] <= 'f')))
			return false;
	return value.len == RF_AWS_SIGN_HASH - 1;
}

static char *text_of(struct rf_forward_message *request, const char *text)
{
	return rf_arena_copy(request->arena, text);
}

/* ID:SECRET[:TOKEN] */
static bool divide(struct rf_span value, struct rf_aws_sign *sign, struct rf_span *ret_token)
{
	size_t first = rf_span_find(value, ':'), second;

	if (first == 0 || first == value.len)
		return false;
	sign->id = rf_span_part(value, 0, first);
	value = rf_span_part(value, first + 1, value.len);
	second = rf_span_find(value, ':');
	sign->secret = rf_span_part(value, 0, second);
	*ret_token = second < value.len ? rf_span_part(value, second + 1, value.len) : RF_SPAN("");
	return sign->secret.len > 0;
}

/* Takes the program's own signature away, and says anew what is signed. */
static int prepare(struct rf_forward_message *request, struct rf_aws_sign *sign,
		   struct rf_span token, time_t now, struct rf_inject_wiped *wiped,
		   struct rf_err *err)
{
	const struct rf_field *known = rf_forward_find(request, RF_SPAN("x-amz-content-sha256"));
	char date[RF_AWS_SIGN_DATE], hash[RF_AWS_SIGN_HASH];
	bool is_s3 = rf_span_is(sign->service, RF_SPAN("s3"));

	rf_forward_remove(request, RF_SPAN("authorization"));
	rf_forward_remove(request, RF_SPAN("x-amz-security-token"));
	rf_aws_sign_date(now, date);
	sign->date = rf_span_of(text_of(request, date));
	if (put(request, RF_SPAN("X-Amz-Date"), sign->date, err) < 0)
		return err->code;
	if (token.len > 0) {
		RF_AUTO_BUF struct rf_buf text;

		rf_buf_init(&text, VALUE_MAX);
		rf_buf_reserve(&text, token.len + 1);
		rf_buf_add(&text, token.at, token.len);
		if (put(request, RF_SPAN("X-Amz-Security-Token"), keep(request, &text, wiped),
			err) < 0)
			return err->code;
	}
	if (known && !is_known_payload(known->value))
		return rf_fail_say(err, -ENOTSUP,
				   "a body that is signed piece by piece can't be signed anew");
	if (known) {
		sign->payload = known->value;
		return 0;
	}
	rf_aws_sign_hash(request->gathered.at ? request->gathered : RF_SPAN(""), hash);
	sign->payload = rf_span_of(text_of(request, hash));
	return is_s3 ? put(request, RF_SPAN("X-Amz-Content-Sha256"), sign->payload, err) : 0;
}

static int put_signature(const struct rf_net_credential *credential, struct rf_span value,
			 struct rf_forward_message *request, time_t now,
			 struct rf_inject_wiped *wiped, struct rf_err *err)
{
	const struct rf_forward_place *place = request->place;
	struct rf_aws_sign sign = {
		.region = rf_span_of(credential->field),
		.service = rf_span_of(credential->format),
		.method = request->method,
		.path = request->path,
		.query = request->has_query ? request->query : RF_SPAN(""),
	};
	RF_AUTO_BUF struct rf_buf text;
	struct rf_span token;
	char *host;

	rf_buf_init(&text, VALUE_MAX);
	if (!divide(value, &sign, &token))
		return rf_fail_say(err, -EINVAL, "its value is not ID:SECRET or ID:SECRET:TOKEN");
	if (prepare(request, &sign, token, now, wiped, err) < 0)
		return err->code;
	/* As it is sent: see begin_call() in forward.c. */
	host = place->port == 443 ? text_of(request, place->host.text)
				  : rf_arena_printf(request->arena, "%s:%u", place->host.text,
						    (unsigned)place->port);
	if (!host || !sign.payload.at)
		return rf_fail(err, -ENOMEM, "sign");
	sign.host = rf_span_of(host);
	sign.fields = (struct rf_fields){ .at = request->fields, .count = request->count };
	if (rf_aws_sign_format(&sign, &text, err) < 0)
		return err->code;
	return put(request, RF_SPAN("Authorization"), keep(request, &text, wiped), err);
}

bool rf_inject_needs_body(const struct rf_net_credential *credential,
			  const struct rf_forward_message *request)
{
	return credential->how == RF_NET_SIGV4 && request->body != RF_BODY_NONE &&
	       !rf_forward_find(request, RF_SPAN("x-amz-content-sha256"));
}

int rf_inject_head(const struct rf_net_credential *credential, struct rf_span value,
		   struct rf_forward_message *request, time_t now, struct rf_inject_wiped *wiped,
		   struct rf_err *err)
{
	switch (credential->how) {
	case RF_NET_HEADER:
		return put_header(credential, value, request, wiped, err);
	case RF_NET_BASIC:
		return put_basic(credential, value, request, wiped, err);
	case RF_NET_QUERY:
		return put_query(credential, value, request, wiped, err);
	case RF_NET_SIGV4:
		return put_signature(credential, value, request, now, wiped, err);
	case RF_NET_BODY:
	case RF_NET_CERTIFICATE: /* the connection has shown it */
		break;
	}
	return 0;
}

/* --- bodies --- */

static void put_json(struct rf_span value, struct rf_buf *out)
{
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.at[i];

		if (c == '"' || c == '\\')
			rf_buf_printf(out, "\\%c", c);
		else if (c < ' ')
			rf_buf_printf(out, "\\u%04x", c);
		else
			rf_buf_add(out, &value.at[i], 1);
	}
}

int rf_inject_form(struct rf_span value, const struct rf_forward_message *request,
		   struct rf_buf *out)
{
	const struct rf_field *type = rf_forward_find(request, RF_SPAN("content-type"));
	struct rf_span kind =
		type ? rf_span_part(type->value, 0, rf_span_find(type->value, ';')) : RF_SPAN("");

	kind = rf_span_trim(kind);
	rf_buf_reserve(out, 6 * value.len + 1);
	if (rf_span_is_like(kind, RF_SPAN("application/x-www-form-urlencoded")))
		put_percent(value, out);
	else if (rf_span_is_like(kind, RF_SPAN("application/json")) ||
		 (kind.len > 5 &&
		  rf_span_is_like(rf_span_part(kind, kind.len - 5, 5), RF_SPAN("+json"))))
		put_json(value, out);
	else
		rf_buf_add(out, value.at, value.len);
	return out->has_failed ? -ENOMEM : 0;
}
