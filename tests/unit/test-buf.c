/* A growing run of bytes with a maximum: src/base/buf.c. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"

RF_TEST(appends_stop_at_the_maximum_and_keep_what_was_there)
{
	/* clang-format off */
	static const struct { size_t max; const char *add[3]; const char *want; bool fails; } cases[] = {
		{ 0,  { "",      "",    ""  }, "",       false },
		{ 0,  { "a",     "",    ""  }, "",       true  },
		{ 3,  { "a",     "b",   "c" }, "abc",    false }, /* full, and nothing lost */
		{ 3,  { "ab",    "cd",  "e" }, "ab",     true  }, /* "e" would fit: ignored all the same */
		{ 6,  { "abc",   "def", ""  }, "abcdef", false },
		{ 5,  { "abcdef", "",   ""  }, "",       true  },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf plain, printed;

		rf_buf_init(&plain, cases[i].max);
		rf_buf_init(&printed, cases[i].max);
		for (size_t k = 0; k < RF_LEN(cases[i].add); k++) {
			rf_buf_puts(&plain, cases[i].add[k]);
			rf_buf_printf(&printed, "%s", cases[i].add[k]);
		}
		for (int k = 0; k < 2; k++) {
			const struct rf_buf *buf = k ? &printed : &plain;
			const char *data = buf->data ? buf->data : "";

			RF_CHECK(buf->has_failed == cases[i].fails, "case %zu.%d", i, k);
			RF_CHECK(buf->len == strlen(cases[i].want), "case %zu.%d: %zu", i, k,
				 buf->len);
			RF_CHECK(strcmp(data, cases[i].want) == 0, "case %zu.%d: '%s'", i, k, data);
		}
	}
}

RF_TEST(a_length_near_the_end_of_numbers_fails_without_touching_memory)
{
	static const size_t lengths[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1, 101 };

	for (size_t i = 0; i < RF_LEN(lengths); i++) {
		RF_AUTO_BUF struct rf_buf buf;

		rf_buf_init(&buf, 100);
		rf_buf_puts(&buf, "x");
		rf_buf_add(&buf, "", lengths[i]);
		RF_CHECK(buf.has_failed && buf.len == 1, "%zu bytes were taken", lengths[i]);
	}
}

RF_TEST(bytes_survive_growth_and_are_followed_by_a_nul)
{
	RF_AUTO_BUF struct rf_buf buf;

	rf_buf_init(&buf, SIZE_MAX);
	for (unsigned i = 0; i < 100000; i++) {
		const unsigned char byte = (unsigned char)(i * 7);

		rf_buf_add(&buf, &byte, 1);
		RF_REQUIRE(!buf.has_failed && buf.len == i + 1 && buf.len < buf.room, "at %u", i);
		RF_REQUIRE(buf.data[buf.len] == '\0', "no NUL after byte %u", i);
	}
	for (unsigned i = 0; i < 100000; i++)
		RF_REQUIRE((unsigned char)buf.data[i] == (unsigned char)(i * 7), "byte %u", i);
}

RF_TEST(printf_appends_at_every_length_around_a_growth)
{
	for (int len = 0; len < 300; len++) {
		RF_AUTO_BUF struct rf_buf buf;

		rf_buf_init(&buf, 1000);
		rf_buf_puts(&buf, "<");
		rf_buf_printf(&buf, "%*s|%d", len, "", len);
		RF_CHECK(!buf.has_failed && buf.len == strlen(buf.data), "len %d", len);
		RF_CHECK(buf.data[0] == '<' && buf.data[len + 1] == '|', "len %d", len);
		RF_CHECK(atoi(buf.data + len + 2) == len, "len %d: '%s'", len, buf.data);
	}
}

RF_TEST(clear_forgets_content_and_failure)
{
	RF_AUTO_BUF struct rf_buf buf;

	rf_buf_init(&buf, 4);
	rf_buf_clear(&buf); /* before anything was added */
	rf_buf_puts(&buf, "abc");
	rf_buf_puts(&buf, "de");
	RF_REQUIRE(buf.has_failed, "it took 5 bytes of 4");
	rf_buf_clear(&buf);
	RF_CHECK(!buf.has_failed && buf.len == 0 && buf.data[0] == '\0', "not empty");
	rf_buf_puts(&buf, "wxyz");
	RF_CHECK(!buf.has_failed && strcmp(buf.data, "wxyz") == 0, "'%s'", buf.data);
}

RF_TEST(take_gives_the_bytes_once_and_nothing_of_a_failed_buffer)
{
	/* clang-format off */
	static const struct { const char *add, *want; } cases[] = {
		{ NULL,   "" }, /* never used: an empty text, as NULL means failure */
		{ "",     "" },
		{ "abcd", "abcd" },
		{ "abcde", NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf buf;
		char *taken;

		rf_buf_init(&buf, 4);
		if (cases[i].add)
			rf_buf_puts(&buf, cases[i].add);
		taken = rf_buf_take(&buf);
		RF_CHECK(!taken == !cases[i].want, "case %zu gave '%s'", i, taken);
		if (taken && cases[i].want)
			RF_CHECK(strcmp(taken, cases[i].want) == 0, "'%s'", taken);
		free(taken);
		RF_CHECK(!buf.data && buf.len == 0 && !buf.has_failed, "case %zu: not empty", i);
		rf_buf_puts(&buf, "12345");
		RF_CHECK(buf.has_failed, "case %zu: the maximum is forgotten", i);
	}
}

RF_TEST(done_accepts_null_unused_and_done_buffers)
{
	struct rf_buf buf;

	rf_buf_done(NULL);
	rf_buf_init(&buf, 10);
	rf_buf_done(&buf);
	rf_buf_puts(&buf, "x");
	rf_buf_done(&buf);
	rf_buf_done(&buf);
	RF_CHECK(!buf.data && buf.len == 0, "not empty");
}
