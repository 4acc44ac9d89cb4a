/* Which changes of an apply are meant: src/workspace/only.c. */
#include <stddef.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/only.h"

RF_TEST(a_path_is_covered_by_itself_and_by_what_it_lies_in)
{
	/* clang-format off */
	static const struct { const char *only, *path; bool covers, is; } cases[] = {
		{ "src",       "src",        true,  true  },
		{ "src",       "src/a",      true,  false },
		{ "src/",      "src/a/b",    true,  false },
		{ "src//",     "src",        true,  false },
		{ "src",       "srcs",       false, false },
		{ "src/a",     "src",        false, false },
		{ "src/a",     "src/a",      true,  true  },
		{ ".",         "anything",   true,  false },
		{ "/",         "anything",   false, false },
		{ "",          "anything",   false, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *only[] = { cases[i].only, NULL };

		RF_CHECK(rf_only_covers(only, cases[i].path) == cases[i].covers, "%s covers %s",
			 cases[i].only, cases[i].path);
		RF_CHECK(rf_only_is(only, cases[i].path) == cases[i].is, "%s is %s", cases[i].only,
			 cases[i].path);
	}
	RF_CHECK(!rf_only_covers(NULL, "a") && !rf_only_is(NULL, "a"), "nothing names something");
}

RF_TEST(a_folder_is_on_the_way_only_if_it_is_new)
{
	const char *const only[] = { "new/deep/file", NULL };
	char deep[] = "new/deep", part[] = "new/de";
	const struct rf_change made = { .path = deep, .after.mode = S_IFDIR | 0755 };
	const struct rf_change kept = { .path = deep,
					.before.mode = S_IFDIR | 0700,
					.after.mode = S_IFDIR | 0755 };
	const struct rf_change file = { .path = deep, .after.mode = S_IFREG | 0644 };
	const struct rf_change other = { .path = part, .after.mode = S_IFDIR | 0755 };

	RF_CHECK(rf_only_is_way(only, &made), "a new folder is not made");
	RF_CHECK(!rf_only_is_way(only, &kept) && !rf_only_is_way(only, &file) &&
			 !rf_only_is_way(only, &other),
		 "what is no new folder above is taken for one");
}
