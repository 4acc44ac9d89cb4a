/* When a box is ended for the disk of workspaces: src/warden/free-space.c. */
#include "base/fd.h"
#include "harness.h"
#include "warden/free-space.h"

#define M  (1024ull * 1024)
#define MS 1000000ull

RF_TEST(the_disk_is_looked_at_as_often_as_the_margin_could_be_reached)
{
	/* clang-format off */
	static const struct { uint64_t left, margin, pause; } cases[] = {
		{ 100000 * M, 64 * M, 1000 * MS },
		{ 464 * M,    64 * M, 100 * MS },
		{ 65 * M,     64 * M, 10 * MS },
		{ 64 * M,     64 * M, 10 * MS },
		{ 0,          64 * M, 10 * MS },
		{ UINT64_MAX, 0,      1000 * MS },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_free_space_pause(cases[i].left, cases[i].margin) == cases[i].pause,
			 "case %zu: %llu", i,
			 (unsigned long long)rf_free_space_pause(cases[i].left, cases[i].margin));
}

RF_TEST(a_box_is_ended_below_the_margin_and_the_next_one_only_when_more_is_gone)
{
	/* clang-format off */
	static const struct { uint64_t left, margin, stopped_at; bool is_due; } cases[] = {
		{ 64 * M, 64 * M, 0,      false },
		{ 63 * M, 64 * M, 0,      true },
		{ 0,      64 * M, 0,      true },
		{ 63 * M, 64 * M, 63 * M, false },
		{ 56 * M, 64 * M, 63 * M, false },
		{ 55 * M, 64 * M, 63 * M, true },
		{ 70 * M, 64 * M, 90 * M, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_free_space_is_due(cases[i].left, cases[i].margin,
					      cases[i].stopped_at) == cases[i].is_due,
			 "case %zu", i);
}
