/* What is odd about a run: src/watch/anomaly.c. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/anomaly.h"

RF_TEST(each_rule_fits_what_it_is_about_and_nothing_else)
{
	/* clang-format off */
	static const struct { struct rf_anomaly_facts facts; const char *want; } cases[] = {
		{ { "ok", 0, 0 },         "" },
		{ { "failed", 49, 0 },    "" },
		{ { "timeout", 0, 99 },   "" },
		{ { "", 0, 0 },           "" },
		{ { "pids", 0, 0 },       "fork_storm" },
		{ { "disk", 0, 0 },       "write_storm" },
		{ { "output", 0, 0 },     "write_storm" },
		{ { "ok", 50, 0 },        "denial_storm" },
		{ { "", 0, 100 },         "hammering" },
		{ { "", 0, 101 },         "" },
		{ { "", 0, 200 },         "hammering" },
		{ { "pids", 1000, 0 },    "fork_storm denial_storm" },
	};
	/* clang-format on */
	const struct rf_anomaly *found[8];

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		size_t count = rf_anomaly_find(&cases[i].facts, found, RF_LEN(found)), len = 0;
		char text[128] = "";

		for (size_t k = 0; k < count; k++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						k ? " " : "", found[k]->name);
		RF_CHECK(strcmp(text, cases[i].want) == 0, "case %zu: %s", i, text);
	}
	RF_CHECK(rf_anomaly_find(&cases[RF_LEN(cases) - 1].facts, found, 1) == 1, "no room");
}
