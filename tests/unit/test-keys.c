/* Keys from the bytes of a terminal: src/top/keys.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "top/keys.h"

static void put_key(struct rf_key key, struct rf_buf *out)
{
	static const char *const names[] = { "up",   "down", "left", "right", "pgup",
					     "pgdn", "home", "end",  "delete" };

	rf_buf_puts(out, out->len ? " " : "");
	if (key.is_pasted)
		rf_buf_puts(out, "pasted:");
	if (key.code >= RF_KEYS_UP)
		rf_buf_puts(out, names[key.code - RF_KEYS_UP]);
	else if (key.code == RF_KEYS_ESCAPE)
		rf_buf_puts(out, "esc");
	else if (key.code == RF_KEYS_ENTER)
		rf_buf_puts(out, "enter");
	else if (key.code > 0x20 && key.code < 0x7f)
		rf_buf_printf(out, "%c", (char)key.code);
	else
		rf_buf_printf(out, "u%x", key.code);
}

/* '|' is a silence that is long enough. */
static void type(const char *text, struct rf_buf *out)
{
	struct rf_keys keys = { 0 };
	struct rf_key key;

	rf_buf_clear(out);
	rf_buf_puts(out, "");
	for (; *text; text++)
		if (*text == '|' ? rf_keys_give_up(&keys, &key)
				 : rf_keys_take(&keys, (unsigned char)*text, &key))
			put_key(key, out);
}

RF_TEST(bytes_are_keys)
{
	/* clang-format off */
	static const struct { const char *bytes, *want; } cases[] = {
		{ "qk/",                     "q k /" },
		{ "\r\n\t\x7f\b\x0c\x15",    "enter enter u9 u7f u7f uc u15" },
		{ "\033[A\033[B\033OA\033OB", "up down up down" },
		{ "\033[5~\033[6~\033[H\033[F", "pgup pgdn home end" },
		{ "\033[1~\033[4~\033[3~",   "home end delete" },
		{ "\033|",                   "esc" },
		{ "\033|[A",                 "esc [ A" },           /* too slow for a sequence */
		{ "\033\033|",               "esc esc" },
		{ "\033\033[A",              "esc up" },
		{ "\033k",                   "" },                  /* alt-k is not k */
		{ "\033[1;5A\033[Mq",        "q" },                 /* ctrl-up: not known */
		{ "\033[12345678901234567890123~q", "q" },          /* too long, and nothing */
		{ "\033[\033[Aq",            "up q" },              /* one that was cut off */
		{ "\033[3\x01q",             "q" },
		{ "\033[3|q",                "q" },
		{ "\033]52;c;a3k=\aq",       "q" },                 /* an answer of the terminal's */
		{ "\033P1+r6b=6b\033\\q",    "q" },
		{ "\033]kkkk|q",             "q" },
		{ "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", "ue9 u4e2d u1f600" },
		{ "\xc3k",                   "k" },                 /* cut off */
		{ "\xc3\033[A",              "up" },
		{ "\x80\xff\xc0\xaf\xf5q",   "q" },
		{ "\xed\xa0\x80q",           "q" },
		{ "\xe4\xb8|q",              "q" },
		{ "\033[200~ky\033[201~q",   "pasted:k pasted:y q" },
		{ "\033[200~\033[A\x03\r\033[201~q", "q" },
		{ "\033[200~k|y",            "pasted:k y" },        /* whose end never came */
		{ "\033[200~\033k\033\033[201~q", "q" },
		{ "\033[201~q",              "q" },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 4096);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		type(cases[i].bytes, &out);
		RF_CHECK(strcmp(out.data, cases[i].want) == 0, "case %zu: '%s', not '%s'", i,
			 out.data, cases[i].want);
	}
}

RF_TEST(one_waits_only_for_what_was_begun)
{
	struct rf_keys keys = { 0 };
	struct rf_key key;

	RF_CHECK(rf_keys_wait_ms(&keys) == 0, "nothing");
	rf_keys_take(&keys, 'a', &key);
	RF_CHECK(rf_keys_wait_ms(&keys) == 0, "a key");
	rf_keys_take(&keys, 0x1b, &key);
	RF_CHECK(rf_keys_wait_ms(&keys) == 50, "escape");
	RF_CHECK(rf_keys_give_up(&keys, &key) && key.code == RF_KEYS_ESCAPE, "silence");
	RF_CHECK(rf_keys_wait_ms(&keys) == 0, "silence");
	for (const char *text = "\033[200~"; *text; text++)
		rf_keys_take(&keys, (unsigned char)*text, &key);
	RF_CHECK(rf_keys_wait_ms(&keys) == 1000, "a paste may come in pieces");
	RF_CHECK(!rf_keys_give_up(&keys, &key) && rf_keys_wait_ms(&keys) == 0, "its end");
}
