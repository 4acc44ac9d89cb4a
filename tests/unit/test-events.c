/* Where a character is cut: src/server/events.c. */
#include "server/events.h"

#include "harness.h"

RF_TEST(a_character_that_is_not_whole_is_held)
{
	/* clang-format off */
	static const struct { const char *bytes; size_t len, rest; } cases[] = {
		{ "",                 0, 0 }, { "abc",              3, 0 }, { "\xc3\xa4",         2, 0 },
		{ "a\xc3",            2, 1 }, { "\xe2\x82",         2, 2 }, { "x\xe2\x82\xac",    4, 0 },
		{ "\xf0\x9f\x98",     3, 3 }, { "\xf0\x9f\x98\x80", 4, 0 }, { "\xf0",             1, 1 },
		/* What can't become a character is not held. */
		{ "a\xff",            2, 0 }, { "\x80\x80\x80",     3, 0 }, { "\xc0",             1, 0 },
		{ "\xf0\x9f\x98\x80\x80", 5, 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t rest = rf_events_rest(cases[i].bytes, cases[i].len);

		RF_CHECK(rest == cases[i].rest, "case %zu: %zu", i, rest);
	}
}
