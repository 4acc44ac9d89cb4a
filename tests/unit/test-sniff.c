/* What first bytes say, from any pieces. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/sniff.h"
#include "harness.h"

struct hello {
	uint8_t data[20000];
	size_t len;
};

static void put(struct hello *hello, const void *data, size_t len)
{
	memcpy(hello->data + hello->len, data, len);
	hello->len += len;
}

static void put_number(struct hello *hello, unsigned size, size_t value)
{
	for (unsigned i = size; i > 0; i--)
		hello->data[hello->len++] = (uint8_t)(value >> 8 * (i - 1));
}

static void put_name(struct hello *hello, const char *name, size_t len)
{
	put_number(hello, 2, 0);
	put_number(hello, 2, len + 5);
	put_number(hello, 2, len + 3);
	put_number(hello, 1, 0);
	put_number(hello, 2, len);
	put(hello, name, len);
}

/* A ClientHello as a handshake message, without records. */
static void make(struct hello *hello, const char *name, size_t name_len, size_t padding)
{
	struct hello body = { .len = 0 }, ext = { .len = 0 };

	put_number(&ext, 2, 0x0a0a); /* GREASE */
	put_number(&ext, 2, 0);
	if (name)
		put_name(&ext, name, name_len);
	put_number(&ext, 2, 0xfe0d); /* what looks like ECH */
	put_number(&ext, 2, 3);
	put(&ext, "\x00\x00\x01", 3);
	put_number(&ext, 2, 16);
	put_number(&ext, 2, 14);
	put(&ext, "\x00\x0c\x02h2\x08http/1.1", 14);
	put_number(&ext, 2, 21);
	put_number(&ext, 2, padding);
	ext.len += padding;

	put_number(&body, 2, 0x0303);
	body.len += 32;
	put_number(&body, 1, 32);
	body.len += 32;
	put_number(&body, 2, 4);
	put_number(&body, 4, 0x13011302);
	put_number(&body, 1, 1);
	put_number(&body, 1, 0);
	put_number(&body, 2, ext.len);
	put(&body, ext.data, ext.len);

	hello->len = 0;
	put_number(hello, 1, 1);
	put_number(hello, 3, body.len);
	put(hello, body.data, body.len);
}

/* In records of `size` bytes each. */
static void cut(const struct hello *hello, size_t size, struct hello *ret_records)
{
	ret_records->len = 0;
	for (size_t at = 0; at < hello->len; at += size) {
		size_t part = hello->len - at < size ? hello->len - at : size;

		put_number(ret_records, 1, 22);
		put_number(ret_records, 2, 0x0301);
		put_number(ret_records, 2, part);
		put(ret_records, hello->data + at, part);
	}
}

static struct rf_sniff look(const void *data, size_t len)
{
	char *copy = malloc(len ? len : 1); /* of this size, so that a byte too many is noticed */
	struct rf_sniff sniff;

	memcpy(copy, data, len);
	rf_sniff_look((struct rf_span){ copy, len }, &sniff);
	free(copy);
	return sniff;
}

RF_TEST(a_clienthello_tells_its_name_however_it_is_cut)
{
	static const size_t sizes[] = { 16384, 100, 7, 3, 2 };
	struct hello hello, records;

	make(&hello, "Api.Example", 11, 200);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		cut(&hello, sizes[i], &records);
		for (size_t len = 0; len < records.len; len++)
			RF_REQUIRE(look(records.data, len).kind == RF_SNIFF_MORE,
				   "%zu of %zu in records of %zu", len, records.len, sizes[i]);
		struct rf_sniff sniff = look(records.data, records.len);

		RF_CHECK(sniff.kind == RF_SNIFF_TLS && sniff.has_name && sniff.offers_h2 &&
				 sniff.has_ech && strcmp(sniff.name.text, "api.example") == 0 &&
				 sniff.bytes == records.len,
			 "records of %zu: %d %s", sizes[i], sniff.kind, sniff.name.text);
	}
}

RF_TEST(a_clienthello_ends_with_its_record_and_what_follows_is_not_looked_at)
{
	struct hello hello, records;

	make(&hello, "api.example", 11, 20);
	cut(&hello, 100, &records);
	put(&records, "\r\nGET / HTTP/1.1", 17);
	RF_CHECK(look(records.data, records.len).kind == RF_SNIFF_TLS &&
			 look(records.data, records.len).bytes == records.len - 17,
		 "what follows");
	put(&hello, "GET / HTTP/1.1\r\n", 16);
	for (size_t size = 16384; size > 0; size = size > 10000 ? hello.len - 16 - 1 : 0) {
		cut(&hello, size, &records);
		RF_CHECK(look(records.data, records.len).kind == RF_SNIFF_BAD &&
				 look(records.data, records.len - 10).kind == RF_SNIFF_BAD,
			 "more in its last record than itself, records of %zu", size);
	}
}

RF_TEST(a_large_clienthello_is_read_and_a_larger_one_is_none)
{
	struct hello hello, records;

	make(&hello, "api.example", 11, 15000);
	cut(&hello, 16384, &records);
	RF_CHECK(look(records.data, records.len).kind == RF_SNIFF_TLS, "15,000");
	make(&hello, "api.example", 11, 17000);
	cut(&hello, 16384, &records);
	RF_CHECK(look(records.data, records.len).kind == RF_SNIFF_BAD, "17,000");
	RF_CHECK(look(records.data, 20).kind == RF_SNIFF_BAD, "and that is known at once");
}

RF_TEST(a_name_that_no_host_has_is_bad)
{
	/* clang-format off */
	static const struct { const char *name; size_t len; enum rf_sniff_kind kind; } cases[] = {
		{ "api.example", 11, RF_SNIFF_TLS },
		{ "api.example.", 12, RF_SNIFF_TLS }, /* the same host */
		{ "evil\0.example", 13, RF_SNIFF_BAD },
		{ "api example", 11, RF_SNIFF_BAD },
		{ "", 0, RF_SNIFF_BAD },
		{ "0x7f.1", 6, RF_SNIFF_BAD },
		{ "..", 2, RF_SNIFF_BAD },
	};
	/* clang-format on */
	struct hello hello, records;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(&hello, cases[i].name, cases[i].len, 0);
		cut(&hello, 16384, &records);
		RF_CHECK(look(records.data, records.len).kind == cases[i].kind, "case %zu", i);
	}
	make(&hello, NULL, 0, 0);
	cut(&hello, 16384, &records);
	RF_CHECK(look(records.data, records.len).kind == RF_SNIFF_TLS &&
			 !look(records.data, records.len).has_name,
		 "without a name");
}

RF_TEST(two_names_are_bad)
{
	struct hello hello = { .len = 0 }, records;

	/* Built by hand: the first extension of all is repeated at the end. */
	put_number(&hello, 1, 1);
	put_number(&hello, 3, 2 + 32 + 1 + 4 + 2 + 2 + 2 * 20);
	put_number(&hello, 2, 0x0303);
	hello.len += 32;
	put_number(&hello, 1, 0);
	put_number(&hello, 2, 2);
	put_number(&hello, 2, 0x1301);
	put_number(&hello, 1, 1);
	put_number(&hello, 1, 0);
	put_number(&hello, 2, 2 * 20);
	put_name(&hello, "api.example", 11);
	put_name(&hello, "evi.example", 11);
	cut(&hello, 16384, &records);
	RF_CHECK(look(records.data, records.len).kind == RF_SNIFF_BAD, "two");
}

RF_TEST(first_bytes_tell_what_it_is)
{
	/* clang-format off */
	static const struct { const char *bytes; size_t len; enum rf_sniff_kind kind; } cases[] = {
#define CASE(bytes, kind) { bytes, sizeof(bytes) - 1, kind }
		CASE("",                                     RF_SNIFF_MORE),
		CASE("G",                                    RF_SNIFF_MORE),
		CASE("GET",                                  RF_SNIFF_MORE),
		CASE("GET ",                                 RF_SNIFF_MORE),
		CASE("GET /",                                RF_SNIFF_HTTP),
		CASE("OPTIONS *",                            RF_SNIFF_HTTP),
		CASE("GET http://x/",                        RF_SNIFF_MORE),
		CASE("GET http://x/ HTTP/1.1\r\n",           RF_SNIFF_HTTP),
		CASE("GET x://evil/ HTTP/1.1\r\n",           RF_SNIFF_HTTP),
		CASE("M-SEARCH /",                           RF_SNIFF_HTTP),
		CASE("GET  /",                               RF_SNIFF_HTTP), /* as servers read it */
		CASE("\r\n\n",                               RF_SNIFF_MORE),
		CASE("\r\n\nGET /",                          RF_SNIFF_HTTP),
		CASE("get /",                                RF_SNIFF_MORE),
		CASE("get / HTTP/1.1\n",                     RF_SNIFF_HTTP),
		CASE("get /key\r\n",                         RF_SNIFF_OTHER), /* memcached */
		CASE("P0ST\t/ HTTP/1.1\n",                   RF_SNIFF_HTTP),
		CASE("SSH-2.0-OpenSSH\r\n",                  RF_SNIFF_OTHER),
		CASE("SSH-2.0-OpenSSH Debian\r\n",           RF_SNIFF_OTHER),
		CASE("EHLO host.example\r\n",                RF_SNIFF_OTHER),
		CASE("EHLO me\r\n",                          RF_SNIFF_OTHER),
		CASE("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",       RF_SNIFF_OTHER),
		CASE("PRI",                                  RF_SNIFF_MORE),
		CASE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",     RF_SNIFF_HTTP2),
		CASE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore", RF_SNIFF_HTTP2),
		CASE("PRI * HTTP/1.1\r\n",                   RF_SNIFF_HTTP),
		CASE("\x16\x02",                             RF_SNIFF_OTHER),
		CASE("\x16\x03\x01\x00\x00",                 RF_SNIFF_BAD), /* an empty record */
		CASE("\x16\x03\x01\x00\x04\x02\x00\x00\x10", RF_SNIFF_BAD), /* a ServerHello */
		CASE("\x16\x03\x01\xff\xff",                 RF_SNIFF_BAD),
		CASE("\x00\x01\x02",                         RF_SNIFF_OTHER),
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		RF_CHECK(look(cases[i].bytes, cases[i].len).kind == cases[i].kind, "case %zu: %d",
			 i, look(cases[i].bytes, cases[i].len).kind);
}

RF_TEST(what_is_too_long_to_be_looked_at_is_read_as_http)
{
	static char lines[RF_SNIFF_MOST], path[RF_SNIFF_MOST];

	memset(lines, '\n', sizeof(lines));
	memset(path, 'a', sizeof(path));
	path[3] = ' ';
	RF_CHECK(look(lines, sizeof(lines) - 1).kind == RF_SNIFF_MORE, "empty lines");
	RF_CHECK(look(lines, sizeof(lines)).kind == RF_SNIFF_HTTP, "nothing but empty lines");
	RF_CHECK(look(path, 1000).kind == RF_SNIFF_MORE, "a long path");
	RF_CHECK(look(path, sizeof(path)).kind == RF_SNIFF_HTTP, "a longer one");
}
