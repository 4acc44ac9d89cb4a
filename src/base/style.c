/* Style: see style.h. */
#include "base/style.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* The eight colours of every terminal, as its user has set them: readable on light and on dark. */
/* clang-format off */
static const char *const codes[] = {
	[RF_STYLE_PLAIN]   = NULL,
	[RF_STYLE_HEADING] = "1",
	[RF_STYLE_NAME]    = "36",
	[RF_STYLE_GOOD]    = "32",
	[RF_STYLE_WARNING] = "33",
	[RF_STYLE_BAD]     = "31",
	[RF_STYLE_ERROR]   = "1;31",
	[RF_STYLE_QUIET]   = "2",
};
/* clang-format on */
static_assert(RF_LEN(codes) == RF_STYLE_ROLE_COUNT, "a code for every role");

static enum rf_style_wish wished; /* RF_STYLE_AUTO until somebody says otherwise */

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
}

struct rf_style rf_style_of(int fd)
{
	const struct rf_style_facts facts = {
		.is_terminal = isatty(fd),
		.wish = wished,
		.no_color = getenv("NO_COLOR"),
		.clicolor_force = getenv("CLICOLOR_FORCE"),
		.term = getenv("TERM"),
	};

	return rf_style_decide(&facts);
}

/*
 * Control characters: C0 with newline (a name must not forge a line of ours) but without tab, DEL,
 * and C1 in UTF-8 (C2 80 to C2 9F), which some terminals obey.  Gives how many bytes one takes, or 0.
 */
static size_t control_len(const char *text)
{
	unsigned char c = (unsigned char)text[0], next = c ? (unsigned char)text[1] : 0;

	if ((c < 0x20 && c != '\t') || c == 0x7f)
		return 1;
	return c == 0xc2 && next >= 0x80 && next <= 0x9f ? 2 : 0;
}

/* Puts text with its control characters shown; gives how many columns it took. */
static int put_shown(const char *text, struct rf_buf *out)
{
	int columns = 0;

	while (*text) {
		size_t len = control_len(text);

		if (len > 0) {
			rf_buf_printf(out, "\\x%02x", (unsigned char)text[len - 1]);
			columns += 4;
			text += len;
			continue;
		}
		columns += ((unsigned char)*text & 0xc0) != 0x80; /* UTF-8 goes on */
		rf_buf_add(out, text++, 1);
	}
	return columns;
}

void rf_style_put(struct rf_style style, enum rf_style_role role, const char *text, int width,
		  struct rf_buf *out)
{
	bool is_styled = style.has_colour && codes[role] && *text;
	int columns;

	if (is_styled)
		rf_buf_printf(out, "\033[%sm", codes[role]);
	columns = put_shown(text, out);
	if (is_styled)
		rf_buf_puts(out, "\033[0m");
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
