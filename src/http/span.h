/*
 * A run of bytes in somebody else's buffer.
 *
 * What the readers of this folder find is told as spans of the bytes that they were given, so nothing is copied;
 * a span is good for as long as those bytes stay where they are.  No span ends in a NUL.
 */
#ifndef RF_HTTP_SPAN_H
#define RF_HTTP_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct rf_span {
	const char *at;
	size_t len;
};

#define RF_SPAN(literal) ((struct rf_span){ (literal), sizeof(literal) - 1 })

#define RF_SPAN_INIT(literal)                                                                      \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	} /* in a static table */

/* For printf("%.*s"). */
#define RF_SPAN_ARG(span) (int)(span).len, (span).at

static inline struct rf_span rf_span_of(const char *text)
{
	return (struct rf_span){ text, strlen(text) };
}

/* The same bytes. */
bool rf_span_is(struct rf_span span, struct rf_span other);

/* The same but for the case of ASCII letters; and that of two which are as long as each other. */
bool rf_span_is_alike(struct rf_span span, struct rf_span other);

static inline bool rf_span_is_like(struct rf_span span, struct rf_span other)
{
	return span.len == other.len && rf_span_is_alike(span, other);
}

/* Without spaces and tabs at both ends. */
struct rf_span rf_span_trim(struct rf_span span);

/* Where `octet` first stands; `span.len` if nowhere. */
size_t rf_span_find(struct rf_span span, char octet);

/* From `from` on, and at most `len` bytes of it; never more than there is. */
static inline struct rf_span rf_span_part(struct rf_span span, size_t from, size_t len)
{
	if (from > span.len)
		from = span.len;
	if (len > span.len - from)
		len = span.len - from;
	return (struct rf_span){ from ? span.at + from : span.at, len };
}

/*
 * All of it as a decimal number of at most `max`: digits, no sign, no zero in front.  Returns 0, or -EINVAL for what is
 * no such number and -ERANGE for one that is too large.
 */
int rf_span_number(struct rf_span span, unsigned long long max, unsigned long long *ret_number);

#endif
