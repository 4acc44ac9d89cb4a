/*
 * A pen writes one frame, line by line, and never beyond the edge.
 *
 * Everything is put through base/glyph, so no text can steer the terminal, and is cut at a character.  The last
 * column stays free: a terminal whose cursor stands behind it does not agree with others about where it is.
 */
#ifndef RF_TOP_PEN_H
#define RF_TOP_PEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/style.h"

struct rf_pen {
	struct rf_buf *out; /* borrowed */
	struct rf_style style;
	int columns;    /* of a line */
	int left;       /* of this one */
	bool is_utf8;   /* else what is not ASCII is a question mark */
	bool is_chosen; /* this line is: roles do not show in it */
};

/* Puts a text, cut to `width` columns (0: what is left), and gives how many it took. */
int rf_pen_put(struct rf_pen *pen, enum rf_style_role role, const char *text, int width);

/* How many bytes of a text fit into so many columns: at least one character's, so that who goes on gets to its end. */
size_t rf_pen_fit(const char *text, int width);

/* The same, filled up with spaces: behind it, or before it. */
void rf_pen_left(struct rf_pen *pen, enum rf_style_role role, const char *text, int width);
void rf_pen_right(struct rf_pen *pen, enum rf_style_role role, const char *text, int width);

/* Words made by printf, as many as fit. */
void rf_pen_printf(struct rf_pen *pen, enum rf_style_role role, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void rf_pen_space(struct rf_pen *pen, int columns);

/* Ends the line. */
void rf_pen_end(struct rf_pen *pen);

/* Begins a line that is chosen; it ends with rf_pen_end(). */
void rf_pen_choose(struct rf_pen *pen);

#endif
