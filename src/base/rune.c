/* Characters of UTF-8 text: see rune.h. */
#include "base/rune.h"

#include <string.h>

#include "base/fd.h"

/* clang-format off */
static const struct {
	unsigned char mask, lead;
	uint32_t least; /* a smaller character in this form is overlong */
} forms[] = {
	{ 0x80, 0x00, 0x00 },
	{ 0xe0, 0xc0, 0x80 },
	{ 0xf0, 0xe0, 0x800 },
	{ 0xf8, 0xf0, 0x10000 },
};
/* clang-format on */

/*
 * From Unicode's tables, unassigned gaps closed: formats (bidirectional controls, joiners, tags), separators of lines,
 * selectors of variants, fillers, private use.
 */
/* clang-format off */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0xad, 0xad }, { 0x34f, 0x34f }, { 0x600, 0x605 }, { 0x61c, 0x61c }, { 0x6dd, 0x6dd },
	{ 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 }, { 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
	{ 0x2060, 0x206f }, { 0x2800, 0x2800 }, { 0x3164, 0x3164 }, { 0xe000, 0xf8ff },
	{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb },
	{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x13438 }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0x10fffd },
};
/* clang-format on */

size_t rf_rune_take(const char *text, size_t len, uint32_t *ret_rune)
{
	const unsigned char *p = (const unsigned char *)text;
	uint32_t rune;
	size_t n = 0;

	if (len == 0)
		return 0;
	while (n < RF_LEN(forms) && (p[0] & forms[n].mask) != forms[n].lead)
		n++;
	if (n == RF_LEN(forms) || n >= len)
		return 0;
	rune = p[0] & (unsigned char)~forms[n].mask;
	for (size_t i = 1; i <= n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		rune = rune << 6 | (p[i] & 0x3f);
	}
	if (rune < forms[n].least || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
		return 0;
	*ret_rune = rune;
	return n + 1;
}

static bool is_in_table(uint32_t rune)
{
	size_t low = 0, high = RF_LEN(hidden);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rune > hidden[middle].last)
			low = middle + 1;
		else if (rune < hidden[middle].first)
			high = middle;
		else
			return true;
	}
	return false;
}

/* U+200C and U+200D, and the selectors of variants. */
static bool is_joiner(uint32_t rune)
{
	return rune == 0x200c || rune == 0x200d || (rune >= 0xfe00 && rune <= 0xfe0f);
}

bool rf_rune_is_control(uint32_t rune)
{
	return rune < 0x20 || (rune >= 0x7f && rune < 0xa0);
}

bool rf_rune_is_hidden(uint32_t rune, uint32_t before)
{
	return rune >= 0xa0 && is_in_table(rune) && !(is_joiner(rune) && before >= 0xa0);
}

void rf_rune_tidy_text(char *text)
{
	size_t len = strlen(text), out = 0;
	uint32_t before = 0;

	for (size_t at = 0; at < len;) {
		uint32_t rune = 0;
		size_t n = rf_rune_take(text + at, len - at, &rune);

		if (n == 0 || rf_rune_is_control(rune) || rf_rune_is_hidden(rune, before)) {
			text[out++] = '?';
			at += n ? n : 1;
			rune = '?';
		} else {
			memmove(text + out, text + at, n);
			out += n;
			at += n;
		}
		before = rune;
	}
	text[out] = '\0';
}

void rf_rune_tidy(struct rf_err *err)
{
	rf_rune_tidy_text(err->msg);
	rf_rune_tidy_text(err->hint);
}
