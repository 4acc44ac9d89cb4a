/*
 * YAML, and JSON as the part of it that it is, event by event.
 *
 * Every text that an operator writes is read through this one reader: UTF-8 only, and without what
 * gives one text two meanings (anchors, aliases, tags, second documents, NUL) or makes it look like another one (controls,
 * characters that are not seen or turn the direction of a line, ends of lines that editors don't show).  Whoever reads pulls
 * events, follows the shape that it expects and stops at the first event that does not fit, so no
 * stack grows with the text.
 */
#ifndef RF_POLICY_MARKUP_H
#define RF_POLICY_MARKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "base/err.h"

struct rf_markup {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one; its strings live until the next */
	const char *text;
	size_t len;
	const char *what; /* "policy": what errors call the text */
	struct rf_err *err;
};

/*
 * Checks `len` bytes of `text` (borrows, at most `max`) and prepares to read them.  On failure
 * there is nothing to be freed.
 */
int rf_markup_init(struct rf_markup *yaml, const char *text, size_t len, size_t max,
		   const char *what, struct rf_err *err);
void rf_markup_done(struct rf_markup *yaml);

/*
 * Goes to the first event of the one document, which must be a mapping; the next event is its first
 * key.  Returns 1, or 0 for a text of nothing but comments, or a negative errno.
 */
int rf_markup_begin(struct rf_markup *yaml);

/* Behind the mapping's end: nothing may follow. */
int rf_markup_end(struct rf_markup *yaml);

/* Goes to the next event.  Returns 0, or a negative errno with its place in yaml->err. */
int rf_markup_next(struct rf_markup *yaml);

bool rf_markup_is(const struct rf_markup *yaml, yaml_event_type_t type);

/* The text of the current scalar; UTF-8 without NUL. */
const char *rf_markup_scalar(const struct rf_markup *yaml);

/* The current event in words: "plain text", "a list", "a mapping". */
const char *rf_markup_kind(const struct rf_markup *yaml);

/* Puts the place of the current event into an error that was told without one.  Returns its code. */
int rf_markup_at(struct rf_markup *yaml);

/* Records what is wrong with the current event.  Returns -EINVAL. */
int rf_markup_fail(struct rf_markup *yaml, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
