/* Which lines differ, and how that is written: src/workspace/lines.c, unified.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/lines.h"
#include "workspace/unified.h"

static const char *unified(const char *old, const char *new)
{
	static struct rf_buf out;
	struct rf_lines lines;

	rf_buf_done(&out); /* the one before */
	rf_buf_init(&out, 1 << 20);
	RF_REQUIRE(rf_lines_compare(old, strlen(old), new, strlen(new), &lines) == 0, "failed");
	rf_unified_put(&lines, &out);
	rf_lines_done(&lines);
	return out.data ? out.data : "";
}

RF_TEST(hunks)
{
	/* clang-format off */
	static const struct { const char *old, *new, *hunks; } cases[] = {
		{ "", "", "" },
		{ "a\n", "a\n", "" },
		{ "", "a\n", "@@ -0,0 +1 @@\n+a\n" },
		{ "a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n" },
		{ "a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n" },
		{ "a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n" },
		{ "a\nc\n", "a\nb\nc\n", "@@ -1,2 +1,3 @@\n a\n+b\n c\n" },
		{ "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n" },
		{ "a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n" },
		{ "x\na", "y\na", "@@ -1,2 +1,2 @@\n-x\n+y\n a\n\\ No newline at end of file\n" },
		/* Context of one and the next: six lines between are one hunk, seven are two. */
		{ "A\n1\n2\n3\n4\n5\n6\nB\n", "a\n1\n2\n3\n4\n5\n6\nb\n",
		  "@@ -1,8 +1,8 @@\n-A\n+a\n 1\n 2\n 3\n 4\n 5\n 6\n-B\n+b\n" },
		{ "A\n1\n2\n3\n4\n5\n6\n7\nB\n", "a\n1\n2\n3\n4\n5\n6\n7\nb\n",
		  "@@ -1,4 +1,4 @@\n-A\n+a\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-B\n+b\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *found = unified(cases[i].old, cases[i].new);

		RF_CHECK(strcmp(found, cases[i].hunks) == 0, "case %zu: %s", i, found);
	}
}

RF_TEST(names_as_git_writes_them)
{
	/* clang-format off */
	static const struct { const char *path, *written; } cases[] = {
		{ "plain", "a/plain" },
		{ "two words/it's", "\"a/two words/it's\"" },
		{ "say \"hi\"", "\"a/say \\\"hi\\\"\"" },
		{ "back\\slash", "\"a/back\\\\slash\"" },
		{ "new\nline\ttab\a\b\v\f\r", "\"a/new\\nline\\ttab\\a\\b\\v\\f\\r\"" },
		{ "\x1b[31mred\x7f", "\"a/\\033[31mred\\177\"" },
		{ "\xc3\xa4", "\"a/\\303\\244\"" },
		{ "\xff\xfe", "\"a/\\377\\376\"" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf out;

		rf_buf_init(&out, 4096);
		rf_unified_name("a/", cases[i].path, &out);
		RF_CHECK(strcmp(out.data, cases[i].written) == 0, "%s", out.data);
	}
}

/* What is not changed must be the same lines in the same order; gives how many are changed. */
static size_t check(const char *old, size_t old_len, const char *new, size_t new_len)
{
	struct rf_lines lines;
	size_t i = 0, k = 0, changed;

	RF_REQUIRE(rf_lines_compare(old, old_len, new, new_len, &lines) == 0, "failed");
	for (;;) {
		while (i < lines.old.count && lines.old.are_changed[i])
			i++;
		while (k < lines.new.count && lines.new.are_changed[k])
			k++;
		if (i == lines.old.count || k == lines.new.count)
			break;
		RF_REQUIRE(lines.old.lines[i].len ==
				   lines.new.lines[k].len &&memcmp(lines.old.lines[i].text,
								   lines.new.lines[k].text,
								   lines.old.lines[i].len) == 0,
			   "line %zu is not line %zu", i, k);
		i++;
		k++;
	}
	RF_REQUIRE(i == lines.old.count && k == lines.new.count, "lines are left over");
	changed = lines.old.changed + lines.new.changed;
	rf_lines_done(&lines);
	return changed;
}

/* The number of edits by the textbook's table. */
static size_t shortest(const char *old, size_t n, const char *new, size_t m)
{
	static size_t table[64][64];

	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k <= m; k++) {
			if (i == 0 || k == 0)
				table[i][k] = i + k;
			else if (old[2 * (i - 1)] == new[2 * (k - 1)])
				table[i][k] = table[i - 1][k - 1];
			else
				table[i][k] =
					1 + (table[i - 1][k] < table[i][k - 1] ? table[i - 1][k]
									       : table[i][k - 1]);
		}
	return table[n][m];
}

RF_TEST(the_shortest_edit_is_found)
{
	char texts[2][128];
	size_t counts[2];
	unsigned seed = 4711;

	for (int round = 0; round < 20000; round++) {
		for (int side = 0; side < 2; side++) {
			counts[side] = (size_t)rand_r(&seed) % 40;
			for (size_t i = 0; i < counts[side]; i++) {
				texts[side][2 * i] = (char)('a' + rand_r(&seed) % (2 + round % 5));
				texts[side][2 * i + 1] = '\n';
			}
		}
		RF_REQUIRE(check(texts[0], 2 * counts[0], texts[1], 2 * counts[1]) ==
				   shortest(texts[0], counts[0], texts[1], counts[1]),
			   "round %d", round);
	}
}

/* Random lines out of a few, which makes many ways that are almost as good as each other. */
static char *confuse(size_t count, unsigned kinds, unsigned seed, size_t *ret_len)
{
	char *text = malloc(count * 4 + 1);
	size_t len = 0;

	for (size_t i = 0; text && i < count; i++)
		len += (size_t)sprintf(text + len, "%u\n", (unsigned)rand_r(&seed) % kinds);
	*ret_len = len;
	return text;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

RF_TEST(texts_made_to_be_hard_take_no_longer_than_the_budget)
{
	for (unsigned kinds = 2; kinds <= 99; kinds += 97) {
		size_t old_len, new_len;
		char *old = confuse(RF_LINES_MAX, kinds, 1, &old_len);
		char *new = confuse(RF_LINES_MAX, kinds, 2, &new_len);
		double began = seconds();

		RF_REQUIRE(old && new, "no memory");
		check(old, old_len, new, new_len);
		RF_CHECK(seconds() - began < 5, "%.1f seconds of processor time",
			 seconds() - began);
		free(old);
		free(new);
	}
}

RF_TEST(too_many_lines_are_refused)
{
	size_t len = RF_LINES_MAX + 1;
	char *text = malloc(len);
	struct rf_lines lines;

	RF_REQUIRE(text, "no memory");
	memset(text, '\n', len);
	RF_CHECK(rf_lines_compare(text, len, "", 0, &lines) == -E2BIG, "taken");
	rf_lines_done(&lines);
	RF_CHECK(rf_lines_compare("", 0, text, len - 1, &lines) == 0, "refused");
	RF_CHECK(lines.new.changed == len - 1, "%zu", lines.new.changed);
	rf_lines_done(&lines);
	free(text);
}
