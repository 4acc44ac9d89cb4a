/* Differing lines as a unified diff: see unified.h. */
#include "workspace/unified.h"

#include <string.h>

#define AROUND 3 /* lines of context */

/* A place in both texts. */
struct place {
	size_t old, new;
};

static bool is_end(const struct rf_lines *lines, const struct place *at)
{
	return at->old == lines->old.count && at->new == lines->new.count;
}

static bool is_deleted(const struct rf_lines *lines, const struct place *at)
{
	return at->old < lines->old.count && lines->old.are_changed[at->old];
}

static bool is_added(const struct rf_lines *lines, const struct place *at)
{
	return at->new < lines->new.count && lines->new.are_changed[at->new];
}

/* Passes lines that are the same, at most so many.  Gives how many. */
static size_t pass_same(const struct rf_lines *lines, struct place *at, size_t most)
{
	size_t passed = 0;

	for (;
	     passed < most && !is_end(lines, at) && !is_deleted(lines, at) && !is_added(lines, at);
	     passed++) {
		at->old++;
		at->new ++;
	}
	return passed;
}

static void pass_changed(const struct rf_lines *lines, struct place *at)
{
	while (is_deleted(lines, at))
		at->old++;
	while (is_added(lines, at))
		at->new ++;
}

/* Where the hunk that begins with a change at `at` ends: where nothing differs for twice the context. */
static struct place end_of_hunk(const struct rf_lines *lines, struct place at)
{
	for (;;) {
		struct place behind;

		pass_changed(lines, &at);
		behind = at;
		if (pass_same(lines, &behind, 2 * (size_t)AROUND + 1) > 2 * (size_t)AROUND ||
		    is_end(lines, &behind)) {
			pass_same(lines, &at, AROUND);
			return at;
		}
		at = behind;
	}
}

/* A range of lines, counted from 1; one of no lines is named by the line before it. */
static void put_range(size_t from, size_t count, struct rf_buf *out)
{
	rf_buf_printf(out, count == 1 ? "%zu" : "%zu,%zu", count > 0 ? from + 1 : from, count);
}

static void put_line(char sign, const struct rf_line *line, struct rf_buf *out)
{
	rf_buf_add(out, &sign, 1);
	rf_buf_add(out, line->text, line->len);
	if (line->text[line->len - 1] != '\n')
		rf_buf_puts(out, "\n\\ No newline at end of file\n");
}

static void put_hunk(const struct rf_lines *lines, struct place at, const struct place *end,
		     struct rf_buf *out)
{
	rf_buf_puts(out, "@@ -");
	put_range(at.old, end->old - at.old, out);
	rf_buf_puts(out, " +");
	put_range(at.new, end->new - at.new, out);
	rf_buf_puts(out, " @@\n");
	while (at.old < end->old || at.new < end->new) {
		while (at.old < end->old && is_deleted(lines, &at))
			put_line('-', &lines->old.lines[at.old++], out);
		while (at.new < end->new &&is_added(lines, &at))
			put_line('+', &lines->new.lines[at.new ++], out);
		for (; at.old < end->old && !is_deleted(lines, &at) && !is_added(lines, &at);
		     at.old++, at.new ++)
			put_line(' ', &lines->old.lines[at.old], out);
	}
}

void rf_unified_put(const struct rf_lines *lines, struct rf_buf *out)
{
	struct place at = { 0 };

	for (;;) {
		size_t same = pass_same(lines, &at, SIZE_MAX),
		       before = same < AROUND ? same : AROUND;
		struct place end;

		if (is_end(lines, &at))
			return;
		end = end_of_hunk(lines, at);
		put_hunk(lines, (struct place){ at.old - before, at.new - before }, &end, out);
		at = end;
	}
}

/* ------------------------------------------------------------- names */

/* A blank is in git's own eyes, too, but patch(1) takes it for the end of a name that is not in quotation marks. */
static bool is_plain(unsigned char c)
{
	return c > ' ' && c < 0x7f && c != '"' && c != '\\';
}

static void put_escaped(unsigned char c, struct rf_buf *out)
{
	static const char codes[] = "\a\b\t\n\v\f\r\"\\", letters[] = "abtnvfr\"\\";
	const char *at = strchr(codes, c);

	if (is_plain(c) || c == ' ')
		rf_buf_add(out, &c, 1);
	else if (at)
		rf_buf_printf(out, "\\%c", letters[at - codes]);
	else
		rf_buf_printf(out, "\\%03o", c);
}

void rf_unified_name(const char *before, const char *path, struct rf_buf *out)
{
	const unsigned char *c = (const unsigned char *)path;

	while (*c && is_plain(*c))
		c++;
	if (!*c) {
		rf_buf_puts(out, before);
		rf_buf_puts(out, path);
		return;
	}
	rf_buf_puts(out, "\"");
	rf_buf_puts(out, before);
	for (c = (const unsigned char *)path; *c; c++)
		put_escaped(*c, out);
	rf_buf_puts(out, "\"");
}
