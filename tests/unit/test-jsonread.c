/* A JSON reader: src/base/jsonread.c. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/limits.h"
#include "harness.h"

#define BYTES(literal) literal, sizeof(literal) - 1

/* Writes a tree out again, compact and in its own order, with numbers as they were spelled. */
static void write_out(const struct rf_jsonread_value *value, struct rf_buf *out)
{
	struct rf_json json;

	rf_json_init(&json, out, false);
	switch (value->type) {
	case RF_JSONREAD_NULL:
	case RF_JSONREAD_FALSE:
	case RF_JSONREAD_TRUE:
		rf_buf_puts(out, rf_jsonread_kind(value));
		break;
	case RF_JSONREAD_NUMBER:
		rf_buf_puts(out, value->text);
		break;
	case RF_JSONREAD_STRING:
		rf_json_string(&json, NULL, value->text);
		break;
	case RF_JSONREAD_ARRAY:
	case RF_JSONREAD_OBJECT:
		rf_buf_puts(out, value->type == RF_JSONREAD_ARRAY ? "[" : "{");
		for (const struct rf_jsonread_value *v = value->first; v; v = v->next) {
			if (v->name) {
				rf_json_string(&json, NULL, v->name);
				json.needs_comma = false;
				rf_buf_puts(out, ":");
			}
			write_out(v, out);
			rf_buf_puts(out, v->next ? "," : "");
		}
		rf_buf_puts(out, value->type == RF_JSONREAD_ARRAY ? "]" : "}");
		break;
	}
}

RF_TEST(what_is_json_reads_to_what_it_says)
{
	/* clang-format off */
	static const struct { const char *text; size_t len; const char *want; } cases[] = {
		{ BYTES("null"),                                 "null" },
		{ BYTES(" true "),                               "true" },
		{ BYTES("\r\n\tfalse\n"),                        "false" },
		{ BYTES("0"),                                    "0" },
		{ BYTES("-0"),                                   "-0" },
		{ BYTES("7"),                                    "7" },
		{ BYTES("18446744073709551615"),                 "18446744073709551615" },
		{ BYTES("-1.5e+10"),                             "-1.5e+10" },
		{ BYTES("0.1E-7"),                               "0.1E-7" },
		{ BYTES("\"\""),                                 "\"\"" },
		{ BYTES("\"plain\""),                            "\"plain\"" },
		{ BYTES("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),       "\"\\\"\\\\/\\b\\f\\n\\r\\t\"" },
		{ BYTES("\"\\u0041\\u00e9\\u20ac\""),            "\"A\xc3\xa9\xe2\x82\xac\"" },
		{ BYTES("\"\\ud83c\\udff0\""),                   "\"\xf0\x9f\x8f\xb0\"" },
		{ BYTES("\"\\uD83C\\uDFF0x\""),                  "\"\xf0\x9f\x8f\xb0x\"" },
		{ BYTES("\"\xf0\x9f\x8f\xb0\""),                 "\"\xf0\x9f\x8f\xb0\"" },
		{ BYTES("[]"),                                   "[]" },
		{ BYTES("[ ]"),                                  "[]" },
		{ BYTES("[1,2,3]"),                              "[1,2,3]" },
		{ BYTES("[1 , [2,[]] , 33 ]"),                   "[1,[2,[]],33]" },
		{ BYTES("{}"),                                   "{}" },
		{ BYTES("{\"a\":1,\"b\":{\"a\":2}}"),            "{\"a\":1,\"b\":{\"a\":2}}" },
		{ BYTES("{ \"a\" : [ true ] , \"\" : null }"),   "{\"a\":[true],\"\":null}" },
		{ BYTES("\xef\xbb\xbf" "5"),                     "5" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf out;
		struct rf_jsonread *json = NULL;
		struct rf_err err = RF_ERR_INIT;

		rf_buf_init(&out, 1000);
		RF_REQUIRE(rf_jsonread_parse(cases[i].text, cases[i].len, &json, &err) == 0,
			   "%s: %s", cases[i].text, err.msg);
		write_out(rf_jsonread_root(json), &out);
		RF_CHECK(strcmp(out.data, cases[i].want) == 0, "%s became %s", cases[i].text,
			 out.data);
		rf_jsonread_free(json);
	}
}

RF_TEST(what_is_not_json_is_refused_where_it_goes_wrong)
{
	/* clang-format off */
	static const struct { const char *text; size_t len; int line, column; const char *says; } cases[] = {
		{ BYTES(""),                      1, 1,  "at its end" },
		{ BYTES(" \n "),                  2, 2,  "at its end" },
		{ BYTES("nul"),                   1, 1,  "neither" },
		{ BYTES("nullx"),                 1, 5,  "more text" },
		{ BYTES("True"),                  1, 1,  "a value" },
		{ BYTES("1 2"),                   1, 3,  "more text" },
		{ BYTES("01"),                    1, 2,  "begins with 0" },
		{ BYTES("-"),                     1, 2,  "digit" },
		{ BYTES("+1"),                    1, 1,  "a value" },
		{ BYTES(".5"),                    1, 1,  "a value" },
		{ BYTES("1."),                    1, 3,  "digit" },
		{ BYTES("1e"),                    1, 3,  "digit" },
		{ BYTES("0x10"),                  1, 2,  "more text" },
		{ BYTES("NaN"),                   1, 1,  "a value" },
		{ BYTES("'a'"),                   1, 1,  "a value" },
		{ BYTES("\"a"),                   1, 3,  "without an end" },
		{ BYTES("\"a\nb\""),              1, 3,  "control" },
		{ BYTES("\"\\x41\""),             1, 3,  "escape" },
		{ BYTES("\"\\u12g4\""),           1, 4,  "hexadecimal" },
		{ BYTES("\"\\u12"),               1, 4,  "hexadecimal" },
		{ BYTES("\"\\u0000\""),           1, 4,  "NUL" },
		{ BYTES("\"\\ud800\""),           1, 4,  "half" },
		{ BYTES("\"\\ud800\\u0041\""),    1, 4,  "half" },
		{ BYTES("\"\\udc00\""),           1, 4,  "half" },
		{ BYTES("\"\\"),                  1, 3,  "escape" },
		{ BYTES("["),                     1, 2,  "at its end" },
		{ BYTES("[1"),                    1, 3,  "comma or ]" },
		{ BYTES("[1,]"),                  1, 4,  "a value" },
		{ BYTES("[1 2]"),                 1, 4,  "comma or ]" },
		{ BYTES("[1}"),                   1, 3,  "comma or ]" },
		{ BYTES("{"),                     1, 2,  "a name" },
		{ BYTES("{\"a\"}"),               1, 5,  "colon" },
		{ BYTES("{\"a\":}"),              1, 6,  "a value" },
		{ BYTES("{\"a\":1,}"),            1, 8,  "a name" },
		{ BYTES("{a:1}"),                 1, 2,  "a name" },
		{ BYTES("{1:1}"),                 1, 2,  "a name" },
		{ BYTES("{\"a\":1\n\"b\":2}"),    2, 1,  "comma or }" },
		{ BYTES("// c\n1"),               1, 1,  "a value" },
		{ BYTES("[\"\xc3\xa9\xc3\xa9\" x"), 1, 7, "comma or ]" }, /* counted in characters */
		{ BYTES("[\"a\\u0041b\" x"),      1, 13, "comma or ]" },
		{ BYTES("{\"a\":1,\n \"a\":2}"),  2, 2,  "twice, first in line 1" },
		{ BYTES("{\"b\":0,\"a\":1,\"c\":1,\"\\u0061\":2}"), 1, 20, "twice" },
		{ BYTES("[1,\0 2]"),              1, 4,  "UTF-8" },
		{ BYTES("[\n\"\xff\"]"),          2, 2,  "UTF-8" },
		{ BYTES("\"\xc3\xa9\xc3\""),      1, 3,  "UTF-8" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_jsonread *json = NULL;
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_jsonread_parse(cases[i].text, cases[i].len, &json, &err) == -EINVAL,
			 "%s was read", cases[i].text);
		RF_CHECK(strstr(err.msg, cases[i].says), "%s: %s", cases[i].text, err.msg);
		RF_CHECK(err.line == cases[i].line && err.column == cases[i].column, "%s: %d:%d",
			 cases[i].text, err.line, err.column);
		RF_CHECK(!json, "gave something");
	}
}

RF_TEST(every_beginning_of_a_text_is_refused_and_the_whole_is_read)
{
	static const char text[] = "{\"a\": [1.5e3, \"x\\u00e9\\n\", {\"b\": null}], \"c\": false}";

	for (size_t len = 0; len <= sizeof(text) - 1; len++) {
		struct rf_jsonread *json = NULL;
		struct rf_err err = RF_ERR_INIT;
		char *exact = malloc(len ? len : 1); /* so that a read past its end is seen */

		RF_REQUIRE(exact, "memory");
		memcpy(exact, text, len);
		RF_CHECK((rf_jsonread_parse(exact, len, &json, &err) == 0) ==
				 (len == sizeof(text) - 1),
			 "the first %zu bytes", len);
		rf_jsonread_free(json);
		free(exact);
	}
}

RF_TEST(values_know_where_they_stand_and_are_found_by_name)
{
	static const char text[] = "{\n  \"one\": 1,\n  \"list\": [\"\xc3\xa9\", {\"x\": true}]\n}";
	const struct rf_jsonread_value *root, *list, *object;
	struct rf_jsonread *json = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_jsonread_parse(text, sizeof(text) - 1, &json, &err) == 0, "%s", err.msg);
	root = rf_jsonread_root(json);
	list = rf_jsonread_member(root, "list");
	RF_REQUIRE(list && list->count == 2 && root->count == 2, "the list");
	object = list->first->next;
	RF_CHECK(root->line == 1 && root->column == 1, "%d:%d", root->line, root->column);
	RF_CHECK(list->name_line == 3 && list->name_column == 3, "%d:%d", list->name_line,
		 list->name_column);
	RF_CHECK(list->line == 3 && list->column == 11, "%d:%d", list->line, list->column);
	RF_CHECK(object->line == 3 && object->column == 17, "%d:%d", object->line, object->column);
	RF_CHECK(rf_jsonread_member(object, "x") && !rf_jsonread_member(root, "x"), "x");
	RF_CHECK(!rf_jsonread_member(list, "x"), "a list has no members");
	rf_jsonread_free(json);
	rf_jsonread_free(NULL);
}

RF_TEST(whole_numbers_have_all_of_their_64_bits_and_nothing_else_is_one)
{
	/* clang-format off */
	static const struct { const char *text; bool is_number; uint64_t want; } cases[] = {
		{ "0",                    true,  0 },
		{ "4294967295",           true,  4294967295 },
		{ "9007199254740993",     true,  9007199254740993 }, /* not a double */
		{ "18446744073709551615", true,  UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "-1",                   false, 0 },
		{ "-0",                   false, 0 },
		{ "1.0",                  false, 0 },
		{ "1e3",                  false, 0 },
		{ "\"1\"",                false, 0 },
		{ "null",                 false, 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_jsonread *json = NULL;
		struct rf_err err = RF_ERR_INIT;
		uint64_t got = 0;
		int code;

		RF_REQUIRE(rf_jsonread_parse(cases[i].text, strlen(cases[i].text), &json, &err) ==
				   0,
			   "%s", err.msg);
		code = rf_jsonread_u64(rf_jsonread_root(json), &got);
		RF_CHECK(code == (cases[i].is_number ? 0 : -EINVAL) && got == cases[i].want, "%s",
			 cases[i].text);
		rf_jsonread_free(json);
	}
}

/* Reads `len` bytes of which each comes from `fill`, and gives the answer. */
static int read_filled(size_t len, const char *fill, struct rf_err *err)
{
	struct rf_jsonread *json = NULL;
	char *text = malloc(len + 1);
	size_t part = strlen(fill);
	int code;

	RF_REQUIRE(text, "memory");
	for (size_t i = 0; i < len; i++)
		text[i] = fill[i % part];
	code = rf_jsonread_parse(text, len, &json, err);
	rf_jsonread_free(json);
	free(text);
	return code;
}

RF_TEST(depth_and_length_are_bounded_and_large_objects_do_not_take_long)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_jsonread *json = NULL;
	RF_AUTO_BUF struct rf_buf text;

	RF_CHECK(read_filled(RF_MAX_JSON_READ + 1, " ", &err) == -EFBIG, "%s", err.msg);
	RF_CHECK(read_filled(RF_MAX_JSON_READ, "[", &err) == -EINVAL && strstr(err.msg, "deep") &&
			 err.column == RF_MAX_JSON_DEPTH + 1,
		 "%s at %d", err.msg, err.column);
	RF_CHECK(read_filled(RF_MAX_JSON_READ, "{\"a\":", &err) == -EINVAL, "%s", err.msg);
	RF_CHECK(read_filled(RF_MAX_JSON_READ, "\"\\", &err) == -EINVAL, "%s", err.msg);
	rf_buf_init(&text, RF_MAX_JSON_READ);
	for (int i = 0; i < 200000; i++)
		rf_buf_printf(&text, "%c\"%d\":%d", i ? ',' : '{', i, i);
	rf_buf_puts(&text, "}");
	RF_CHECK(rf_jsonread_parse(text.data, text.len, &json, &err) == 0, "%s", err.msg);
	RF_CHECK(json && rf_jsonread_root(json)->count == 200000, "members");
	rf_jsonread_free(json);
}
