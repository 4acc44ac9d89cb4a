/* Paths with `..` on the command line: src/cli/dots.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/dots.h"
#include "harness.h"

RF_TEST(dots_are_looked_up_and_all_else_stays)
{
	/* clang-format off */
	static const struct { const char *rule, *want; } cases[] = {
		{ "",                "" },
		{ "data",            "data" },
		{ "..data/a..b/...", "..data/a..b/..." },
		{ "x:/a/../b",       "x:/a/../b" }, /* the place is the policy's business */
		{ "..",              "/b" },
		{ "../..",           "/" },
		{ "../c:/data",      "/b/c:/data" },
		{ "./../d/../c",     "/b/c" },
		{ "../link/..",      "/b" }, /* as the kernel has it: the link leads to /b/c */
	};
	/* clang-format on */
	char top[] = "/tmp/rf-test-dots-XXXXXX", path[256];
	struct rf_err err;

	RF_REQUIRE(mkdtemp(top) && chdir(top) == 0, "a folder");
	RF_REQUIRE(mkdir("b", 0700) == 0 && mkdir("b/c", 0700) == 0 && mkdir("b/d", 0700) == 0 &&
			   symlink("c", "b/link") == 0 && chdir("b/d") == 0,
		   "what is in it");
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char *rule = NULL;

		RF_CHECK(rf_dots_resolve(cases[i].rule, &rule, &err) == 0, "%s", cases[i].rule);
		snprintf(path, sizeof(path), "%s%s",
			 strstr(cases[i].want, "/b") == cases[i].want ? top : "", cases[i].want);
		if (strcmp(cases[i].want, "/") == 0)
			snprintf(path, sizeof(path), "%s", top);
		RF_CHECK(rule && strcmp(rule, path) == 0, "%s gave %s, not %s", cases[i].rule, rule,
			 path);
		free(rule);
	}
	unlink("../link");
	RF_CHECK(chdir("/") == 0, "away");
	for (const char *const *name = (const char *const[]){ "/b/d", "/b/c", "/b", "", NULL };
	     *name; name++) {
		snprintf(path, sizeof(path), "%s%s", top, *name);
		rmdir(path);
	}
}

RF_TEST(what_is_not_there_is_named)
{
	struct rf_err err;
	char *rule = NULL;

	RF_CHECK(rf_dots_resolve("../no/such/../thing:/x", &rule, &err) < 0 && !rule, "no error");
	RF_CHECK(strstr(err.msg, "../no/such/../thing: ") != NULL, "it says '%s'", err.msg);
}
