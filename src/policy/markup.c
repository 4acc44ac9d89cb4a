/* YAML, event by event: see markup.h. */
#include "policy/markup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/rune.h"

/* The line and column of a byte, for problems that libyaml reports by offset only. */
static void locate(const char *text, size_t len, size_t offset, int *line, int *column)
{
	uint32_t rune;

	*line = *column = 1;
	for (size_t at = 0; at < offset && at < len;) {
		size_t n = rf_rune_take(text + at, len - at, &rune);

		at += n ? n : 1;
		*column += 1;
		if (n == 1 && rune == '\n') {
			*line += 1;
			*column = 1;
		}
	}
}

int rf_markup_at(struct rf_markup *yaml)
{
	yaml->err->line = (int)yaml->event.start_mark.line + 1;
	yaml->err->column = (int)yaml->event.start_mark.column + 1;
	return yaml->err->code;
}

int rf_markup_fail(struct rf_markup *yaml, const char *fmt, ...)
{
	char msg[sizeof(yaml->err->msg)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	rf_fail_say(yaml->err, -EINVAL, "%s", msg);
	return rf_markup_at(yaml);
}

/* What libyaml found wrong: in the bytes, in the tokens, or in their order. */
static int fail_syntax(struct rf_markup *yaml)
{
	const char *problem = yaml->parser.problem ? yaml->parser.problem : "not readable";
	int line = (int)yaml->parser.problem_mark.line + 1;
	int column = (int)yaml->parser.problem_mark.column + 1;

	if (yaml->parser.error == YAML_MEMORY_ERROR)
		return rf_fail(yaml->err, -ENOMEM, "read the %s", yaml->what);
	if (yaml->parser.error == YAML_READER_ERROR)
		locate(yaml->text, yaml->len, yaml->parser.problem_offset, &line, &column);
	return rf_fail_at(yaml->err, line, column, "not YAML: %s", problem);
}

bool rf_markup_is(const struct rf_markup *yaml, yaml_event_type_t type)
{
	return yaml->event.type == type;
}

/* Refuses what gives one text two meanings. */
static int check_event(struct rf_markup *yaml)
{
	const yaml_event_t *e = &yaml->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	switch (e->type) {
	case YAML_ALIAS_EVENT:
		return rf_markup_fail(yaml, "aliases (*) are not part of the %s language",
				      yaml->what);
	case YAML_SCALAR_EVENT:
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
		break;
	default:
		return 0;
	}
	if (anchor)
		return rf_markup_fail(yaml, "anchors (&) are not part of the %s language",
				      yaml->what);
	if (tag)
		return rf_markup_fail(yaml, "tags (!) are not part of the %s language", yaml->what);
	if (e->type == YAML_SCALAR_EVENT &&
	    memchr(e->data.scalar.value, '\0', e->data.scalar.length))
		return rf_markup_fail(yaml, "a NUL character");
	return 0;
}

int rf_markup_next(struct rf_markup *yaml)
{
	yaml_event_delete(&yaml->event);
	if (!yaml_parser_parse(&yaml->parser, &yaml->event))
		return fail_syntax(yaml);
	return check_event(yaml);
}

const char *rf_markup_scalar(const struct rf_markup *yaml)
{
	return (const char *)yaml->event.data.scalar.value;
}

const char *rf_markup_kind(const struct rf_markup *yaml)
{
	switch (yaml->event.type) {
	case YAML_SCALAR_EVENT:
		return "plain text";
	case YAML_SEQUENCE_START_EVENT:
		return "a list";
	default:
		return "a mapping";
	}
}

static bool is_empty_scalar(const struct rf_markup *yaml)
{
	return rf_markup_is(yaml, YAML_SCALAR_EVENT) && yaml->event.data.scalar.length == 0 &&
	       yaml->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

int rf_markup_begin(struct rf_markup *yaml)
{
	if (rf_markup_next(yaml) < 0 ||
	    rf_markup_next(yaml) < 0) /* the stream's, the document's start */
		return yaml->err->code;
	if (rf_markup_is(yaml, YAML_STREAM_END_EVENT))
		return 0;
	if (rf_markup_next(yaml) < 0)
		return yaml->err->code;
	if (rf_markup_is(yaml, YAML_MAPPING_START_EVENT))
		return 1;
	if (is_empty_scalar(yaml))
		return rf_markup_end(yaml);
	rf_markup_fail(yaml, "a %s is a mapping of keys, not %s", yaml->what, rf_markup_kind(yaml));
	return rf_fail_hint(yaml->err, "begin with `version: 1`");
}

int rf_markup_end(struct rf_markup *yaml)
{
	if (rf_markup_next(yaml) < 0 ||
	    rf_markup_next(yaml) < 0) /* the document's end, the stream's */
		return yaml->err->code;
	if (!rf_markup_is(yaml, YAML_STREAM_END_EVENT))
		return rf_markup_fail(yaml, "a second document");
	return 0;
}

/* `at` bytes into the text is what it must not have; gives -EINVAL. */
static int fail_rune(const char *text, size_t len, size_t at, uint32_t rune, struct rf_err *err)
{
	int line, column;

	locate(text, len, at, &line, &column);
	if (rune == '\r') {
		rf_fail_at(err, line, column, "a carriage return that ends no line");
		return rf_fail_hint(err, "end lines with LF, or with CR LF");
	}
	rf_fail_at(err, line, column, "%s: U+%04X",
		   rf_rune_is_control(rune) ? "a control character"
					    : "a character that readers do not see",
		   rune);
	return rf_fail_hint(err,
			    rune > 0xffff ? "take it out; \"\\U%08X\" in double quotes means it"
					  : "take it out; \"\\u%04X\" in double quotes means it",
			    rune);
}

/* An emoji of a key, which everybody sees: a digit, # or *, the selector at `at`, and the frame. */
static bool is_keycap(const char *text, size_t len, size_t at, uint32_t before)
{
	static const char rest[] = "\xef\xb8\x8f\xe2\x83\xa3"; /* U+FE0F U+20E3 */

	return ((before >= '0' && before <= '9') || before == '#' || before == '*') &&
	       len - at >= sizeof(rest) - 1 && memcmp(text + at, rest, sizeof(rest) - 1) == 0;
}

/*
 * Everything that can be said about the bytes before they are read as YAML.
 *
 * Who reviews a text must see what the reader sees.  For YAML, U+0085, U+2028, U+2029 and a lone CR end a line, and a comment with
 * it, where most editors show one line: behind what looks like a comment a key could stand.  Bidirectional and
 * invisible characters make a text look like another one.  So none of them may stand in it as itself, comments included.
 */
static int check_bytes(const char *text, size_t len, struct rf_err *err)
{
	uint32_t rune, before = 0;
	int line, column;

	for (size_t at = 0; at < len; before = rune) {
		size_t n = rf_rune_take(text + at, len - at, &rune);
		bool is_break;

		if (n == 0 || rune == 0) {
			locate(text, len, at, &line, &column);
			return rf_fail_at(err, line, column, "not UTF-8 text");
		}
		is_break = rune == '\n' || (rune == '\r' && at + 1 < len && text[at + 1] == '\n');
		if ((rf_rune_is_control(rune) && rune != '\t' && !is_break) ||
		    (rf_rune_is_hidden(rune, before) && !is_keycap(text, len, at, before)))
			return fail_rune(text, len, at, rune, err);
		at += n;
	}
	return 0;
}

int rf_markup_init(struct rf_markup *yaml, const char *text, size_t len, size_t max,
		   const char *what, struct rf_err *err)
{
	static const char mark[] = { '\xef', '\xbb', '\xbf' }; /* some editors begin with it */

	if (len > max)
		return rf_fail_say(err, -EFBIG, "the %s is longer than %zu bytes", what, max);
	if (len >= sizeof(mark) && memcmp(text, mark, sizeof(mark)) == 0) {
		text += sizeof(mark);
		len -= sizeof(mark);
	}
	if (check_bytes(text, len, err) < 0)
		return err->code;
	*yaml = (struct rf_markup){ .text = text, .len = len, .what = what, .err = err };
	if (!yaml_parser_initialize(&yaml->parser))
		return rf_fail(err, -ENOMEM, "read the %s", what);
	yaml_parser_set_encoding(&yaml->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&yaml->parser, (const unsigned char *)text, len);
	return 0;
}

void rf_markup_done(struct rf_markup *yaml)
{
	yaml_event_delete(&yaml->event);
	yaml_parser_delete(&yaml->parser);
}
