/* Time that never goes back: src/watch/clock.c. */
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/clock.h"

RF_TEST(time_goes_on_from_where_a_clock_went_back)
{
	/* clang-format off */
	static const struct { uint64_t mono, now; } steps[] = {
		{ 1000, 1000 }, { 1500, 1500 },
		{ 200, 1500 },               /* back */
		{ 300, 1600 },
		{ 1000300, 1001600 },        /* forward */
		{ UINT64_MAX, RF_CLOCK_NEVER / 2 },
		{ 0, RF_CLOCK_NEVER / 2 }, { UINT64_MAX, RF_CLOCK_NEVER / 2 },
	};
	/* clang-format on */
	struct rf_clock clock = { 0 };

	for (size_t i = 0; i < RF_LEN(steps); i++)
		RF_CHECK(rf_clock_at(&clock, steps[i].mono) == steps[i].now, "step %zu: %llu", i,
			 (unsigned long long)clock.now);
}

RF_TEST(later_than_the_end_of_time_is_never)
{
	RF_CHECK(rf_clock_after(5, 7) == 12, "a while");
	RF_CHECK(rf_clock_after(5, RF_CLOCK_NEVER) == RF_CLOCK_NEVER, "never");
	RF_CHECK(rf_clock_after(RF_CLOCK_NEVER / 2, RF_CLOCK_NEVER / 2 + 1) == RF_CLOCK_NEVER,
		 "the end");
}

RF_TEST(a_successor_of_the_same_boot_counts_what_passed_meanwhile)
{
	/* clang-format off */
	static const struct { const char *boot; uint64_t mono, now; } cases[] = {
		{ "this", 1700, 1700 },
		{ "this", 900, 1000 },  /* went back */
		{ "other", 40, 1000 },  /* began anew */
		{ "other", 9000, 1000 },
	};
	/* clang-format on */
	struct rf_clock clock = { 0 }, next = { 0 };
	struct rf_pack_reader reader;
	RF_AUTO_BUF struct rf_buf buf;

	rf_buf_init(&buf, 4096);
	rf_clock_at(&clock, 1000);
	rf_clock_pack(&clock, "this", &buf);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		rf_pack_read_init(&reader, buf.data, buf.len);
		rf_clock_unpack(&next, cases[i].boot, cases[i].mono, &reader);
		RF_CHECK(rf_pack_is_whole(&reader) && next.now == cases[i].now, "case %zu: %llu", i,
			 (unsigned long long)next.now);
		RF_CHECK(rf_clock_at(&next, cases[i].mono + 5) == cases[i].now + 5, "case %zu", i);
	}
}
