/*
 * Certificates as Java keeps them: see java-store.h.
 *
 * Numbers are big-endian: a magic number, version 2, the number of entries; for each a 2 (a trusted certificate), its alias, the
 * milliseconds of its making, the type, its length and its bytes; at last a SHA-1 of the password in UTF-16, some words, and all of
 * the above.  Strings have their length in two bytes.
 */
#include "policy/java-store.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/sha1.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END   "-----END CERTIFICATE-----"

static void put_number(struct rf_buf *out, uint64_t number, int bytes)
{
	while (bytes-- > 0) {
		char byte = (char)(number >> (8 * bytes));

		rf_buf_add(out, &byte, 1);
	}
}

static void put_string(struct rf_buf *out, const char *text)
{
	put_number(out, strlen(text), 2);
	rf_buf_puts(out, text);
}

static int put_entry(struct rf_buf *out, const char *text, size_t len, int number)
{
	char alias[32], *place;
	ssize_t size;
	size_t at;

	snprintf(alias, sizeof(alias), "ringfort-%d", number);
	put_number(out, 2, 4);
	put_string(out, alias);
	put_number(out, 0, 8);
	put_string(out, "X.509");
	at = out->len;
	put_number(out, 0, 4);
	place = rf_buf_reserve(out, len / 4 * 3 + 3);
	if (!place)
		return -ENOMEM;
	size = rf_base64_decode(text, len, place);
	if (size <= 0)
		return -EINVAL;
	rf_buf_grew(out, (size_t)size);
	for (int i = 0; i < 4; i++)
		out->data[at + (size_t)i] = (char)((size_t)size >> (24 - 8 * i));
	return 0;
}

static void put_sum(struct rf_buf *out, size_t from)
{
	static const char password[] = RF_JAVA_STORE_PASSWORD, words[] = "Mighty Aphrodite";
	uint8_t sum[RF_SHA1_SIZE];
	struct rf_sha1 sha;

	rf_sha1_init(&sha);
	for (size_t i = 0; i < sizeof(password) - 1; i++)
		rf_sha1_add(&sha, (const char[]){ 0, password[i] }, 2);
	rf_sha1_add(&sha, words, sizeof(words) - 1);
	rf_sha1_add(&sha, out->data + from, out->len - from);
	rf_sha1_end(&sha, sum);
	rf_buf_add(out, sum, sizeof(sum));
}

int rf_java_store_format(const char *pem, struct rf_buf *out)
{
	const size_t from = out->len;
	int count = 0;

	put_number(out, 0xfeedfeed, 4);
	put_number(out, 2, 4);
	put_number(out, 0, 4);
	while ((pem = strstr(pem, BEGIN))) {
		const char *end = strstr(pem, END);
		int code;

		pem += strlen(BEGIN);
		if (!end)
			return -EINVAL;
		code = put_entry(out, pem, (size_t)(end - pem), ++count);
		if (code < 0)
			return code;
		pem = end;
	}
	if (out->has_failed)
		return -ENOMEM;
	for (int i = 0; i < 4; i++)
		out->data[from + 8 + (size_t)i] = (char)(count >> (24 - 8 * i));
	put_sum(out, from);
	return out->has_failed ? -ENOMEM : count;
}
