/*
 * Patterns of files.deny: src/policy/pattern.c.
 *
 * A failure of the random test prints the seed; RF_SEED=N runs that one again.
 */
#include "policy/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "harness.h"

static const struct rf_files_base base = { "/w/a[1]", "/home/ada" };

RF_TEST(patterns_have_one_normal_form)
{
	/* clang-format off */
	static const struct { const char *text, *normal; } cases[] = {
		{ "/a/b",          "/a/b" },
		{ "/a//b/./c/",    "/a/b/c" },
		{ ".env",          "/w/a\\[1]/.env" },
		{ "./x/*.pem",     "/w/a\\[1]/x/*.pem" },
		{ "~/.ssh",        "/home/ada/.ssh" },
		{ "~",             "/home/ada" },
		{ "**/.env",       "/**/.env" },
		{ "/**/**/.env",   "/**/.env" },
		{ "**",            "/**" },
		{ "/a/\\*\\b",     "/a/\\*b" },
		{ "/a/[]x]",       "/a/[]x]" },
		{ "/a/[!a-z]?",    "/a/[!a-z]?" },
		{ "/a:/b",         "/a:/b" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char once[RF_FILES_PATH] = "", twice[RF_FILES_PATH] = "";
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_pattern_normal(cases[i].text, &base, once, &err) == 0 &&
				 strcmp(once, cases[i].normal) == 0,
			 "%s: %s, not %s (%s)", cases[i].text, once, cases[i].normal, err.msg);
		RF_CHECK(rf_pattern_normal(once, &base, twice, &err) == 0 &&
				 strcmp(once, twice) == 0,
			 "%s again: %s", once, twice);
	}
}

RF_TEST(what_is_no_pattern_is_refused_with_a_reason)
{
	static const char *const cases[] = { "",     "/",    "/.",    "/a/../b", "..",    "/a/[x",
					     "/a\\", "/a**", "/**b",  "~bob/x",  "/a\nb", "/[",
					     "/[!",  "/[]",  "a/**x", "/a/[x/]", "/a/***" };
	static const struct rf_files_base nowhere = { NULL, NULL };
	char out[RF_FILES_PATH], longest[3 * RF_FILES_PATH] = "";
	struct rf_err err;

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		err = RF_ERR_INIT;
		RF_CHECK(rf_pattern_normal(cases[i], &base, out, &err) < 0 && err.msg[0], "%s",
			 cases[i]);
	}
	RF_CHECK(rf_pattern_normal("x", &nowhere, out, &err) < 0,
		 "a relative one without a folder");
	for (int i = 0; i <= RF_PATTERN_PARTS; i++)
		memcpy(longest + 2 * (size_t)i, "/x", 3);
	RF_CHECK(rf_pattern_normal(longest, &base, out, &err) < 0, "too many parts");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	RF_CHECK(rf_pattern_normal(longest, &base, out, &err) < 0, "too long");
}

static bool covers(const char *text, const char *path)
{
	struct rf_pattern pattern;
	char normal[RF_FILES_PATH];
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_pattern_normal(text, &base, normal, &err) == 0, "%s: %s", text, err.msg);
	rf_pattern_init(&pattern, normal);
	return rf_pattern_covers(&pattern, path);
}

RF_TEST(a_pattern_covers_what_it_names_and_everything_beneath)
{
	/* clang-format off */
	static const struct { const char *pattern, *path; bool covers; } cases[] = {
		{ "/a/b",          "/a/b",            true },
		{ "/a/b",          "/a/b/c",          true },
		{ "/a/b",          "/a",              false },
		{ "/a/b",          "/a/bc",           false },
		{ "/a/b",          "/",               false },
		{ "**/.env",       "/.env",           true },
		{ "**/.env",       "/a/b/c/.env",     true },
		{ "**/.env",       "/a/.env/x",       true },
		{ "**/.env",       "/a/.envrc",       false },
		{ "/a/**/z",       "/a/z",            true },
		{ "/a/**/z",       "/a/b/c/z",        true },
		{ "/a/**/z",       "/b/z",            false },
		{ "/a/**",         "/a",              false },
		{ "/a/**",         "/a/b",            true },
		{ "/a/**",         "/a/b/c",          true },
		{ "/a/*",          "/a/b",            true },
		{ "/a/*",          "/a/.hidden",      true },
		{ "/a/*/c",        "/a/b/c",          true },
		{ "/a/*/c",        "/a/b/b/c",        false },
		{ "**/*.pem",      "/x/key.pem",      true },
		{ "**/*.pem",      "/x/.pem",         true },
		{ "**/*.pem",      "/x/key.pem.txt",  false },
		{ "**/a*b*c",      "/aXbYbZc",        true },
		{ "**/a*b*c",      "/aXcYb",          false },
		{ "/a/?",          "/a/x",            true },
		{ "/a/?",          "/a/\xc3\xa4",     true },
		{ "/a/?",          "/a/xy",           false },
		{ "/a/?",          "/a/\xff",         true },
		{ "/a/[xyz]",      "/a/y",            true },
		{ "/a/[!xyz]",     "/a/y",            false },
		{ "/a/[^xyz]",     "/a/q",            true },
		{ "/a/[a-c]1",     "/a/b1",           true },
		{ "/a/[a-c]1",     "/a/d1",           false },
		{ "/a/[]-]",       "/a/]",            true },
		{ "/a/[]-]",       "/a/-",            true },
		{ "/a/[\\]]",      "/a/]",            true },
		{ "/a/[\xc3\xa0-\xc3\xbc]", "/a/\xc3\xa4", true },
		{ "/a/\\*",        "/a/*",            true },
		{ "/a/\\*",        "/a/b",            false },
		{ "/a/\\[x]",      "/a/[x]",          true },
		{ "x",             "/w/a[1]/x",       true },
		{ "x",             "/w/a1/x",         false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(covers(cases[i].pattern, cases[i].path) == cases[i].covers, "%s and %s",
			 cases[i].pattern, cases[i].path);
}

RF_TEST(a_part_without_wildcards_is_a_name_to_look_up)
{
	struct rf_pattern pattern;
	char name[RF_PATTERN_NAME];

	rf_pattern_init(&pattern, "/a/\\*b/c*/**/d");
	RF_CHECK(pattern.count == 5, "%zu", pattern.count);
	RF_CHECK(rf_pattern_name(&pattern, 0, name) && strcmp(name, "a") == 0, "%s", name);
	RF_CHECK(rf_pattern_name(&pattern, 1, name) && strcmp(name, "*b") == 0, "%s", name);
	RF_CHECK(!rf_pattern_name(&pattern, 2, name), "c*");
	RF_CHECK(!rf_pattern_name(&pattern, 3, name), "**");
	RF_CHECK(rf_pattern_name(&pattern, 4, name) && strcmp(name, "d") == 0, "%s", name);
}

/* ------------------------------------------------------------- against a naive reference */

static uint64_t state, seed;

static unsigned pick(unsigned below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % below;
}

/* One part, the obvious way.  Knows `*`, `?`, `[ab]` and letters. */
static bool naive_part(const char *p, size_t p_len, const char *n, size_t n_len)
{
	if (p_len == 0)
		return n_len == 0;
	if (*p == '*')
		return naive_part(p + 1, p_len - 1, n, n_len) ||
		       (n_len > 0 && naive_part(p, p_len, n + 1, n_len - 1));
	if (n_len == 0)
		return false;
	if (*p == '[')
		return (p[1] == *n || p[2] == *n) && naive_part(p + 4, p_len - 4, n + 1, n_len - 1);
	return (*p == '?' || *p == *n) && naive_part(p + 1, p_len - 1, n + 1, n_len - 1);
}

/* True if the pattern matches the whole path.  Both are "/x/y" or "". */
static bool naive(const char *pattern, const char *path)
{
	size_t p = *pattern ? strcspn(pattern + 1, "/") : 0;
	size_t n = *path ? strcspn(path + 1, "/") : 0;

	if (!*pattern)
		return !*path;
	if (strncmp(pattern, "/**", 3) == 0)
		return (pattern[3] && naive(pattern + 3, path)) ||
		       (*path && (naive(pattern, path + 1 + n) || (!pattern[3] && !path[1 + n])));
	return *path && naive_part(pattern + 1, p, path + 1, n) &&
	       naive(pattern + 1 + p, path + 1 + n);
}

static bool naive_covers(const char *pattern, const char *path)
{
	char prefix[256];

	for (size_t len = 1; len <= strlen(path); len++)
		if (path[len] == '/' || path[len] == '\0') {
			snprintf(prefix, sizeof(prefix), "%.*s", (int)len, path);
			if (naive(pattern, prefix))
				return true;
		}
	return false;
}

RF_TEST(random_patterns_match_as_a_naive_reference_does)
{
	static const char *const parts[] = { "**",    "a",  "b",   "*",    "?",
					     "a*",    "*b", "a*b", "[ab]", "[ab]*",
					     "*a*b*", "ab", "??",  "**",   "*[ab]?" };
	static const char *const names[] = {
		"a", "b", "ab", "ba", "aab", "abb", "c", "abab", "acb"
	};
	const char *given = getenv("RF_SEED");
	size_t hits = 0;

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	state = seed;
	printf("# seed %llu\n", (unsigned long long)seed);
	for (int round = 0; round < 50000; round++) {
		char text[256] = "", normal[RF_FILES_PATH], path[256] = "";
		struct rf_err err = RF_ERR_INIT;
		struct rf_pattern pattern;

		for (unsigned i = 1 + pick(4); i > 0; i--)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "/%s",
				 parts[pick(RF_LEN(parts))]);
		for (unsigned i = 1 + pick(5); i > 0; i--)
			snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%s",
				 names[pick(RF_LEN(names))]);
		RF_REQUIRE(rf_pattern_normal(text, &base, normal, &err) == 0, "%s", text);
		rf_pattern_init(&pattern, normal);
		hits += naive_covers(normal, path);
		RF_CHECK(rf_pattern_covers(&pattern, path) == naive_covers(normal, path),
			 "%s and %s, seed %llu", normal, path, (unsigned long long)seed);
	}
	RF_CHECK(hits > 5000, "only %zu matches: the test proves little", hits);
}
