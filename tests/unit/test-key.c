/* The table of keys: src/policy/key.c. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/key.h"

RF_TEST(every_key_has_a_row_and_is_found_by_its_path)
{
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		const struct rf_key_info *info = &rf_key_table[i];

		RF_REQUIRE(info->path, "key %d has no row", i);
		RF_CHECK(rf_key_find(info->path) == i, "%s", info->path);
		RF_CHECK(info->help || rf_key_figure((enum rf_key)i), "%s has no help", info->path);
		RF_CHECK(!info->choices == (info->type != RF_KEY_TYPE_CHOICE), "%s", info->path);
	}
	for (int i = 0; i < RF_LIMIT_COUNT; i++)
		RF_CHECK(strcmp(rf_key_name((enum rf_key)(RF_KEY_LIMIT + i)),
				rf_limit_table[i].key) == 0,
			 "limits.%s", rf_limit_table[i].key);
	for (int i = 0; i < RF_QUOTA_COUNT; i++)
		RF_CHECK(strcmp(rf_key_name((enum rf_key)(RF_KEY_QUOTA + i)),
				rf_quota_table[i].key) == 0,
			 "%s", rf_quota_table[i].key);
}

RF_TEST(every_dotted_key_lies_in_a_section)
{
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		const char *path = rf_key_table[i].path, *dot = strchr(path, '.');
		char section[32] = "";

		if (!dot)
			continue;
		memcpy(section, path, (size_t)(dot - path));
		RF_CHECK(rf_key_find_section(section) >= 0, "%s", path);
	}
}

RF_TEST(an_unknown_key_is_answered_with_the_nearest_name)
{
	/* clang-format off */
	static const struct { const char *path, *hint; } cases[] = {
		{ "limits.memroy",     "did you mean \"memory\"?" },
		{ "limits.mem",        "did you mean \"memory\"?" },
		{ "limits.cputime",    "did you mean \"cpu_time\"?" },
		{ "limits.openfiles",  "did you mean \"open_files\"?" },
		{ "files.reed",        "did you mean \"read\"?" },
		{ "network.loop",      "did you mean \"loopback\"?" },
		{ "enviroment",        "did you mean \"env\"?" },
		{ "environment",       "did you mean \"env\"?" },
		{ "Limits",            "did you mean \"limits\"?" },
		{ "pids",              "did you mean \"limits.pids\"?" },
		{ "files.memory",      "did you mean \"limits.memory\"?" },
		{ "xyzzy",             "" },
		{ "",                  "" },
		{ "a-very-long-name-that-is-like-nothing-else", "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_key_refuse(cases[i].path, &err) == -EINVAL, "%s", cases[i].path);
		RF_CHECK(strcmp(err.hint, cases[i].hint) == 0, "%s: %s", cases[i].path, err.hint);
	}
}

RF_TEST(stricter_is_less_or_more_as_the_key_has_it)
{
	RF_CHECK(rf_key_is_as_strict(RF_KEY_LINK, RF_LINK_NONE, RF_LINK_HOST), "link");
	RF_CHECK(!rf_key_is_as_strict(RF_KEY_LINK, RF_LINK_HOST, RF_LINK_NONE), "link");
	RF_CHECK(rf_key_is_as_strict(RF_KEY_SYSCALLS, RF_SYSCALLS_STRICT, RF_SYSCALLS_DEFAULT),
		 "syscalls");
	RF_CHECK(rf_key_is_as_strict(RF_KEY_SYSCALLS, RF_SYSCALLS_DEFAULT, RF_SYSCALLS_FLOOR) &&
			 !rf_key_is_as_strict(RF_KEY_SYSCALLS, RF_SYSCALLS_FLOOR,
					      RF_SYSCALLS_DEFAULT),
		 "syscalls");
	RF_CHECK(rf_key_is_as_strict(RF_KEY_REQUIRE, RF_REQUIRE_HARD, RF_REQUIRE_ANY), "require");
	RF_CHECK(rf_key_is_as_strict(RF_KEY_WEAKER, RF_WEAKER_REFUSE, RF_WEAKER_ALLOW), "weaker");
	RF_CHECK(!rf_key_is_as_strict(RF_KEY_LIMIT, RF_LIMIT_NONE, 1), "limits.memory");
	RF_CHECK(rf_key_is_as_strict(RF_KEY_LIMIT, 1, RF_LIMIT_NONE), "limits.memory");
}
