/* Who may begin something now: src/server/admit.c. */
#include "server/admit.h"

#include "harness.h"

#define SECOND 1000000000ull

RF_TEST(so_many_at_once)
{
	struct rf_admit admit;

	rf_admit_init(&admit, 2, 0);
	RF_CHECK(rf_admit_enter(&admit) && rf_admit_enter(&admit), "two");
	RF_CHECK(!rf_admit_enter(&admit), "and no third");
	rf_admit_leave(&admit);
	RF_CHECK(rf_admit_enter(&admit), "until one has left");
	for (int i = 0; i < 1000; i++)
		RF_CHECK(rf_admit_pace(&admit, 5) == 0, "without a rate, as often as they like");
}

RF_TEST(so_many_a_minute)
{
	struct rf_admit admit;
	uint64_t now = 1000 * SECOND;
	uint32_t wait_s;
	int passed = 0;

	rf_admit_init(&admit, 1, 60);
	while (rf_admit_pace(&admit, now) == 0)
		passed++;
	RF_CHECK(passed == 10, "%d at once", passed);
	wait_s = rf_admit_pace(&admit, now);
	RF_CHECK(wait_s == 1, "then one a second: %u", wait_s);
	RF_CHECK(rf_admit_pace(&admit, now + wait_s * SECOND) == 0, "and it comes true");
	for (int i = 0; i < 600; i++) /* ten minutes of trying ten times a second */
		for (int j = 0; j < 10; j++)
			passed += rf_admit_pace(&admit, now + (uint64_t)i * SECOND +
								(uint64_t)j * SECOND / 10) == 0;
	RF_CHECK(passed >= 600 && passed <= 612, "%d in ten minutes", passed);
}

RF_TEST(a_small_rate_has_a_small_burst)
{
	struct rf_admit admit;
	int passed = 0;

	rf_admit_init(&admit, 1, 3);
	while (rf_admit_pace(&admit, SECOND) == 0)
		passed++;
	RF_CHECK(passed == 3, "%d", passed);
	RF_CHECK(rf_admit_pace(&admit, SECOND) == 20, "%u", rf_admit_pace(&admit, SECOND));
}
