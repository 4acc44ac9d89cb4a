/* A pen writes one frame: see pen.h. */
#include "top/pen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/glyph.h"

/* A character that this terminal has, too. */
static void transcribe(const struct rf_pen *pen, struct rf_glyph *glyph)
{
	if (pen->is_utf8 || !((unsigned char)glyph->shown[0] & 0x80))
		return;
	glyph->len = (size_t)glyph->columns; /* a mark is left out, a wide one is two */
	memset(glyph->shown, '?', glyph->len);
	glyph->shown[glyph->len] = '\0';
}

/* Whether a text takes more than so many columns; looks no further than that. */
static bool is_longer(const char *text, size_t len, int width)
{
	struct rf_glyph glyph = { 0 };

	for (size_t at = 0; at < len && width >= 0; width -= glyph.columns)
		at += rf_glyph_next(&glyph, text + at, len - at);
	return width < 0;
}

size_t rf_pen_fit(const char *text, int width)
{
	struct rf_glyph glyph = { 0 };
	size_t len = strlen(text), at = 0;

	while (at < len) {
		size_t n = rf_glyph_next(&glyph, text + at, len - at);

		width -= glyph.columns;
		if (width < 0 && at > 0)
			break;
		at += n;
	}
	return at;
}

int rf_pen_put(struct rf_pen *pen, enum rf_style_role role, const char *text, int width)
{
	bool is_styled = role != RF_STYLE_PLAIN && !pen->is_chosen && *text;
	size_t len = strlen(text);
	struct rf_glyph glyph = { 0 };
	int used = 0;
	bool is_cut;

	if (width == 0 || width > pen->left)
		width = pen->left;
	if (width <= 0)
		return 0;
	is_cut = is_longer(text, len, width);
	if (is_styled)
		rf_buf_puts(pen->out, rf_style_begin(pen->style, role));
	for (size_t at = 0; at < len;) {
		at += rf_glyph_next(&glyph, text + at, len - at);
		transcribe(pen, &glyph);
		if (used + glyph.columns > width - is_cut)
			break;
		rf_buf_add(pen->out, glyph.shown, glyph.len);
		used += glyph.columns;
	}
	if (is_cut) {
		rf_buf_puts(pen->out, pen->is_utf8 ? "\xe2\x80\xa6" : "~");
		used++;
	}
	if (is_styled)
		rf_buf_puts(pen->out, rf_style_end(pen->style));
	pen->left -= used;
	return used;
}

void rf_pen_space(struct rf_pen *pen, int columns)
{
	if (columns > pen->left)
		columns = pen->left;
	if (columns <= 0)
		return;
	rf_buf_printf(pen->out, "%*s", columns, "");
	pen->left -= columns;
}

void rf_pen_left(struct rf_pen *pen, enum rf_style_role role, const char *text, int width)
{
	rf_pen_space(pen, width - rf_pen_put(pen, role, text, width));
}

void rf_pen_right(struct rf_pen *pen, enum rf_style_role role, const char *text, int width)
{
	int wants = is_longer(text, strlen(text), width) ? width : rf_glyph_width(text);

	rf_pen_space(pen, width - wants);
	rf_pen_put(pen, role, text, wants ? wants : 1);
}

void rf_pen_printf(struct rf_pen *pen, enum rf_style_role role, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	rf_pen_put(pen, role, text, 0);
}

void rf_pen_end(struct rf_pen *pen)
{
	if (pen->is_chosen) {
		rf_pen_space(pen, pen->left);
		rf_buf_puts(pen->out, rf_style_end(pen->style));
	}
	rf_buf_puts(pen->out, "\n");
	pen->left = pen->columns - 1;
	pen->is_chosen = false;
}

void rf_pen_choose(struct rf_pen *pen)
{
	rf_buf_puts(pen->out, rf_style_begin(pen->style, RF_STYLE_CHOSEN));
	pen->is_chosen = true;
}
