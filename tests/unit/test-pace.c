/* Rates and bytes a second, on a clock of our own. */
#include "gateway/pace.h"
#include "harness.h"

#define SECOND 1000000000ull

RF_TEST(a_rate_lets_as_many_pass_at_once_and_then_one_by_one)
{
	struct rf_pace_rate rate;
	uint64_t now = 50 * SECOND, wait;

	rf_pace_rate_init(&rate, 10, SECOND, 10);
	for (int i = 0; i < 10; i++)
		RF_CHECK(rf_pace_rate_take(&rate, now) == 0, "%d", i);
	wait = rf_pace_rate_take(&rate, now);
	RF_CHECK(wait == SECOND / 10, "%llu", (unsigned long long)wait);
	RF_CHECK(rf_pace_rate_take(&rate, now + wait - 1) == 1, "a bit early");
	RF_CHECK(rf_pace_rate_take(&rate, now + wait) == 0, "in time");
	RF_CHECK(rf_pace_rate_take(&rate, now + wait) > 0, "no second one");
}

RF_TEST(no_window_is_ever_used_twice)
{
	struct rf_pace_rate rate;
	unsigned passed = 0;

	rf_pace_rate_init(&rate, 100, 60 * SECOND, 100);
	/* Over any 60 s, from any begin: at most what was saved, and what came. */
	for (uint64_t now = SECOND; now < 121 * SECOND; now += SECOND / 100)
		passed += rf_pace_rate_take(&rate, now) == 0;
	RF_CHECK(passed >= 298 && passed <= 300, "100 at once and 100 a minute for two: %u",
		 passed);
}

RF_TEST(no_rate_is_no_limit)
{
	struct rf_pace_rate rate;

	rf_pace_rate_init(&rate, 0, SECOND, 0);
	for (int i = 0; i < 1000; i++)
		RF_CHECK(rf_pace_rate_take(&rate, 5) == 0, "%d", i);
}

RF_TEST(a_clock_that_stands_still_gives_nothing_more)
{
	struct rf_pace_rate rate;
	unsigned passed = 0;

	rf_pace_rate_init(&rate, 3, SECOND, 3);
	for (int i = 0; i < 100; i++)
		passed += rf_pace_rate_take(&rate, 7 * SECOND) == 0;
	RF_CHECK(passed == 3, "%u", passed);
}

static uint64_t run_bytes(uint64_t rate, size_t want, uint64_t seconds)
{
	struct rf_pace_bytes bytes;
	uint64_t now = 9 * SECOND, end = now + seconds * SECOND, total = 0, wait;

	rf_pace_bytes_init(&bytes, rate, now);
	while (now < end) {
		size_t room = rf_pace_bytes_room(&bytes, want, now, &wait);

		if (room == 0) {
			RF_REQUIRE(wait > 0, "never");
			now += wait;
			continue;
		}
		RF_REQUIRE(room <= want, "%zu", room);
		rf_pace_bytes_spend(&bytes, room);
		total += room;
	}
	return total;
}

RF_TEST(bytes_come_at_their_rate_whatever_the_pieces)
{
	static const size_t wants[] = { 1, 100, 4096, 65536, 10000000 };

	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		uint64_t total = wants[i] == 1 ? 10 * run_bytes(100000, 1, 1)
					       : run_bytes(1000000, wants[i], 1);

		RF_CHECK(total > 950000 && total <= 1160000, "pieces of %zu: %llu", wants[i],
			 (unsigned long long)total);
	}
	RF_CHECK(run_bytes(100, 65536, 100) < 4096 + 100 * 100 + 4096, "slow ones too");
}
