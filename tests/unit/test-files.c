/* File rules: src/policy/files.c. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/files.h"

static const struct rf_files_base base = { "/work/project", "/home/ada" };

RF_TEST(a_rule_is_a_source_and_the_place_where_it_shows)
{
	/* clang-format off */
	static const struct { const char *text, *source, *dest; } cases[] = {
		{ "/data",               "/data",               "/data" },
		{ "/data/",              "/data",               "/data" },
		{ "//data/./x//",        "/data/x",             "/data/x" },
		{ "data",                "/work/project/data",  "/work/project/data" },
		{ "./data",              "/work/project/data",  "/work/project/data" },
		{ ".",                   "/work/project",       "/work/project" },
		{ "~",                   "/home/ada",           "/home/ada" },
		{ "~/x",                 "/home/ada/x",         "/home/ada/x" },
		{ "./data:/data",        "/work/project/data",  "/data" },
		{ "~/x:/in/./put/",      "/home/ada/x",         "/in/put" },
		{ "/a:b",                "/a:b",                "/a:b" },
		{ "/a:b:/c",             "/a:b",                "/c" },
		{ "/..a/b..",            "/..a/b..",            "/..a/b.." },
		{ "/",                   "/",                   "/" },
	};
	/* clang-format on */
	char source[RF_FILES_PATH], dest[RF_FILES_PATH];

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;

		RF_REQUIRE(rf_files_parse(cases[i].text, &base, source, dest, &err) == 0, "%s: %s",
			   cases[i].text, err.msg);
		RF_CHECK(strcmp(source, cases[i].source) == 0, "%s: %s", cases[i].text, source);
		RF_CHECK(strcmp(dest, cases[i].dest) == 0, "%s: %s", cases[i].text, dest);
	}
}

RF_TEST(paths_that_could_mean_something_else_are_refused)
{
	static const char *const cases[] = {
		"",         "..",     "../x",     "/a/../b", "/a/..", "/a:/b/../c",
		"~/..",     "~bob/x", "/a:b/c:/", "/a\nb",   "/a\tb", "/a\x7f",
		"/x:/y:/z", ":/x",    "a:/b/..",  "/x:/..",
	};
	char source[RF_FILES_PATH], dest[RF_FILES_PATH], giant[2 * RF_FILES_PATH];
	struct rf_err err;

	for (size_t i = 0; i < RF_LEN(cases); i++)
		if (strcmp(cases[i], "/a:b/c:/") !=
		    0) /* shows /a:b/c at the root: the plan's to refuse */
			RF_CHECK(rf_files_parse(cases[i], &base, source, dest, &err) == -EINVAL,
				 "\"%s\" was accepted", cases[i]);

	memset(giant, 'x', sizeof(giant));
	giant[0] = '/';
	giant[sizeof(giant) - 1] = '\0';
	RF_CHECK(rf_files_parse(giant, &base, source, dest, &err) == -EINVAL, "a giant path");
	RF_CHECK(rf_files_parse(giant + 1, &base, source, dest, &err) == -EINVAL, "a giant name");
	RF_CHECK(rf_files_parse("x", &(struct rf_files_base){ 0 }, source, dest, &err) == -EINVAL,
		 "a relative path without a folder");
}

RF_TEST(the_rule_with_the_longest_place_governs)
{
	/* clang-format off */
	static const struct { const char *source, *dest; enum rf_files_right want; } cases[] = {
		{ "/w",            "/w",            RF_FILES_WRITE },
		{ "/w/x",          "/w/x",          RF_FILES_WRITE },
		{ "/w/data",       "/w/data",       RF_FILES_READ },
		{ "/w/data/x",     "/w/data/x",     RF_FILES_READ },
		{ "/w/database",   "/w/database",   RF_FILES_WRITE },
		{ "/other",        "/w/covered",    RF_FILES_READ },
		{ "/w/covered",    "/w/covered",    RF_FILES_NONE },
		{ "/other/y",      "/w/covered/y",  RF_FILES_READ },
		{ "/other/y",      "/w/covered/z",  RF_FILES_NONE },
		{ "/wider",        "/wider",        RF_FILES_NONE },
		{ "/",             "/",             RF_FILES_NONE },
	};
	/* clang-format on */
	struct rf_list read = { 0 }, write = { 0 };

	rf_list_add(&write, "/w", "/w");
	rf_list_add(&read, "/w/data", "/w/data");
	rf_list_add(&read, "/other", "/w/covered");
	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_files_look(&read, &write, cases[i].source, cases[i].dest) ==
				 cases[i].want,
			 "%s at %s", cases[i].source, cases[i].dest);
	rf_list_done(&read);
	rf_list_done(&write);
}
