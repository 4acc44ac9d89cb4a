/*
 * Signatures of requests to AWS: see aws-sign.h.
 *
 * A canonical form of the request is hashed; the hash, the date and the scope are signed with a key that is made of the secret for that day,
 * region and service.  All services but S3 encode a path that is encoded already a second time.
 */
#include "gateway/aws-sign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define HASH   32
#define PAIRS  256 /* parameters of a query */
#define SIGNED 128 /* fields that are signed */
#define TEXT   (1024 * 1024)

void rf_aws_sign_date(time_t now, char ret_date[RF_AWS_SIGN_DATE])
{
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(ret_date, RF_AWS_SIGN_DATE, "%Y%m%dT%H%M%SZ", &tm);
}

static void put_hex(const unsigned char *bytes, char *text)
{
	for (size_t i = 0; i < HASH; i++, text += 2) {
		text[0] = "0123456789abcdef"[bytes[i] >> 4];
		text[1] = "0123456789abcdef"[bytes[i] & 15];
	}
	*text = '\0';
}

void rf_aws_sign_hash(struct rf_span body, char ret_hash[RF_AWS_SIGN_HASH])
{
	unsigned char hash[HASH] = { 0 };

	EVP_Digest(body.at, body.len, hash, NULL, EVP_sha256(), NULL);
	put_hex(hash, ret_hash);
}

/* --- the canonical request --- */

static bool is_plain(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Writes each octet as it is, or as a percent-code; codes that are there are read first if `is_decoded`. */
static void put_coded(struct rf_span text, bool keeps_slash, bool is_decoded, struct rf_buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if (is_decoded && c == '%' && i + 2 < text.len && hex_of(text.at[i + 1]) >= 0 &&
		    hex_of(text.at[i + 2]) >= 0) {
			c = (char)(hex_of(text.at[i + 1]) << 4 | hex_of(text.at[i + 2]));
			i += 2;
		}
		if (is_plain(c) || (keeps_slash && c == '/'))
			rf_buf_add(out, &c, 1);
		else
			rf_buf_printf(out, "%%%02X", (unsigned char)c);
	}
}

struct pair {
	size_t at, len, name_len; /* in a buffer of coded pairs */
	const struct rf_buf *in;
};

/* By name, then by value; the names' ends count as less than any character. */
static int compare_pairs(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;
	size_t least = a->name_len < b->name_len ? a->name_len : b->name_len;
	int order = memcmp(a->in->data + a->at, b->in->data + b->at, least);

	if (order == 0 && a->name_len != b->name_len)
		return a->name_len < b->name_len ? -1 : 1;
	if (order == 0) {
		least = a->len < b->len ? a->len : b->len;
		order = memcmp(a->in->data + a->at, b->in->data + b->at, least);
	}
	if (order == 0 && a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return order;
}

static int put_query(struct rf_span query, struct rf_buf *out)
{
	RF_AUTO_BUF struct rf_buf coded;
	struct pair pairs[PAIRS];
	size_t count = 0;

	rf_buf_init(&coded, TEXT);
	while (query.len > 0) {
		const char *end = memchr(query.at, '&', query.len);
		size_t len = end ? (size_t)(end - query.at) : query.len;
		struct rf_span pair = { query.at, len };
		const char *is = memchr(pair.at, '=', pair.len);
		size_t name_len = is ? (size_t)(is - pair.at) : pair.len, at = coded.len;

		query = rf_span_part(query, end ? len + 1 : len, query.len);
		if (len == 0)
			continue;
		if (count == PAIRS)
			return -E2BIG;
		put_coded((struct rf_span){ pair.at, name_len }, false, true, &coded);
		pairs[count] = (struct pair){ .at = at, .name_len = coded.len - at, .in = &coded };
		rf_buf_puts(&coded, "=");
		if (is)
			put_coded(rf_span_part(pair, name_len + 1, pair.len), false, true, &coded);
		pairs[count].len = coded.len - at;
		count++;
	}
	if (coded.has_failed)
		return -ENOMEM;
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			rf_buf_puts(out, "&");
		rf_buf_add(out, coded.data + pairs[i].at, pairs[i].len);
	}
	return 0;
}

/* Fields that nobody on the way changes. */
static bool is_signed(struct rf_span name)
{
	return (name.len > 6 && rf_span_is_like(rf_span_part(name, 0, 6), RF_SPAN("x-amz-"))) ||
	       rf_span_is_like(name, RF_SPAN("content-type")) ||
	       rf_span_is_like(name, RF_SPAN("content-md5")) ||
	       rf_span_is_like(name, RF_SPAN("range"));
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static int compare_fields(const void *left, const void *right)
{
	const struct rf_field *a = left, *b = right;

	for (size_t i = 0; i < a->name.len && i < b->name.len; i++)
		if (lower(a->name.at[i]) != lower(b->name.at[i]))
			return lower(a->name.at[i]) < lower(b->name.at[i]) ? -1 : 1;
	return a->name.len < b->name.len ? -1 : a->name.len > b->name.len;
}

/* A value without white space at its ends, and with one space where there were several. */
static void put_value(struct rf_span value, struct rf_buf *out)
{
	bool was_space = false;

	value = rf_span_trim(value);
	for (size_t i = 0; i < value.len; i++) {
		bool is_space = value.at[i] == ' ' || value.at[i] == '\t';

		if (!is_space)
			rf_buf_add(out, &value.at[i], 1);
		else if (!was_space)
			rf_buf_puts(out, " ");
		was_space = is_space;
	}
}

static int put_fields(const struct rf_aws_sign *what, struct rf_buf *out, struct rf_buf *names)
{
	struct rf_field fields[SIGNED] = { { .name = RF_SPAN("host"), .value = what->host } };
	size_t count = 1;

	for (size_t i = 0; i < what->fields.count; i++)
		if (is_signed(what->fields.at[i].name)) {
			if (count == SIGNED)
				return -E2BIG;
			fields[count++] = what->fields.at[i];
		}
	qsort(fields, count, sizeof(*fields), compare_fields);
	for (size_t i = 0; i < count; i++) {
		/* One that comes twice would have to be joined in an order that nobody agrees on. */
		if (i > 0 && compare_fields(&fields[i - 1], &fields[i]) == 0)
			return -EINVAL;
		if (i > 0)
			rf_buf_puts(names, ";");
		for (size_t j = 0; j < fields[i].name.len; j++) {
			char c = lower(fields[i].name.at[j]);

			rf_buf_add(names, &c, 1);
			rf_buf_add(out, &c, 1);
		}
		rf_buf_puts(out, ":");
		put_value(fields[i].value, out);
		rf_buf_puts(out, "\n");
	}
	return 0;
}

int rf_aws_sign_canonical(const struct rf_aws_sign *what, struct rf_buf *out, struct rf_buf *names)
{
	bool is_s3 = rf_span_is(what->service, RF_SPAN("s3"));
	int code;

	rf_buf_add(out, what->method.at, what->method.len);
	rf_buf_puts(out, "\n");
	put_coded(what->path, true, is_s3, out);
	rf_buf_puts(out, "\n");
	code = put_query(what->query, out);
	if (code < 0)
		return code;
	rf_buf_puts(out, "\n");
	code = put_fields(what, out, names);
	if (code < 0)
		return code;
	rf_buf_puts(out, "\n");
	if (!names->has_failed)
		rf_buf_add(out, names->data, names->len);
	rf_buf_puts(out, "\n");
	rf_buf_add(out, what->payload.at, what->payload.len);
	return out->has_failed || names->has_failed ? -ENOMEM : 0;
}

/* --- the signature --- */

static void sign(const unsigned char *key, size_t key_len, struct rf_span text,
		 unsigned char ret_sum[HASH])
{
	HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text.at, text.len, ret_sum,
	     NULL);
}

/* The key of a day, a region and a service. */
static int make_key(const struct rf_aws_sign *what, unsigned char ret_key[HASH])
{
	char first[4 + 256];
	size_t len = 4 + what->secret.len;

	if (what->secret.len == 0 || len > sizeof(first))
		return -EINVAL;
	for (size_t i = 0; i < 4; i++)
		first[i] = "AWS4"[i];
	memcpy(first + 4, what->secret.at, what->secret.len);
	sign((const unsigned char *)first, len, rf_span_part(what->date, 0, 8), ret_key);
	OPENSSL_cleanse(first, sizeof(first));
	sign(ret_key, HASH, what->region, ret_key);
	sign(ret_key, HASH, what->service, ret_key);
	sign(ret_key, HASH, RF_SPAN("aws4_request"), ret_key);
	return 0;
}

static void put_scope(const struct rf_aws_sign *what, struct rf_buf *out)
{
	rf_buf_printf(out, "%.8s/%.*s/%.*s/aws4_request", what->date.at, (int)what->region.len,
		      what->region.at, (int)what->service.len, what->service.at);
}

int rf_aws_sign_format(const struct rf_aws_sign *what, struct rf_buf *out, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf canonical, names, text;
	unsigned char key[HASH], sum[HASH];
	char hash[RF_AWS_SIGN_HASH];
	int code;

	rf_buf_init(&canonical, TEXT);
	rf_buf_init(&names, TEXT);
	rf_buf_init(&text, TEXT);
	if (what->date.len != RF_AWS_SIGN_DATE - 1)
		return rf_fail_say(err, -EINVAL, "no date to sign");
	code = rf_aws_sign_canonical(what, &canonical, &names);
	if (code < 0)
		return rf_fail(err, code, "the request can't be signed");
	rf_aws_sign_hash((struct rf_span){ canonical.data, canonical.len }, hash);
	rf_buf_printf(&text, "AWS4-HMAC-SHA256\n%.*s\n", (int)what->date.len, what->date.at);
	put_scope(what, &text);
	rf_buf_printf(&text, "\n%s", hash);
	code = make_key(what, key);
	if (code < 0)
		return rf_fail_say(err, code, "no key to sign with");
	if (text.has_failed)
		return rf_fail(err, -ENOMEM, "sign");
	sign(key, HASH, (struct rf_span){ text.data, text.len }, sum);
	OPENSSL_cleanse(key, sizeof(key));
	put_hex(sum, hash);
	rf_buf_printf(out, "AWS4-HMAC-SHA256 Credential=%.*s/", (int)what->id.len, what->id.at);
	put_scope(what, out);
	rf_buf_printf(out, ", SignedHeaders=%s, Signature=%s", names.data, hash);
	return out->has_failed ? rf_fail(err, -ENOMEM, "sign") : 0;
}
