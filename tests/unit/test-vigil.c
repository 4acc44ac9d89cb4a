/* What changed in a tree of files: src/server/vigil.c. */
#include "server/vigil.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

static char told[2000];

static void on_change(void *data, enum rf_vigil_change change, const char *path, const char *from,
		      char type)
{
	(void)data;
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%c%c %s%s%s; ", "cmrn"[change],
		 type, from ? from : "", from ? ">" : "", path);
}

/* Words stand between bars. */
static int feed(struct rf_vigil *vigil, const char *words, size_t piece)
{
	static char bytes[20000];
	size_t len = strlen(words);
	int looks = 0;

	for (size_t i = 0; i < len; i++)
		bytes[i] = words[i] == '|' ? '\0' : words[i];
	told[0] = '\0';
	for (size_t at = 0; at < len; at += piece) {
		int got = rf_vigil_feed(vigil, bytes + at, len - at < piece ? len - at : piece);

		if (got < 0)
			return got;
		looks += got;
	}
	return looks;
}

#define END "-|-|-|-|-|"

RF_TEST(changes_between_two_looks_are_told)
{
	/* clang-format off */
	static const struct { const char *before, *after, *told; } cases[] = {
		{ "",                                       "",                                     "" },
		{ "1|d|9|1.5||",                            "1|d|9|2.5||",                          "" },
		{ "1|d|9|1.5||",                            "1|d|9|2.5||2|f|3|1|a|",                "cf a; " },
		{ "2|f|3|1|a|",                             "2|f|4|1|a|",                           "mf a; " },
		{ "2|f|3|1|a|",                             "2|f|3|1.5|a|",                         "mf a; " },
		{ "2|f|3|1|a|",                             "5|f|3|1|a|",                           "mf a; " },
		{ "2|f|3|1|a|",                             "2|l|3|1|a|",                           "ml a; " },
		{ "2|f|3|1|a|3|f|1|1|b|",                   "3|f|1|1|b|",                           "rf a; " },
		{ "2|f|3|1|a|3|f|1|1|b|",                   "3|f|1|1|b|2|f|3|1|c|",                 "nf a>c; " },
		{ "2|f|3|1|a|",                             "2|f|4|1|c|",                           "rf a; cf c; " },
		{ "2|d|3|1|d|3|f|1|1|d/a|",                 "3|f|1|1|e/a|2|d|3|7|e|",               "nd d>e; nf d/a>e/a; " },
		{ "2|f|3|1|a|3|f|1|1|b|",                   "2|f|3|1|b|3|f|1|1|a|",                 "mf a; mf b; " },
		{ "2|f|3|1|a|",                             "",                                     "rf a; " },
		{ "2|f|3|1|a\n b|",                         "2|f|3|1|a\n c|",                       "nf a\n b>a\n c; " },
	};
	/* clang-format on */
	char words[400];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece < 20; piece += 6) {
			struct rf_vigil *vigil = rf_vigil_new(on_change, NULL);

			RF_REQUIRE(vigil, "memory");
			snprintf(words, sizeof(words), "%s" END, cases[i].before);
			RF_CHECK(feed(vigil, words, piece) == 1 && !told[0], "%zu: the first", i);
			snprintf(words, sizeof(words), "%s" END, cases[i].after);
			RF_CHECK(feed(vigil, words, piece) == 1 && strcmp(told, cases[i].told) == 0,
				 "%zu: %s", i, told);
			RF_CHECK(feed(vigil, words, piece) == 1 && !told[0], "%zu: and no more: %s",
				 i, told);
			rf_vigil_free(vigil);
		}
}

RF_TEST(what_is_no_look_is_refused)
{
	static const char *const cases[] = { "a|f|1|1|x|", "|f|1|1|x|", "1||1|1|x|", "1|ff|1|1|x|",
					     "-1|f|1|1|x|" };
	static char word[RF_VIGIL_WORD + 10];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rf_vigil *vigil = rf_vigil_new(on_change, NULL);

		RF_CHECK(feed(vigil, cases[i], 100) == -EBADMSG, "%s", cases[i]);
		rf_vigil_free(vigil);
	}
	memset(word, '1', sizeof(word) - 1);
	for (size_t piece = 1000; piece < 6000; piece += 4000) {
		struct rf_vigil *vigil = rf_vigil_new(on_change, NULL);

		RF_CHECK(feed(vigil, word, piece) == -EBADMSG, "a word without an end");
		rf_vigil_free(vigil);
	}
}

RF_TEST(a_look_is_so_large_at_most)
{
	struct rf_vigil *vigil = rf_vigil_new(on_change, NULL);
	char words[100];

	for (int i = 0; i < RF_VIGIL_FILES + 5; i++) {
		snprintf(words, sizeof(words), "%d|f|1|1|%d|", i + 1, i);
		RF_REQUIRE(feed(vigil, words, 100) == 0, "%d", i);
	}
	RF_CHECK(feed(vigil, END, 100) == 1 && rf_vigil_is_cut(vigil) &&
			 rf_vigil_count(vigil) == RF_VIGIL_FILES,
		 "%zu", rf_vigil_count(vigil));
	rf_vigil_free(vigil);
}
