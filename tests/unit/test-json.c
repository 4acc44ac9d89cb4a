/* A JSON writer: src/base/json.c. */
#include <stdint.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "harness.h"

#define BYTES(literal) literal, sizeof(literal) - 1

/* Checks what was written so far, and clears it. */
static void expect(struct rf_buf *out, const char *want)
{
	const char *got = out->data ? out->data : "";

	RF_CHECK(!out->has_failed && strcmp(got, want) == 0, "wrote '%s', not '%s'", got, want);
	rf_buf_clear(out);
}

RF_TEST(strings_are_escaped_and_bad_bytes_replaced_one_by_one)
{
	/* clang-format off */
	static const struct { const char *bytes; size_t len; const char *want; } cases[] = {
		{ BYTES(""),                     "\"\"" },
		{ BYTES("plain / text"),         "\"plain / text\"" },
		{ BYTES("\"\\"),                 "\"\\\"\\\\\"" },
		{ BYTES("\b\f\n\r\t"),           "\"\\b\\f\\n\\r\\t\"" },
		{ BYTES("\0\x01\x1f\x7f"),       "\"\\u0000\\u0001\\u001f\\u007f\"" },
		{ BYTES("\x1b[31m"),             "\"\\u001b[31m\"" }, /* nothing reaches a terminal */
		{ BYTES("\xc2\x9b" "31m\xc2\xa0"), "\"\\u009b31m\xc2\xa0\"" },
		{ BYTES("gr\xc3\xbc\xc3\x9f"),   "\"gr\xc3\xbc\xc3\x9f\"" },
		{ BYTES("\xf0\x9f\x8f\xb0"),     "\"\xf0\x9f\x8f\xb0\"" },
		{ BYTES("\xe2\x80\xa8\xe2\x80\xae"), "\"\\u2028\\u202e\"" }, /* not seen, or turning what follows */
		{ BYTES("x\xe2\x80\x8d"),       "\"x\\u200d\"" },
		{ BYTES("\xe2\x9a\xa0\xef\xb8\x8f"), "\"\xe2\x9a\xa0\xef\xb8\x8f\"" }, /* an emoji's own */
		{ BYTES("\xf3\xa0\x81\x81\xef\xbf\xbe"), "\"\\udb40\\udc41\\ufffe\"" },
		{ BYTES("a\xff" "b"),            "\"a\\ufffdb\"" },
		{ BYTES("\xe2\x82"),             "\"\\ufffd\\ufffd\"" }, /* cut short */
		{ BYTES("\xe2\x82z"),            "\"\\ufffd\\ufffdz\"" },
		{ BYTES("\xc0\xaf"),             "\"\\ufffd\\ufffd\"" }, /* overlong '/' */
		{ BYTES("\xed\xa0\x80"),         "\"\\ufffd\\ufffd\\ufffd\"" }, /* a surrogate */
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1000);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_json json;

		rf_json_init(&json, &out, false);
		rf_json_bytes(&json, NULL, cases[i].bytes, cases[i].len);
		expect(&out, cases[i].want);
	}
}

RF_TEST(utf8_is_told_from_what_only_looks_like_it)
{
	/* The edges of each row of Unicode 15, table 3-7. */
	/* clang-format off */
	static const struct { const char *bytes; size_t len; bool is_utf8; } cases[] = {
		{ BYTES(""),                 true },
		{ BYTES("\x01\x7f"),         true },
		{ BYTES("a\0b"),             false }, /* well-formed, but NUL is excluded */
		{ BYTES("\x80"),             false },
		{ BYTES("\xbf"),             false },
		{ BYTES("\xc1\xbf"),         false },
		{ BYTES("\xc2\x80"),         true },
		{ BYTES("\xc2"),             false },
		{ BYTES("\xc2\x7f"),         false },
		{ BYTES("\xc2\xc0"),         false },
		{ BYTES("\xdf\xbf"),         true },
		{ BYTES("\xe0\x9f\xbf"),     false },
		{ BYTES("\xe0\xa0\x80"),     true },
		{ BYTES("\xed\x9f\xbf"),     true },
		{ BYTES("\xed\xa0\x80"),     false },
		{ BYTES("\xee\x80\x80"),     true },
		{ BYTES("\xef\xbf\xbf"),     true },
		{ BYTES("\xef\xbf"),         false },
		{ "\xef\xbf\xbf", 2,         false }, /* what lies beyond the end does not count */
		{ "\xc3\xbc", 1,             false },
		{ BYTES("\xef\xbf\x7f"),     false },
		{ BYTES("\xf0\x8f\xbf\xbf"), false },
		{ BYTES("\xf0\x90\x80\x80"), true },
		{ BYTES("\xf4\x8f\xbf\xbf"), true },
		{ BYTES("\xf4\x90\x80\x80"), false },
		{ BYTES("\xf4\x8f\xbf"),     false },
		{ BYTES("\xf4\x8f\xbf\xc0"), false },
		{ BYTES("\xf5\x80\x80\x80"), false },
		{ BYTES("\xff"),             false },
		{ BYTES("ok\xc3\xbc\xff"),   false }, /* the last byte counts too */
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_json_is_utf8(cases[i].bytes, cases[i].len) == cases[i].is_utf8,
			 "case %zu", i);
}

RF_TEST(base64_matches_the_vectors_of_rfc_4648)
{
	/* clang-format off */
	static const struct { const char *bytes; size_t len; const char *want; } cases[] = {
		{ BYTES(""),             "\"\"" },
		{ BYTES("f"),            "\"Zg==\"" },
		{ BYTES("fo"),           "\"Zm8=\"" },
		{ BYTES("foo"),          "\"Zm9v\"" },
		{ BYTES("foob"),         "\"Zm9vYg==\"" },
		{ BYTES("fooba"),        "\"Zm9vYmE=\"" },
		{ BYTES("foobar"),       "\"Zm9vYmFy\"" },
		{ BYTES("\0\0\0"),       "\"AAAA\"" },
		{ BYTES("\xff\xff\xff"), "\"////\"" },
		{ BYTES("\xfb\xef\xbe"), "\"++++\"" },
		{ BYTES("\xff"),         "\"/w==\"" },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1000);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_json json;

		rf_json_init(&json, &out, false);
		rf_json_base64(&json, NULL, cases[i].bytes, cases[i].len);
		expect(&out, cases[i].want);
	}
}

/* One document with every kind of value in every kind of place. */
static void write_document(struct rf_buf *out, bool is_pretty)
{
	struct rf_json json;

	rf_json_init(&json, out, is_pretty);
	rf_json_open_object(&json, NULL);
	rf_json_int(&json, "low", INT64_MIN);
	rf_json_int(&json, "high", INT64_MAX);
	rf_json_double(&json, "ms", 3.14159, 2);
	rf_json_bool(&json, "yes", true);
	rf_json_bool(&json, "no", false);
	rf_json_null(&json, "nothing");
	rf_json_string(&json, "text", "a\"b");
	rf_json_string(&json, "absent", NULL);
	rf_json_open_array(&json, "empty");
	rf_json_close_array(&json);
	rf_json_open_object(&json, "k\"ey");
	rf_json_close_object(&json);
	rf_json_open_array(&json, "list");
	rf_json_int(&json, NULL, 1);
	rf_json_open_array(&json, NULL);
	rf_json_string(&json, NULL, "x");
	rf_json_close_array(&json);
	rf_json_open_object(&json, NULL);
	rf_json_int(&json, "n", 0);
	rf_json_close_object(&json);
	rf_json_close_array(&json);
	rf_json_close_object(&json);
}

RF_TEST(a_document_is_written_on_one_line)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 10000);
	write_document(&out, false);
	expect(&out, "{\"low\": -9223372036854775808, \"high\": 9223372036854775807, "
		     "\"ms\": 3.14, \"yes\": true, \"no\": false, \"nothing\": null, "
		     "\"text\": \"a\\\"b\", \"absent\": null, \"empty\": [], \"k\\\"ey\": {}, "
		     "\"list\": [1, [\"x\"], {\"n\": 0}]}");
}

RF_TEST(a_document_is_written_with_indents)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 10000);
	write_document(&out, true);
	expect(&out, "{\n"
		     "  \"low\": -9223372036854775808,\n"
		     "  \"high\": 9223372036854775807,\n"
		     "  \"ms\": 3.14,\n"
		     "  \"yes\": true,\n"
		     "  \"no\": false,\n"
		     "  \"nothing\": null,\n"
		     "  \"text\": \"a\\\"b\",\n"
		     "  \"absent\": null,\n"
		     "  \"empty\": [],\n"
		     "  \"k\\\"ey\": {},\n"
		     "  \"list\": [\n"
		     "    1,\n"
		     "    [\n"
		     "      \"x\"\n"
		     "    ],\n"
		     "    {\n"
		     "      \"n\": 0\n"
		     "    }\n"
		     "  ]\n"
		     "}");
}

RF_TEST(a_document_that_does_not_fit_fails_as_a_whole)
{
	RF_AUTO_BUF struct rf_buf whole;

	rf_buf_init(&whole, 10000);
	write_document(&whole, false);
	for (size_t max = 0; max <= whole.len; max++) {
		RF_AUTO_BUF struct rf_buf out;

		rf_buf_init(&out, max);
		write_document(&out, false);
		RF_CHECK(out.has_failed == (max < whole.len), "with room for %zu", max);
	}
}
