/* Text for a terminal, one character at a time: src/base/glyph.c. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/glyph.h"
#include "base/rune.h"
#include "harness.h"

static void show(const char *text, size_t len, struct rf_buf *out)
{
	struct rf_glyph glyph = { 0 };

	rf_buf_clear(out);
	rf_buf_puts(out, "");
	for (size_t at = 0; at < len;) {
		at += rf_glyph_next(&glyph, text + at, len - at);
		rf_buf_add(out, glyph.shown, glyph.len);
	}
}

RF_TEST(what_steers_a_terminal_or_is_not_seen_is_an_escape)
{
	/* clang-format off */
	static const struct { const char *text, *want; int columns; } cases[] = {
		{ "plain ~",                 "plain ~", 7 },
		{ "\033[2Jx",                "\\x1b[2Jx", 8 },
		{ "a\nb\tc\rd\177",          "a\\x0ab\\x09c\\x0dd\\x7f", 20 },
		{ "\xc2\x9b" "31m",          "\\x9b31m", 7 },        /* CSI in one character */
		{ "\x9b" "31m",              "\\x9b31m", 7 },        /* and in one byte */
		{ "\xc3",                    "\\xc3", 4 },           /* cut off */
		{ "\xc0\xaf",                "\\xc0\\xaf", 8 },      /* overlong */
		{ "\xed\xa0\x80",            "\\xed\\xa0\\x80", 12 },/* a surrogate */
		{ "\xf4\x90\x80\x80",        "\\xf4\\x90\\x80\\x80", 16 },
		{ "gpj\xe2\x80\xae" "exe",   "gpj\\u202eexe", 12 },  /* right to left from here */
		{ "\xe2\x81\xa6\xe2\x81\xa9", "\\u2066\\u2069", 12 },
		{ "\xe2\x80\x8b",            "\\u200b", 6 },         /* no width at all */
		{ "\xe2\x80\xa8",            "\\u2028", 6 },         /* another newline */
		{ "\xf3\xa0\x81\x81",        "\\U0e0041", 8 },       /* a tag */
		{ "\xee\x80\x80",            "\\ue000", 6 },         /* private use */
		{ "\xc2\xad",                "\\u00ad", 6 },
		{ "caf\xc3\xa9",             "caf\xc3\xa9", 4 },
		{ "e\xcc\x81x",              "e\xcc\x81x", 2 },      /* a mark on it */
		{ "\xcc\x81x",               "\\u0301x", 7 },        /* a mark on nothing */
		{ "e\xcc\x81\xcc\x81\xcc\x81", "e\xcc\x81\xcc\x81\\u0301", 7 },
		{ "\xe4\xb8\xad\xe6\x96\x87", "\xe4\xb8\xad\xe6\x96\x87", 4 },
		{ "\xf0\x9f\x98\x80",        "\xf0\x9f\x98\x80", 2 },
		{ "\xef\xbc\xa1",            "\xef\xbc\xa1", 2 },
		{ "",                        "", 0 },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		show(cases[i].text, strlen(cases[i].text), &out);
		RF_CHECK(strcmp(out.data, cases[i].want) == 0, "case %zu is '%s'", i, out.data);
		RF_CHECK(rf_glyph_width(cases[i].text) == cases[i].columns, "case %zu has %d", i,
			 rf_glyph_width(cases[i].text));
	}
}

/* Whatever it was: afterwards it is UTF-8 without a control, and once shown it stays as it is. */
RF_TEST(a_million_random_bytes_come_out_harmless)
{
	static const char turn[3] = { '\xe2', '\x80', '\xae' };
	RF_AUTO_BUF struct rf_buf once, twice;
	unsigned seed = 7;

	rf_buf_init(&once, 4096);
	rf_buf_init(&twice, 4096);
	for (int round = 0; round < 20000; round++) {
		char text[50];
		uint32_t rune;

		for (size_t i = 0; i < sizeof(text); i++) {
			seed = seed * 1103515245 + 12345;
			text[i] = (char)(seed >> 16);
			if (i > 3 && seed >> 28 == 0) /* runs that mean something */
				memcpy(text + i - 3, turn, sizeof(turn));
		}
		show(text, sizeof(text), &once);
		for (size_t at = 0, n; at < once.len; at += n) {
			n = rf_rune_take(once.data + at, once.len - at, &rune);
			RF_REQUIRE(n > 0 && rune >= 0x20 && (rune < 0x7f || rune >= 0xa0) &&
					   !(rune >= 0x202a && rune <= 0x202e),
				   "round %d: %x in '%s'", round, rune, once.data);
		}
		show(once.data, once.len, &twice);
		RF_REQUIRE(strcmp(once.data, twice.data) == 0, "'%s' became '%s'", once.data,
			   twice.data);
	}
}
