/* Limits and their values as people write them: src/policy/limit.c. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/limit.h"

#define MIB (1024ULL * 1024)

RF_TEST(values_are_read_as_their_unit_demands)
{
	/* clang-format off */
	static const struct { enum rf_limit limit; const char *text; uint64_t want; } cases[] = {
		{ RF_LIMIT_MEMORY,   "64M",      64 * MIB },
		{ RF_LIMIT_MEMORY,   "64m",      64 * MIB },
		{ RF_LIMIT_MEMORY,   "64MiB",    64 * MIB },
		{ RF_LIMIT_MEMORY,   "1.5G",     1536 * MIB },
		{ RF_LIMIT_MEMORY,   "8192K",    8 * MIB },
		{ RF_LIMIT_MEMORY,   "4194304",  4 * MIB },
		{ RF_LIMIT_MEMORY,   "4194304B", 4 * MIB },
		{ RF_LIMIT_MEMORY,   "16T",      16 * MIB * MIB },
		{ RF_LIMIT_OUTPUT,   "1024",     1024 },
		{ RF_LIMIT_OUTPUT,   "none",     RF_LIMIT_NONE },
		{ RF_LIMIT_TIME,     "1s",       1000 },
		{ RF_LIMIT_TIME,     "500ms",    500 },
		{ RF_LIMIT_TIME,     "1m30s",    90000 },
		{ RF_LIMIT_TIME,     "2h",       7200000 },
		{ RF_LIMIT_TIME,     "1.5s",     1500 },
		{ RF_LIMIT_TIME,     "0.5m",     30000 },
		{ RF_LIMIT_TIME,     "none",     RF_LIMIT_NONE },
		{ RF_LIMIT_CPU,      "50%",      50 },
		{ RF_LIMIT_CPU,      "150%",     150 },
		{ RF_LIMIT_CPU,      "none",     RF_LIMIT_NONE },
		{ RF_LIMIT_PIDS,     "1",        1 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		uint64_t value = 0;

		RF_CHECK(rf_limit_parse(cases[i].limit, cases[i].text, &value, &err) == 0, "%s: %s",
			 cases[i].text, err.msg);
		RF_CHECK(value == cases[i].want, "%s: %llu", cases[i].text,
			 (unsigned long long)value);
	}
}

RF_TEST(refusals_say_what_would_be_right)
{
	/* clang-format off */
	static const struct { enum rf_limit limit; const char *text, *msg, *hint; } cases[] = {
		{ RF_LIMIT_MEMORY, "",      "\"\" is not a size",         "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "0",     "\"0\" is out of range",      "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "1M",    "\"1M\" is out of range",     "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "17T",   "\"17T\" is out of range",    "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "-64M",  "\"-64M\" is not a size",     "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "64MB extra", "\"64MB extra\" is not a size", "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "64MB",  "\"64MB\" is not a size",     "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "none",  "\"none\" is not possible here", "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "1e30",  "\"1e30\" is not a size",     "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "4194304.5", "\"4194304.5\" is not a size", "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, " 64M",  "\" 64M\" is not a size",     "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "1000000000000000000000000000000",
		  "\"1000000000000000000000000000000\" is out of range", "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_MEMORY, "99999999999999999999T", "\"99999999999999999999T\" is out of range",
		  "write a size such as 64M, from 4M to 16T" },
		{ RF_LIMIT_TIME,   "60",    "\"60\" has no unit",         "write 60s for 60 seconds" },
		{ RF_LIMIT_TIME,   "0s",    "\"0s\" is out of range",     "write a time such as 1m30s, from 1ms to 8760h, or none" },
		{ RF_LIMIT_TIME,   "30s1m", "\"30s1m\" is not a time",    "write a time such as 1m30s, from 1ms to 8760h, or none" },
		{ RF_LIMIT_TIME,   "1s1s",  "\"1s1s\" is not a time",     "write a time such as 1m30s, from 1ms to 8760h, or none" },
		{ RF_LIMIT_TIME,   "1d",    "\"1d\" is not a time",       "write a time such as 1m30s, from 1ms to 8760h, or none" },
		{ RF_LIMIT_TIME,   "1.ms",  "\"1.ms\" is not a time",     "write a time such as 1m30s, from 1ms to 8760h, or none" },
		{ RF_LIMIT_TIME,   "0.5ms", "\"0.5ms\" is not a time",    "write a time such as 1m30s, from 1ms to 8760h, or none" },
		{ RF_LIMIT_CPU,    "50",    "\"50\" has no unit",         "write 50%; 100% is one core" },
		{ RF_LIMIT_CPU,    "0%",    "\"0%\" is out of range",     "write a share such as 50%, from 1% to 102400%, or none" },
		{ RF_LIMIT_CPU,    "1.5%",  "\"1.5%\" is not a share",    "write a share such as 50%, from 1% to 102400%, or none" },
		{ RF_LIMIT_PIDS,   "0",     "\"0\" is out of range",      "write a number such as 64, from 1 to 4194304" },
		{ RF_LIMIT_PIDS,   "many",  "\"many\" is not a number",   "write a number such as 64, from 1 to 4194304" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		uint64_t value = 7;

		RF_CHECK(rf_limit_parse(cases[i].limit, cases[i].text, &value, &err) == -EINVAL,
			 "%s was accepted", cases[i].text);
		RF_CHECK(value == 7, "%s: the result was written", cases[i].text);
		RF_CHECK(strcmp(err.msg, cases[i].msg) == 0, "%s: %s", cases[i].text, err.msg);
		RF_CHECK(strcmp(err.hint, cases[i].hint) == 0, "%s: %s", cases[i].text, err.hint);
	}
}

RF_TEST(what_is_written_reads_back_to_the_same_value)
{
	static const uint64_t values[] = { 1,           999,         1000,         1023,
					   1024,        1025,        61001,        90000,
					   3600000,     86399999,    4096,         65537,
					   4194304,     104857600,   1536 * MIB,   100,
					   15099494,    16 * MIB,    1000 * MIB,   MIB * MIB,
					   12345678901, 5 * MIB + 1, RF_LIMIT_NONE };

	for (int limit = 0; limit < RF_LIMIT_COUNT; limit++)
		for (size_t i = 0; i < RF_LEN(values); i++) {
			const struct rf_limit_info *info = &rf_limit_table[limit];
			struct rf_err err = RF_ERR_INIT;
			bool is_none = values[i] == RF_LIMIT_NONE;
			uint64_t back = 0;
			char text[32];

			if (is_none ? !info->may_be_none
				    : values[i] < info->min || values[i] > info->max)
				continue;
			rf_limit_format((enum rf_limit)limit, values[i], text, sizeof(text));
			RF_CHECK(rf_limit_parse((enum rf_limit)limit, text, &back, &err) == 0 &&
					 back == values[i],
				 "%s: %s %s", info->key, text, err.msg);
		}
}

RF_TEST(every_row_is_complete_and_its_default_is_in_range)
{
	for (int i = 0; i < RF_LIMIT_COUNT; i++) {
		const struct rf_limit_info *info = &rf_limit_table[i];

		RF_REQUIRE(info->key && info->cause && info->help, "row %d", i);
		RF_CHECK(info->for_run >= info->min && info->for_run <= info->max, "%s", info->key);
		RF_CHECK((info->for_shell >= info->min && info->for_shell <= info->max) ||
				 (info->for_shell == RF_LIMIT_NONE && info->may_be_none),
			 "%s", info->key);
	}
}
