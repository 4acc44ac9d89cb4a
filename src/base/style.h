/*
 * Style: how words for people look on a terminal, and that they are plain everywhere else.
 *
 * Code says what words are (a heading, an error), never which colour; one function decides for a
 * descriptor, and the answer is a value that is handed down.  Text that is put through here can't
 * steer a terminal: control characters, marks that turn the direction of a line and whatever else is not
 * seen (glyph.h), which may come from file names or from a box, are shown as escapes, with colour and without.
 */
#ifndef RF_BASE_STYLE_H
#define RF_BASE_STYLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum rf_style_role {
	RF_STYLE_PLAIN,
	RF_STYLE_HEADING,
	RF_STYLE_NAME, /* of a key, an option, a command */
	RF_STYLE_GOOD,
	RF_STYLE_WARNING, /* to be known, and no reason for alarm */
	RF_STYLE_BAD,
	RF_STYLE_ERROR,  /* the first word of a complaint */
	RF_STYLE_QUIET,  /* hints, reasons, sources */
	RF_STYLE_CHOSEN, /* the row that keys are about */
	RF_STYLE_ROLE_COUNT
};

struct rf_style {
	bool has_colour;
};

#define RF_STYLE_NONE ((struct rf_style){ false })

/* What the user's own settings say. */
enum rf_style_wish {
	RF_STYLE_AUTO,
	RF_STYLE_ALWAYS,
	RF_STYLE_NEVER
};

/* All that the decision stands on.  The strings are variables of these names, or NULL. */
struct rf_style_facts {
	bool is_terminal;
	enum rf_style_wish wish;
	const char *no_color, *clicolor_force, *term;
};

/*
 * Decides, without a system call.  The wish goes first, then NO_COLOR, then CLICOLOR_FORCE (either
 * counts if it is not empty, the latter if it is not "0" as well); then a terminal that is not dumb.
 */
struct rf_style rf_style_decide(const struct rf_style_facts *facts);

/* What rf_style_of() shall answer from now on: set once, when the user's settings were read. */
void rf_style_set_wish(enum rf_style_wish wish);

/* Whom to ask for the wish, at most once, when the first style is wanted and no wish was set. */
void rf_style_ask(enum rf_style_wish (*ask)(void));

/* The style for what is written to `fd`. */
struct rf_style rf_style_of(int fd);

/* What to write before and after fixed words of ours, such as the headings of help: "" if plain. */
const char *rf_style_begin(struct rf_style style, enum rf_style_role role);
const char *rf_style_end(struct rf_style style);

/* Puts text in a role, then spaces up to `width` columns (0: none). */
void rf_style_put(struct rf_style style, enum rf_style_role role, const char *text, int width,
		  struct rf_buf *out);

/* The same for text made by printf, at most some kilobytes of it. */
void rf_style_printf(struct rf_style style, enum rf_style_role role, struct rf_buf *out,
		     const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * Puts a page of lines.  The page's own shape says what is what: a line that begins at the margin
 * is a heading, and what stands in brackets at the end of a line is quiet.
 */
void rf_style_page(struct rf_style style, const char *text, struct rf_buf *out);

#define RF_STYLE_WIDTH 79 /* of text that is broken into lines, whatever the terminal */

/* Puts one paragraph that begins at column `indent`, and its further lines there, too; it is broken
 * anew, wherever `text` was. */
void rf_style_paragraph(const char *text, int indent, struct rf_buf *out);

#endif
