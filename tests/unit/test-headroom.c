/* Whether this machine has memory for one more box: src/warden/headroom.c. */
#include "base/fd.h"
#include "harness.h"
#include "warden/headroom.h"

#define M (1024ull * 1024)

RF_TEST(a_box_is_begun_where_all_have_their_reserve_beside_the_margin)
{
	/* clang-format off */
	static const struct { uint64_t available, margin, reserve, lacking; bool fits; } cases[] = {
		{ 1000 * M, 100 * M, 16 * M, 0,        true },
		{ 116 * M,  100 * M, 16 * M, 0,        true },
		{ 115 * M,  100 * M, 16 * M, 0,        false },
		{ 116 * M,  100 * M, 16 * M, 1,        false },
		{ 132 * M,  100 * M, 16 * M, 16 * M,   true },
		{ 50 * M,   100 * M, 16 * M, 0,        false }, /* the margin is gone already */
		{ 0,        0,       0,      0,        true },
		{ UINT64_MAX, 100 * M, 16 * M, 4096 * 16 * M, true }, /* nobody says what there is */
		{ 100 * M,  0,       16 * M, UINT64_MAX, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_headroom_fits(cases[i].available, cases[i].margin, cases[i].reserve,
					  cases[i].lacking) == cases[i].fits,
			 "case %zu", i);
}

RF_TEST(what_is_available_is_read_from_its_own_line)
{
	/* clang-format off */
	static const struct { const char *text; uint64_t bytes; } cases[] = {
		{ "MemTotal:       100 kB\nMemFree:  1 kB\nMemAvailable:   50 kB\n", 50 * 1024 },
		{ "MemAvailable: 7 kB", 7 * 1024 },
		{ "XMemAvailable: 7 kB\n", UINT64_MAX },
		{ "MemAvailable: 7 MB\n", UINT64_MAX },
		{ "MemAvailable: 99999999999999999999999 kB\n", UINT64_MAX },
		{ "", UINT64_MAX },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_headroom_read(cases[i].text) == cases[i].bytes, "case %zu", i);
}
