/* What passes to a caller's terminal: src/jail/guard.c. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "jail/guard.h"

#define S (1u << RF_GUARD_SCREEN)
#define D (1u << RF_GUARD_DIALOG)
#define T (1u << RF_GUARD_TEXT)

/* Passes `in` in two pieces, cut at `cut`, and gives what came out as a string. */
static size_t pass(struct rf_guard *guard, const char *in, size_t len, size_t cut, char *out)
{
	size_t n = rf_guard_pass(guard, in, cut, out);

	n += rf_guard_pass(guard, in + cut, len - cut, out + n);
	out[n] = '\0';
	return n;
}

struct sample {
	const char *in;
	size_t len;
	unsigned modes;   /* in which `want` comes out */
	const char *want; /* NULL: all of it */
};

/* clang-format off */
#define ALL(in)              { in, sizeof(in) - 1, S | D | T, NULL }
#define SEEN(in, modes)      { in, sizeof(in) - 1, modes, NULL }
#define CUT(in, modes, want) { in, sizeof(in) - 1, modes, want }
/* clang-format on */

static void check(const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct sample *s = &samples[i];
		const char *want = s->want ? s->want : s->in;
		size_t want_len = s->want ? strlen(s->want) : s->len;

		for (int mode = 0; mode < 3; mode++)
			for (size_t cut = 0; (s->modes & 1u << mode) && cut <= s->len; cut++) {
				char out[2048];
				struct rf_guard guard;
				size_t n;

				rf_guard_init(&guard, (enum rf_guard_mode)mode, false);
				n = pass(&guard, s->in, s->len, cut, out);
				RF_CHECK(n == want_len && memcmp(out, want, n) == 0,
					 "case %zu, mode %d, cut at %zu: %zu bytes: \"%s\"", i,
					 mode, cut, n, out);
			}
	}
}

RF_TEST(text_passes_as_it_is)
{
	static const struct sample samples[] = {
		ALL(""),
		ALL("plain text\n\twith tabs\r\n"),
		ALL("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x80\x99"),
		ALL("\xc5\x9b \xe2\x9b\x9b \xc3\x9b"), /* 0x9b within characters */
		SEEN("\a\b\v\f", S | D),
		CUT("\a\b\v\f", T, ""),
		CUT("a\0b\x05"
		    "c\x11\x13\x7f"
		    "d\x18\x1a",
		    S | D | T, "abcd"),
		SEEN("\x0e"
		     "lqqk\x0f",
		     S | D),
	};

	check(samples, RF_LEN(samples));
}

RF_TEST(bytes_that_are_no_text_are_shown_as_such)
{
	static const struct sample samples[] = {
		CUT("\xff\xfe", S | D | T, "??"),
		CUT("\xe4 x", S | D | T, "? x"), /* Latin-1 */
		CUT("\xc0\x9b"
		    "6n",
		    S | D | T, "?"), /* overlong: its CSI is one */
		CUT("\xe0\x82\x9b"
		    "6nA",
		    S | D | T, "?A"),
		CUT("\xed\xa0\x80", S | D | T, "??"), /* a surrogate, and a C1 */
		CUT("\xe2\x1b[6n", S | T, "?"),       /* a character cut short by a sequence */
	};

	check(samples, RF_LEN(samples));
}

RF_TEST(what_draws_passes_to_a_terminal_and_never_into_plain_text)
{
	/* clang-format off */
	static const char *const drawing[] = {
		"\033[m", "\033[0m", "\033[1;31m", "\033[38;2;1;2;3m", "\033[4:3m", "\033[38:5:1m",
		"\033[H", "\033[12;40H", "\033[2J", "\033[K", "\033[?25l", "\033[?1049h", "\033[?7l",
		"\033[A", "\033[10C", "\033[5b", "\033[1;10r", "\033[3 q", "\0337", "\0338", "\033M",
		"\033(0", "\033(B", "\033#8", "\033[?2026h", "\033[4h", "\033[!p", "\033[T",
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(drawing); i++) {
		const struct sample samples[] = {
			{ drawing[i], strlen(drawing[i]), S | D, NULL },
			{ drawing[i], strlen(drawing[i]), T, "" },
		};

		check(samples, RF_LEN(samples));
	}
}

RF_TEST(questions_and_keyboard_modes_pass_only_in_a_dialogue)
{
	/* clang-format off */
	static const char *const dialogue[] = {
		"\033[6n", "\033[5n", "\033[?6n", "\033[c", "\033[0c", "\033[>c", "\033[?2004$p",
		"\033[18t", "\033[14t", "\033[22;0t", "\033[?2004h", "\033[?1000h", "\033[?1002;1006h",
		"\033[?1h", "\033=", "\033c", "\033[3J",
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(dialogue); i++) {
		const struct sample samples[] = {
			{ dialogue[i], strlen(dialogue[i]), D, NULL },
			{ dialogue[i], strlen(dialogue[i]), S | T, "" },
		};

		check(samples, RF_LEN(samples));
	}
}

RF_TEST(what_acts_beyond_the_screen_never_passes)
{
	/* clang-format off */
	static const char *const acts[] = {
		"\033]52;c;cm0gLXJmIH4K\a", "\033]52;c;?\033\\", "\033]4;1;?\a", "\033]10;?\a", "\033]11;?\a",
		"\033]11;#000000\a", "\033]7;file:///etc\a", "\033]9;hello\a", "\033]777;notify;a;b\a",
		"\033]1337;File=inline=1:AAAA\a", "\033]8;;http://evil.example\a", "\033]50;?\a", "\033]133;A\a",
		"\033]0;a\tb\a", "\033]3;a=b\a", "\033]l", /* no more than a start */
		"\033P$qm\033\\", "\033P+q544e\033\\", "\033P1;1|17/6c73\033\\", "\033Pq#0;2;0;0;0\033\\",
		"\033_Gf=100;AAAA\033\\", "\033^private\033\\", "\033Xstring\033\\",
		"\033kname\033\\", "\033Z", "\033[x", "\033[20h", "\033[2h", "\033[12h", "\033[?3h", "\033[?8l",
		"\033[?1001h", "\033[?1034h", "\033[?1049;1001h", "\033[i", "\033[5i", "\033[?5i", "\033[21t", "\033[20t", "\033[1t",
		"\033[8;50;132t", "\033[22;9t", "\033[1;1;1;1;1;1*y", "\033[>q", "\033[=c", "\033[>4;2m", "\033[>1u", "\033[?996n",
		"\033[\"p", "\0336", "\033 G", "\033%@", "\033n", "\033}", "\033H", "\033[3g", "\033[5;1;1;1;1T",
		"\033[123456A", "\033[1:2H", "\033[1?h", "\033[ !p", "\x9b?n", "\xc2\x9b?n", "\x9d;t\a", "\xc2\x9d;t\a",
		"\x90$qm\033\\", "\xc2\x90$qm\xc2\x9c", "\x85", "\xc2\x85",
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(acts); i++) {
		const struct sample sample = { acts[i], strlen(acts[i]), S | D | T, "" };

		check(&sample, 1);
	}
}

RF_TEST(what_follows_a_dropped_sequence_is_seen)
{
	static const struct sample samples[] = {
		CUT("a\033]52;c;AAAA\ab", S | D | T, "ab"),
		CUT("a\033Pq\033\\b", S | D | T, "ab"),
		CUT("a\033[6\x18"
		    "b",
		    S | D | T, "ab"),
		CUT("a\033[5\n6nb", S | T, "ab"),
		CUT("a\033[31\033[6nb", S | T, "ab"),
		CUT("a\033\033\033[6nb", S | T, "ab"),
		CUT("a\033]0;x\033[6nb", S | T, "ab"),
		CUT("a\033[3\xc3\xa4"
		    "b",
		    S | D | T,
		    "a\xc3\xa4"
		    "b"),
		CUT("a\033P1\033[31mb", S, "a\033[31mb"),
		CUT("a\033Ptmux;\033\033[6n\033\\b", S | T, "ab"),
	};

	check(samples, RF_LEN(samples));
}

RF_TEST(titles_pass_in_a_dialogue_and_the_callers_comes_back)
{
	static const struct sample samples[] = {
		CUT("\033]0;vi\a", D, "\033[22;0t\033]0;vi\a"),
		CUT("\033]2;\xc3\xa4\033\\", D, "\033[22;0t\033]2;\xc3\xa4\a"),
		CUT("\033]2;a\a\033]2;b\a", D, "\033[22;0t\033]2;a\a\033]2;b\a"),
		CUT("\033]2;vi\a", S | T, ""),
		CUT("\033]2;a\xff\a", D, ""),
	};
	struct rf_guard guard;
	char out[2048];

	check(samples, RF_LEN(samples));
	rf_guard_init(&guard, RF_GUARD_DIALOG, false);
	pass(&guard, "\033]0;vi\a", 7, 0, out);
	out[rf_guard_end(&guard, out)] = '\0';
	RF_CHECK(strcmp(out, "\033[23;0t") == 0, "%s", out);
}

RF_TEST(the_callers_title_comes_back_whatever_the_box_keeps)
{
	static const struct {
		const char *in, *out, *end;
	} cases[] = {
		/* Its own on top of the caller's: both are taken off. */
		{ "\033]2;a\a\033[22;0t\033]2;b\a", "\033[22;0t\033]2;a\a\033[22;0t\033]2;b\a",
		  "\033[23;0t\033[23;0t" },
		/* The caller's is not its to take. */
		{ "\033]2;a\a\033[23;0t\033]2;b\a", "\033[22;0t\033]2;a\a\033]2;b\a",
		  "\033[23;0t" },
		{ "\033[22;2t\033]2;a\a\033[23;2t", "\033[22;2t\033[22;0t\033]2;a\a\033[23;2t",
		  "\033[23;0t" },
	};

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_guard guard;
		char out[2048];

		rf_guard_init(&guard, RF_GUARD_DIALOG, false);
		pass(&guard, cases[i].in, strlen(cases[i].in), 0, out);
		RF_CHECK(strcmp(out, cases[i].out) == 0, "case %zu: \"%s\"", i, out + 1);
		out[rf_guard_end(&guard, out)] = '\0';
		RF_CHECK(strcmp(out, cases[i].end) == 0, "case %zu: \"%s\"", i, out + 1);
	}
}

RF_TEST(more_titles_than_a_terminal_keeps_do_not_pass)
{
	struct rf_guard guard;
	char out[2048];
	size_t n = 0;

	rf_guard_init(&guard, RF_GUARD_DIALOG, false);
	for (int i = 0; i < 20; i++)
		n += pass(&guard, "\033[22;0t", 7, 0, out + n);
	RF_CHECK(n == 56, "%zu bytes", n);
	RF_CHECK(rf_guard_end(&guard, out) == 56, "all of them are taken off");
}

RF_TEST(a_sequence_without_end_keeps_no_memory_and_does_not_pass)
{
	static const char *const heads[] = { "\033[", "\033]0;", "\033P", "\033(" };

	for (size_t i = 0; i < RF_LEN(heads); i++) {
		char *in = malloc(100000), *out = malloc(100000 + RF_GUARD_SLACK);
		struct rf_guard guard;
		size_t n;

		RF_REQUIRE(in && out, "memory");
		memset(in, i == 3 ? ' ' : '1', 100000);
		memcpy(in, heads[i], strlen(heads[i]));
		memcpy(in + 99995, i == 1 ? "\a....." : "m....", 5);
		rf_guard_init(&guard, RF_GUARD_DIALOG, false);
		n = rf_guard_pass(&guard, in, 100000, out);
		RF_CHECK(n <= 4, "%zu bytes of head %zu passed", n, i);
		free(in);
		free(out);
	}
}

RF_TEST(the_end_undoes_what_was_done_and_nothing_else)
{
	/* clang-format off */
	static const struct { const char *in, *want; } cases[] = {
		{ "text\033[H\033[2J\033[K",        "" },
		{ "\033[31mred",                    "\033[m" },
		{ "\033[31mred\033[0m",             "" },
		{ "\033[?25l",                      "\033[?25h" },
		{ "\033[?25l\033[?25h",             "" },
		{ "\033[?1049h\033[?25l\033[7m",    "\033[?1049l\033[?25h\033[m" },
		{ "\033[?1000h\033[?1006h\033[?2004h\033[?1h\033=",
		  "\033[?1l\033[?1000l\033[?1006l\033[?2004l\033>" },
		{ "\033[2;5r",                      "\0337\033[r\0338" },
		{ "\033(0",                         "\033(B" },
		{ "\033(0\033(B",                   "" },
		{ "\033(0\017",                     "\033(B" },
		{ "\016",                           "\017" },
		{ "\033)0\016\033(B",               "\017" },
		{ "\033)0",                         "" },
		{ "\033(0\0337\033(B",              "" },
		{ "\033(0\0337\033(B\0338",         "\033(B" },
		{ "\033[31m\033[s\033[m\033[u",     "\033[m" },
		{ "\033[31m\033[?1049h\033[m",      "\033[?1049l\033[m" },
		{ "\033[31m\0337\033[m\033[2;5r",   "\0337\033[r\0338\033[m" },
		{ "\0337\033[31m\033[m\0338",       "" },
		{ "\033[5 q",                       "\033[0 q" },
		{ "\033[4h",                        "\033[4l" },
		{ "\033[4h\033[20l\033[1;2 q",      "\033[4l" },
		{ "\033[?25l\033[3",                "\033[?25h" },
		{ "\xe2\x82",                       "?" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_guard guard;
		char out[2048];

		rf_guard_init(&guard, RF_GUARD_DIALOG, false);
		pass(&guard, cases[i].in, strlen(cases[i].in), 0, out);
		out[rf_guard_end(&guard, out)] = '\0';
		RF_CHECK(strcmp(out, cases[i].want) == 0, "case %zu: \"%s\"", i, out + 1);
		RF_CHECK(guard.was_talkative == (strstr(cases[i].in, "?1000h") != NULL), "case %zu",
			 i);
		RF_CHECK(rf_guard_end(&guard, out) == 0, "case %zu: twice", i);
	}
}

RF_TEST(questions_are_remembered)
{
	struct rf_guard guard;
	char out[2048];

	rf_guard_init(&guard, RF_GUARD_DIALOG, false);
	pass(&guard, "text\033[31m", 9, 0, out);
	RF_CHECK(!guard.has_asked, "nothing was asked");
	pass(&guard, "\033[6n", 4, 2, out);
	RF_CHECK(guard.has_asked, "where the cursor is");
}

RF_TEST(plain_text_does_not_lie_about_its_order)
{
	/* Written by number, because a reader of this file should not be lied to either. */
	static const unsigned char turned[] = { 'a', 0xe2, 0x80, 0xae, 'b' };
	static const unsigned char isolated[] = { 'a', 0xe2, 0x81, 0xa6, 'b' };
	static const unsigned char tagged[] = { 'a', 0xf3, 0xa0, 0x81, 0xa1, 'b' };
	const struct sample samples[] = {
		{ (const char *)turned, sizeof(turned), T, "ab" },
		{ (const char *)turned, sizeof(turned), S | D, NULL },
		{ (const char *)isolated, sizeof(isolated), T, "ab" },
		{ (const char *)tagged, sizeof(tagged), T, "ab" }, /* letters that nobody sees */
	};

	check(samples, RF_LEN(samples));
}

RF_TEST(a_terminal_that_is_not_for_utf8_gets_no_c1_hidden_in_characters)
{
	struct rf_guard guard;
	char out[2048];
	size_t n;

	rf_guard_init(&guard, RF_GUARD_SCREEN, true);
	n = pass(&guard,
		 "\xe4\xc3\x9b"
		 "6n.",
		 6, 0, out);
	RF_CHECK(n == 3 && memcmp(out, "\xe4\xc3.", 3) == 0, "%zu bytes", n);
	RF_CHECK(!rf_guard_is_8bit(NULL) && !rf_guard_is_8bit("C") &&
			 !rf_guard_is_8bit("C.UTF-8") && !rf_guard_is_8bit("de_DE.utf8"),
		 "locales for UTF-8");
	RF_CHECK(rf_guard_is_8bit("de_DE.ISO-8859-1") && rf_guard_is_8bit("de_DE@euro"), "others");
}

RF_TEST(input_and_output_may_share_memory)
{
	static const char in[] = "ab\033[31mcd\033]0;t\aef\xc3\xa4\033[6n\xff"
				 "g\033]2;u\a";
	char memory[RF_GUARD_SLACK + sizeof(in)], out[2048];
	struct rf_guard guard;

	for (size_t cut = 0; cut < sizeof(in); cut++) {
		size_t n = 0, want;

		rf_guard_init(&guard, RF_GUARD_DIALOG, false);
		want = pass(&guard, in, sizeof(in) - 1, 0, out);
		rf_guard_init(&guard, RF_GUARD_DIALOG, false);
		for (int half = 0; half < 2; half++) {
			size_t len = half ? sizeof(in) - 1 - cut : cut, got;

			memcpy(memory + RF_GUARD_SLACK, in + (half ? cut : 0), len);
			got = rf_guard_pass(&guard, memory + RF_GUARD_SLACK, len, memory);
			RF_CHECK(n + got <= want && memcmp(memory, out + n, got) == 0, "cut %zu",
				 cut);
			n += got;
		}
		RF_CHECK(n == want, "cut %zu", cut);
	}
}
