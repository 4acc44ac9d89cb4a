/* The part of a file that a request asks for: src/server/range.c. */
#include "server/range.h"

#include <stddef.h>

#include "harness.h"

RF_TEST(a_range_is_read_as_it_is_meant_or_not_at_all)
{
	/* clang-format off */
	static const struct { const char *text; uint64_t size; bool is_one, is_there; uint64_t first, count; } cases[] = {
		{ "bytes=0-0",                     10, true,  true,  0, 1 },
		{ "bytes=0-",                      10, true,  true,  0, 10 },
		{ "bytes=3-5",                     10, true,  true,  3, 3 },
		{ "BYTES=3-5",                     10, true,  true,  3, 3 },
		{ "bytes= 3-5 ",                   10, true,  true,  3, 3 },
		{ "bytes=003-005",                 10, true,  true,  3, 3 },
		{ "bytes=3-500",                   10, true,  true,  3, 7 },
		{ "bytes=-4",                      10, true,  true,  6, 4 },
		{ "bytes=-40",                     10, true,  true,  0, 10 },
		{ "bytes=9223372036854775807-",    10, true,  false, 0, 0 },
		{ "bytes=0-9223372036854775807",   10, true,  true,  0, 10 },
		{ "bytes=10-",                     10, true,  false, 0, 0 },
		{ "bytes=-0",                      10, true,  false, 0, 0 },
		{ "bytes=0-",                       0, true,  false, 0, 0 },
		{ "bytes=-1",                       0, true,  false, 0, 0 },
		{ "",                              10, false, false, 0, 0 },
		{ "bytes",                         10, false, false, 0, 0 },
		{ "bytes=",                        10, false, false, 0, 0 },
		{ "bytes=-",                       10, false, false, 0, 0 },
		{ "bytes=5",                       10, false, false, 0, 0 },
		{ "bytes=5-4",                     10, false, false, 0, 0 },
		{ "bytes=a-4",                     10, false, false, 0, 0 },
		{ "bytes=1-b",                     10, false, false, 0, 0 },
		{ "bytes=+1-2",                    10, false, false, 0, 0 },
		{ "bytes=1-2-3",                   10, false, false, 0, 0 },
		{ "bytes=1--3",                    10, false, false, 0, 0 },
		{ "bytes=0-1,3-4",                 10, false, false, 0, 0 },
		{ "bytes=9223372036854775808-",    10, false, false, 0, 0 },
		{ "lines=0-1",                     10, false, false, 0, 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rf_range range;
		uint64_t first = 0, count = 0;
		bool is_one = rf_range_parse(cases[i].text, &range);

		RF_CHECK(is_one == cases[i].is_one, "%s", cases[i].text);
		if (!is_one)
			continue;
		RF_CHECK(rf_range_of(&range, cases[i].size, &first, &count) == cases[i].is_there,
			 "%s: it is there", cases[i].text);
		RF_CHECK(first == cases[i].first && count == cases[i].count, "%s: %llu, %llu",
			 cases[i].text, (unsigned long long)first, (unsigned long long)count);
	}
}
