/*
 * Text for a terminal, one character at a time: what may be written of it, and how wide it is.
 *
 * Texts come from command lines, file names and boxes, and a terminal obeys what it is sent.  So what
 * steers one, turns the direction of what follows, is not seen at all, or is no UTF-8 is given as an
 * escape (\x1b, \u202e), and what is left is exactly what a reader sees.
 *
 * Pure: no locale and no system call.  Widths are those of Unicode 14, the narrow ones where it leaves a
 * choice.
 */
#ifndef RF_BASE_GLYPH_H
#define RF_BASE_GLYPH_H

#include <stdbool.h>
#include <stddef.h>

/* One character.  Begin a text with { 0 }. */
struct rf_glyph {
	char shown[12]; /* to be written, ended by a NUL */
	size_t len;     /* of it */
	int columns;    /* that it takes: 0 for a mark on the character before it */
	bool is_escaped;
	int marks; /* in a row: a tower of them would grow over other lines */
};

/*
 * Takes the first character of `len` bytes at `text` (borrows; at least one), and gives how many bytes it
 * is.  `glyph` is the one before it.
 */
size_t rf_glyph_next(struct rf_glyph *glyph, const char *text, size_t len);

/* The columns of a whole text, as it is shown. */
int rf_glyph_width(const char *text);

#endif
