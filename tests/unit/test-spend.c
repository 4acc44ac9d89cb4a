/* How often something was used: src/gateway/spend.c. */
#include "gateway/spend.h"

#include "harness.h"

#define DAY 86400000ull

RF_TEST(a_budget_is_spent_and_comes_back)
{
	struct rf_spend spend = { 0 };
	uint64_t wait;

	for (int i = 0; i < 5; i++)
		RF_CHECK(rf_spend_take(&spend, 5, DAY, 1000 + (uint64_t)i) == 0, "use %d", i);
	wait = rf_spend_take(&spend, 5, DAY, 2000);
	RF_CHECK(wait >= DAY - 2000 && wait <= DAY + DAY / 16, "%llu", (unsigned long long)wait);
	RF_CHECK(rf_spend_take(&spend, 5, DAY, 2000 + wait - 1) > 0, "too early");
	RF_CHECK(rf_spend_take(&spend, 5, DAY, 2000 + wait) == 0, "not when it said");
	RF_CHECK(rf_spend_take(&spend, UINT64_MAX, DAY, 0) == 0, "none is none");
	RF_CHECK(rf_spend_take(&(struct rf_spend){ 0 }, 0, DAY, 0) > 0, "nothing is nothing");
}

RF_TEST(in_no_period_is_more_admitted_than_its_budget)
{
	enum {
		BUDGET = 7,
		PERIOD = 1000,
		TURNS = 20000
	};
	struct rf_spend spend = { 0 };
	static uint64_t taken[TURNS];
	uint64_t now = 5, seed = 42;
	int count = 0;

	for (int i = 0; i < TURNS; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		now += (seed >> 33) % 200;
		if (rf_spend_take(&spend, BUDGET, PERIOD, now) == 0)
			taken[count++] = now;
		if (count > BUDGET)
			RF_REQUIRE(
				taken[count - 1] - taken[count - 1 - BUDGET] >= PERIOD,
				"%d within %llu ms", BUDGET + 1,
				(unsigned long long)(taken[count - 1] - taken[count - 1 - BUDGET]));
	}
	RF_CHECK(count > (int)(now / PERIOD) * BUDGET * 8 / 10, "only %d in %llu ms", count,
		 (unsigned long long)now);
}
