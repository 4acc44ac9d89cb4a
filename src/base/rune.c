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

static void tidy(char *text)
{
	size_t len = strlen(text), out = 0;

	for (size_t at = 0; at < len;) {
		uint32_t rune = 0;
		size_t n = rf_rune_take(text + at, len - at, &rune);

		if (n == 0 || rune < 0x20 || (rune >= 0x7f && rune < 0xa0)) {
			text[out++] = '?';
			at += n ? n : 1;
		} else {
			memmove(text + out, text + at, n);
			out += n;
			at += n;
		}
	}
	text[out] = '\0';
}

void rf_rune_tidy(struct rf_err *err)
{
	tidy(err->msg);
	tidy(err->hint);
}
