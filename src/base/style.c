/* Style: see style.h. */
#include "base/style.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/glyph.h"

/* The eight colours of every terminal, as its user has set them: readable on light and on dark. */
/* clang-format off */
static const char *const codes[] = {
	[RF_STYLE_PLAIN]   = "",
	[RF_STYLE_HEADING] = "\033[1m",
	[RF_STYLE_NAME]    = "\033[36m",
	[RF_STYLE_GOOD]    = "\033[32m",
	[RF_STYLE_WARNING] = "\033[33m",
	[RF_STYLE_BAD]     = "\033[31m",
	[RF_STYLE_ERROR]   = "\033[1;31m",
	[RF_STYLE_QUIET]   = "\033[2m",
	[RF_STYLE_CHOSEN]  = "\033[7m",
};
/* clang-format on */
static_assert(RF_LEN(codes) == RF_STYLE_ROLE_COUNT, "a code for every role");

#define RESET "\033[0m"

static enum rf_style_wish wished; /* RF_STYLE_AUTO until somebody says otherwise */
static enum rf_style_wish (*asked)(void);

static bool is_said(const char *variable)
{
	return variable && *variable;
}

struct rf_style rf_style_decide(const struct rf_style_facts *facts)
{
	struct rf_style style = { false };

	if (facts->wish != RF_STYLE_AUTO)
		style.has_colour = facts->wish == RF_STYLE_ALWAYS;
	else if (is_said(facts->no_color))
		style.has_colour = false;
	else if (is_said(facts->clicolor_force) && strcmp(facts->clicolor_force, "0") != 0)
		style.has_colour = true;
	else
		style.has_colour = facts->is_terminal && is_said(facts->term) &&
				   strcmp(facts->term, "dumb") != 0;
	return style;
}

void rf_style_set_wish(enum rf_style_wish wish)
{
	wished = wish;
	asked = NULL;
}

void rf_style_ask(enum rf_style_wish (*ask)(void))
{
	asked = ask;
}

static enum rf_style_wish wish_of_user(void)
{
	if (asked)
		rf_style_set_wish(asked());
	return wished;
}

struct rf_style rf_style_of(int fd)
{
	const struct rf_style_facts facts = {
		.is_terminal = isatty(fd),
		.wish = wish_of_user(),
		.no_color = getenv("NO_COLOR"),
		.clicolor_force = getenv("CLICOLOR_FORCE"),
		.term = getenv("TERM"),
	};

	return rf_style_decide(&facts);
}

const char *rf_style_begin(struct rf_style style, enum rf_style_role role)
{
	return style.has_colour ? codes[role] : "";
}

const char *rf_style_end(struct rf_style style)
{
	return style.has_colour ? RESET : "";
}

/*
 * Puts text as a terminal may see it (a newline in a name must not forge a line of ours); gives how
 * many columns it took.
 */
static int put_shown(const char *text, size_t length, struct rf_buf *out)
{
	struct rf_glyph glyph = { 0 };
	int columns = 0;

	for (size_t at = 0; at < length; columns += glyph.columns) {
		if (text[at] == '\t') /* its width is the terminal's to know */
			glyph = (struct rf_glyph){ .shown = "\t", .len = 1, .columns = 1 }, at++;
		else
			at += rf_glyph_next(&glyph, text + at, length - at);
		rf_buf_add(out, glyph.shown, glyph.len);
	}
	return columns;
}

void rf_style_put(struct rf_style style, enum rf_style_role role, const char *text, int width,
		  struct rf_buf *out)
{
	bool is_styled = style.has_colour && role != RF_STYLE_PLAIN && *text;
	int columns;

	rf_buf_puts(out, is_styled ? codes[role] : "");
	columns = put_shown(text, strlen(text), out);
	rf_buf_puts(out, is_styled ? RESET : "");
	if (columns < width)
		rf_buf_printf(out, "%*s", width - columns, "");
}

void rf_style_printf(struct rf_style style, enum rf_style_role role, struct rf_buf *out,
		     const char *fmt, ...)
{
	char text[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	rf_style_put(style, role, text, 0, out);
}

/* The bracket that opens at the end of a line, or NULL. */
static const char *bracket_of(const char *line, size_t len)
{
	const char *open = len > 0 && line[len - 1] == ']' ? memrchr(line, '[', len) : NULL;

	return open && open > line && open[-1] == ' ' ? open : NULL;
}

void rf_style_page(struct rf_style style, const char *text, struct rf_buf *out)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		const char *bracket = bracket_of(text, len);
		size_t head = bracket ? (size_t)(bracket - text) : len;
		bool is_heading = len > 0 && *text != ' ';

		rf_buf_puts(out, is_heading ? rf_style_begin(style, RF_STYLE_HEADING) : "");
		put_shown(text, head, out);
		rf_buf_puts(out, is_heading ? rf_style_end(style) : "");
		if (bracket) {
			rf_buf_puts(out, rf_style_begin(style, RF_STYLE_QUIET));
			put_shown(bracket, len - head, out);
			rf_buf_puts(out, rf_style_end(style));
		}
		text += len;
		if (*text == '\n')
			rf_buf_add(out, text++, 1);
	}
}

void rf_style_paragraph(const char *text, int indent, struct rf_buf *out)
{
	static const char *const space = " \n";
	int at = indent;

	while (*text) {
		int len = (int)strcspn(text, space);

		if (at > indent && at + 1 + len > RF_STYLE_WIDTH) {
			rf_buf_printf(out, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			rf_buf_puts(out, " ");
			at++;
		}
		rf_buf_add(out, text, (size_t)len);
		at += len;
		text += len;
		text += strspn(text, space);
	}
	rf_buf_puts(out, "\n");
}
