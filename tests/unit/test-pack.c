/* The binary form for values between our programs: src/base/pack.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/pack.h"
#include "harness.h"

static void write_all(struct rf_buf *buf)
{
	static const char *const list[] = { "one", "", "three", NULL };
	struct rf_err err = RF_ERR_INIT;

	rf_fail_at(&err, 3, 7, "a story");
	rf_fail_hint(&err, "a remedy");
	rf_buf_init(buf, 4096);
	rf_pack_u32(buf, 0xdeadbeef);
	rf_pack_u64(buf, UINT64_MAX);
	rf_pack_bool(buf, true);
	rf_pack_string(buf, "text");
	rf_pack_string(buf, NULL);
	rf_pack_strings(buf, list);
	rf_pack_strings(buf, NULL);
	rf_pack_err(buf, &err);
}

RF_TEST(what_was_written_is_read_in_the_same_order)
{
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_pack_reader reader;
	struct rf_err err;
	char **list, **none, text[5];

	write_all(&buf);
	rf_pack_read_init(&reader, buf.data, buf.len);
	RF_CHECK(rf_pack_read_u32(&reader) == 0xdeadbeef, "u32");
	RF_CHECK(rf_pack_read_u64(&reader) == UINT64_MAX, "u64");
	RF_CHECK(rf_pack_read_bool(&reader), "bool");
	rf_pack_read_text(&reader, text, sizeof(text));
	RF_CHECK(strcmp(text, "text") == 0, "%s", text);
	RF_CHECK(!rf_pack_read_maybe(&reader, 10), "NULL");
	list = rf_pack_read_strings(&reader, 3, 10);
	none = rf_pack_read_strings(&reader, 0, 0);
	rf_pack_read_err(&reader, &err);
	RF_REQUIRE(rf_pack_is_whole(&reader), "not all was read");
	RF_CHECK(list && strcmp(list[0], "one") == 0 && !*list[1] &&
			 strcmp(list[2], "three") == 0 && !list[3],
		 "a list");
	RF_CHECK(none && !none[0], "an empty list");
	RF_CHECK(err.code == -EINVAL && err.line == 3 && err.column == 7 &&
			 strcmp(err.msg, "a story") == 0 && strcmp(err.hint, "a remedy") == 0,
		 "%s", err.msg);
	free(list);
	free(none);
}

RF_TEST(a_reader_that_has_failed_gives_nothing_more)
{
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_pack_reader reader;

	rf_buf_init(&buf, 100);
	rf_pack_u32(&buf, 2);
	rf_pack_u32(&buf, 7);
	rf_pack_read_init(&reader, buf.data, buf.len);
	RF_CHECK(!rf_pack_read_bool(&reader) && reader.has_failed, "2 is no truth");
	RF_CHECK(rf_pack_read_u32(&reader) == 0 && rf_pack_read_u64(&reader) == 0, "a number");
	RF_CHECK(*rf_pack_read_string(&reader, 10) == '\0', "a string");
	RF_CHECK(!rf_pack_read_strings(&reader, 10, 10), "a list");
	RF_CHECK(!rf_pack_is_whole(&reader), "whole");
}

RF_TEST(strings_that_lie_are_refused)
{
	/* clang-format off */
	static const struct { const char *what; uint32_t len; const char *bytes; size_t count; } cases[] = {
		{ "longer than there is",   9, "four\0",   5 },
		{ "longer than asked for", 10, "0123456789\0", 11 },
		{ "without its NUL",        4, "fourx",    5 },
		{ "with a NUL inside",      4, "fo\0r\0",  5 },
		{ "absent",        UINT32_MAX, "",         0 },
		{ "nearly absent", UINT32_MAX - 1, "four\0", 5 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf buf;
		struct rf_pack_reader reader;

		rf_buf_init(&buf, 100);
		rf_pack_u32(&buf, cases[i].len);
		rf_buf_add(&buf, cases[i].bytes, cases[i].count);
		rf_pack_read_init(&reader, buf.data, buf.len);
		RF_CHECK(*rf_pack_read_string(&reader, 10) == '\0' && reader.has_failed, "%s",
			 cases[i].what);
	}
}

RF_TEST(a_list_that_claims_more_than_there_is_costs_no_memory)
{
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_pack_reader reader;

	rf_buf_init(&buf, 100);
	rf_pack_u32(&buf, 0x40000000);
	rf_pack_string(&buf, "one");
	rf_pack_read_init(&reader, buf.data, buf.len);
	RF_CHECK(!rf_pack_read_strings(&reader, SIZE_MAX, 10) && reader.has_failed, "read");
}

RF_TEST(nothing_is_read_past_any_end)
{
	RF_AUTO_BUF struct rf_buf buf;

	write_all(&buf);
	for (size_t len = 0; len < buf.len; len++) {
		char *exact = malloc(len + !len); /* so that a sanitizer sees one byte too many */
		struct rf_pack_reader reader;
		struct rf_err err;

		RF_REQUIRE(exact, "no memory");
		memcpy(exact, buf.data, len);
		rf_pack_read_init(&reader, exact, len);
		rf_pack_read_u32(&reader);
		rf_pack_read_u64(&reader);
		rf_pack_read_bool(&reader);
		rf_pack_read_string(&reader, 10);
		rf_pack_read_maybe(&reader, 10);
		free(rf_pack_read_strings(&reader, 3, 10));
		free(rf_pack_read_strings(&reader, 3, 10));
		rf_pack_read_err(&reader, &err);
		RF_CHECK(!rf_pack_is_whole(&reader), "%zu bytes of %zu are whole", len, buf.len);
		free(exact);
	}
}
