/* What a watcher was started with: src/watch/settings.c. */
#include "watch/settings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

static char told[4096];

static void note(void *data, const char *name, const char *from, const char *to)
{
	size_t len = strlen(told);

	(void)data;
	snprintf(told + len, sizeof(told) - len, "%s: %s -> %s; ", name, from, to);
}

RF_TEST(what_differs_is_told_and_nothing_else)
{
	/* clang-format off */
	static const struct { const char *before, *now, *told; } cases[] = {
		{ "",                       "",                         "" },
		{ "a 1\nb 2\n",             "a 1\nb 2\n",               "" },
		{ "a 1\nb 2\n",             "b 2\na 1\n",               "" },
		{ "a 1\nb 2\n",             "a 1\nb 3\n",               "b: 2 -> 3; " },
		{ "a 1\n",                  "a 1\nb x y\n",             "b:  -> x y; " },
		{ "a 1\nb 2\n",             "a 1\n",                    "b: 2 -> ; " },
		{ "nonsense\n\n b\na 1",    "a 1\n",                    "" },
		{ "a \x1b[31m\xff\n",       "a 1\n",                    "a: ?[31m? -> 1; " },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		told[0] = '\0';
		rf_settings_compare(cases[i].before, cases[i].now, note, NULL);
		RF_CHECK(strcmp(told, cases[i].told) == 0, "case %zu: %s", i, told);
	}
}

RF_TEST(a_long_one_is_cut)
{
	char now[1024];

	memset(now, 'x', sizeof(now));
	memcpy(now, "a ", 2);
	now[sizeof(now) - 1] = '\0';
	told[0] = '\0';
	rf_settings_compare("", now, note, NULL);
	RF_CHECK(strlen(told) < RF_SETTINGS_LINE + 16, "%zu", strlen(told));
}

RF_TEST(the_next_one_knows_what_the_last_one_had)
{
	char path[] = "/tmp/rf-settings-XXXXXX";
	RF_AUTO_FD int dir = -1;

	RF_REQUIRE(mkdtemp(path), "a folder");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RF_CHECK(rf_settings_note(dir, "a 1\n", note, NULL) == 0 && !told[0], "the first: %s",
		 told);
	RF_CHECK(rf_settings_note(dir, "a 1\n", note, NULL) == 0 && !told[0], "the same: %s", told);
	RF_CHECK(rf_settings_note(dir, "a 2\n", note, NULL) == 0 &&
			 strcmp(told, "a: 1 -> 2; ") == 0,
		 "%s", told);
	unlinkat(dir, "settings", 0);
	rmdir(path);
}
