/* What is written to a terminal: src/top/screen.c. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "top/screen.h"

RF_TEST(only_lines_that_differ_are_written)
{
	/* clang-format off */
	static const struct { const char *before, *now; int rows; const char *want; } cases[] = {
		{ "",         "a\n\nc\n", 3, "\033[0m\033[2J\033[1;1Ha\033[K\033[3;1Hc\033[K" },
		{ "a\nb\nc\n", "a\nb\nc\n", 3, "" },
		{ "a\nb\nc\n", "a\nx\nc\n", 3, "\033[2;1Hx\033[K" },
		{ "a\nb\nc\n", "a\nb\n\n", 3, "\033[3;1H\033[K" },
		{ "a\nbb\n",  "a\nb\n",   2, "\033[2;1Hb\033[K" },
		{ "a\n",      "a\nb\n",   2, "\033[2;1Hb\033[K" },
		{ "a\nb\n",   "x\ny\n",   1, "\033[1;1Hx\033[K" }, /* never below the last row */
		{ "a\n",      "b",        1, "\033[1;1Hb\033[K" },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		rf_buf_clear(&out);
		rf_buf_puts(&out, "");
		rf_screen_compare(cases[i].before, strlen(cases[i].before), cases[i].now,
				  strlen(cases[i].now), cases[i].rows, &out);
		RF_CHECK(strcmp(out.data, cases[i].want) == 0, "case %zu: '%s'", i, out.data);
	}
}

RF_TEST(what_is_no_terminal_is_not_taken)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_screen screen;

	rf_screen_init(&screen, -1, -1);
	RF_CHECK(rf_screen_enter(&screen, &err) < 0 && !screen.is_taken, "taken");
	rf_screen_measure(&screen);
	RF_CHECK(screen.columns == 80 && screen.rows == 24, "what everybody can do with");
	rf_screen_done(&screen);
}
