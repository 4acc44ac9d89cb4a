/* Characters of UTF-8 text: src/base/rune.c. */
#include <string.h>

#include "base/fd.h"
#include "base/rune.h"
#include "harness.h"

RF_TEST(characters_are_taken_whole_or_not_at_all)
{
	/* clang-format off */
	static const struct { const char *text; size_t len, want; uint32_t rune; } cases[] = {
		{ "",                 0, 0, 0 },
		{ "a",                1, 1, 'a' },
		{ "\0",               1, 1, 0 },
		{ "\xc3\xa4",         2, 2, 0xe4 },
		{ "\xe2\x82\xac",     3, 3, 0x20ac },
		{ "\xf0\x9f\x98\x80", 4, 4, 0x1f600 },
		{ "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
		{ "\xc3",             1, 0, 0 }, /* cut off */
		{ "\xe2\x82",         2, 0, 0 },
		{ "\xe2\x28\xa1",     3, 0, 0 }, /* no continuation */
		{ "\x80",             1, 0, 0 }, /* nothing to continue */
		{ "\xc0\x80",         2, 0, 0 }, /* overlong */
		{ "\xe0\x80\x80",     3, 0, 0 },
		{ "\xf0\x80\x80\x80", 4, 0, 0 },
		{ "\xed\xa0\x80",     3, 0, 0 }, /* a surrogate */
		{ "\xf4\x90\x80\x80", 4, 0, 0 }, /* beyond the last */
		{ "\xff",             1, 0, 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		uint32_t rune = 0;
		size_t n = rf_rune_take(cases[i].text, cases[i].len, &rune);

		RF_CHECK(n == cases[i].want && rune == cases[i].rune, "case %zu: %zu bytes, %x", i,
			 n, rune);
	}
}

RF_TEST(messages_can_not_act_on_a_terminal)
{
	struct rf_err err = RF_ERR_INIT;

	strcpy(err.msg, "a\x1b[31m\xc2\x9b\x07\xff\xc3\xa4");
	strcpy(err.hint, "\x7f\xe2\x82");
	rf_rune_tidy(&err);
	RF_CHECK(strcmp(err.msg, "a?[31m???\xc3\xa4") == 0, "%s", err.msg);
	RF_CHECK(strcmp(err.hint, "???") == 0, "%s", err.hint);
}

RF_TEST(what_a_reader_does_not_see_is_hidden)
{
	/* clang-format off */
	static const struct { uint32_t rune, before; bool want; } cases[] = {
		{ 'a',     0,      false }, { 0xa0,   0,      false }, { 0xad,    0,      true },
		{ 0x61c,   0,      true  }, { 0x200b, 0xe4,   true  }, { 0x200e,  0,      true },
		{ 0x2027,  0,      false }, { 0x2028, 0,      true  }, { 0x202e,  0x5d0,  true },
		{ 0x202f,  0,      false }, { 0x2066, 0,      true  }, { 0xfeff,  0,      true },
		{ 0x200d,  'a',    true  }, { 0x200d, 0x628,  false }, { 0xfe0f,  '1',    true },
		{ 0xfe0f,  0x26a0, false }, { 0x1f600, 0,     false }, { 0xe0041, 0x1f600, true },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_rune_is_hidden(cases[i].rune, cases[i].before) == cases[i].want,
			 "U+%04X", cases[i].rune);
}
