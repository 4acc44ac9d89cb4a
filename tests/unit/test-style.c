/* How words look on a terminal: src/base/style.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/style.h"
#include "harness.h"

#define COLOURED ((struct rf_style){ true })

RF_TEST(colour_is_for_terminals_unless_somebody_says_otherwise)
{
	/* clang-format off */
	static const struct { struct rf_style_facts facts; bool want; } cases[] = {
		{ { true,  RF_STYLE_AUTO,   NULL, NULL, "xterm" }, true },
		{ { true,  RF_STYLE_AUTO,   NULL, NULL, "dumb"  }, false },
		{ { true,  RF_STYLE_AUTO,   NULL, NULL, ""      }, false },
		{ { true,  RF_STYLE_AUTO,   NULL, NULL, NULL    }, false },
		{ { false, RF_STYLE_AUTO,   NULL, NULL, "xterm" }, false },
		{ { true,  RF_STYLE_AUTO,   "1",  NULL, "xterm" }, false },
		{ { true,  RF_STYLE_AUTO,   "0",  NULL, "xterm" }, false }, /* any value counts */
		{ { true,  RF_STYLE_AUTO,   "",   NULL, "xterm" }, true },
		{ { false, RF_STYLE_AUTO,   NULL, "1",  "xterm" }, true },
		{ { false, RF_STYLE_AUTO,   NULL, "1",  NULL    }, true },
		{ { false, RF_STYLE_AUTO,   NULL, "0",  "xterm" }, false },
		{ { false, RF_STYLE_AUTO,   NULL, "",   "xterm" }, false },
		{ { true,  RF_STYLE_AUTO,   "1",  "1",  "xterm" }, false },
		{ { true,  RF_STYLE_NEVER,  NULL, "1",  "xterm" }, false },
		{ { false, RF_STYLE_ALWAYS, "1",  NULL, "dumb"  }, true },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_style_decide(&cases[i].facts).has_colour == cases[i].want, "case %zu",
			 i);
}

RF_TEST(a_pipe_is_plain_and_the_users_wish_is_heard)
{
	int ends[2];

	RF_REQUIRE(pipe(ends) == 0, "a pipe");
	unsetenv("NO_COLOR");
	unsetenv("CLICOLOR_FORCE");
	setenv("TERM", "xterm", 1);
	RF_CHECK(!rf_style_of(ends[1]).has_colour, "a pipe");
	rf_style_set_wish(RF_STYLE_ALWAYS);
	RF_CHECK(rf_style_of(ends[1]).has_colour, "a pipe, and the wish for colour");
	rf_style_set_wish(RF_STYLE_NEVER);
	setenv("CLICOLOR_FORCE", "1", 1);
	RF_CHECK(!rf_style_of(ends[1]).has_colour, "the wish for none");
}

RF_TEST(a_page_shows_its_shape)
{
	static const char *const page =
		"Files\n  /usr  r-x [default]\n\n  a\033b [x] y\nx [1]\n  []";
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	rf_style_page(RF_STYLE_NONE, page, &out);
	RF_CHECK(strcmp(out.data, "Files\n  /usr  r-x [default]\n\n  a\\x1bb [x] y\nx [1]\n  []") ==
			 0,
		 "plain, it is '%s'", out.data);
	rf_buf_clear(&out);
	rf_style_page(COLOURED, page, &out);
	RF_CHECK(strcmp(out.data, "\033[1mFiles\033[0m\n  /usr  r-x \033[2m[default]\033[0m\n\n"
				  "  a\\x1bb [x] y\n\033[1mx \033[0m\033[2m[1]\033[0m\n"
				  "  \033[2m[]\033[0m") == 0,
		 "with colour, it is '%s'", out.data);
}

RF_TEST(text_is_padded_by_columns_and_can_not_steer_a_terminal)
{
	/* clang-format off */
	static const struct {
		struct rf_style style;
		enum rf_style_role role;
		const char *text;
		int width;
		const char *want;
	} cases[] = {
		{ RF_STYLE_NONE, RF_STYLE_ERROR,   "no",              4, "no  " },
		{ COLOURED,      RF_STYLE_ERROR,   "no",              4, "\033[1;31mno\033[0m  " },
		{ COLOURED,      RF_STYLE_PLAIN,   "no",              0, "no" },
		{ COLOURED,      RF_STYLE_GOOD,    "",                2, "  " },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "gr\xc3\xbc\xc3\x9f", 5, "gr\xc3\xbc\xc3\x9f " },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "longer",          3, "longer" },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "a\033[2Jb",       0, "a\\x1b[2Jb" },
		{ COLOURED,      RF_STYLE_QUIET,   "\r\b\x7f",        0, "\033[2m\\x0d\\x08\\x7f\033[0m" },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "\xc2\x9b" "31m",  0, "\\x9b31m" },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "\xc2\xa0",        2, "\xc2\xa0 " },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "\xc2",            6, "\\xc2  " },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "\xe2\x80\xae",    8, "\\u202e  " },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "\xe4\xb8\xad",    4, "\xe4\xb8\xad  " },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "a\tb\n",          0, "a\tb\\x0a" },
		{ RF_STYLE_NONE, RF_STYLE_PLAIN,   "\x1f",            6, "\\x1f  " },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		rf_buf_clear(&out);
		rf_style_put(cases[i].style, cases[i].role, cases[i].text, cases[i].width, &out);
		RF_CHECK(strcmp(out.data, cases[i].want) == 0, "case %zu: '%s', not '%s'", i,
			 out.data, cases[i].want);
	}
	rf_buf_clear(&out);
	rf_style_printf(COLOURED, RF_STYLE_HEADING, &out, "%s-%d", "\a", 7);
	RF_CHECK(strcmp(out.data, "\033[1m\\x07-7\033[0m") == 0, "printf gave '%s'", out.data);
}
