/* A body of multipart/form-data: see multipart.h. */
#include "server/multipart.h"

#include <stdio.h>

enum {
	PREAMBLE, /* before the first boundary */
	BOUNDARY, /* right behind one */
	HEAD,
	BODY,
	ENDED,
	BROKEN
};

/* ------------------------------------------------------------- parameters of fields */

static bool is_token(char c)
{
	return c > ' ' && c < 0x7f && !strchr("()<>@,;:\\\"/[]?={}", c);
}

/*
 * Takes the next `; name=value` from `*rest`.  A value is a token or stands in quotes, where `\"` and `\\` are the only escapes.  True if there was one;
 * false at the end, or with `*ret_is_bad` for what is none.
 */
static bool take_parameter(struct rf_span *rest, struct rf_span *ret_name, char *value, size_t size,
			   bool *ret_is_bad)
{
	size_t n = 0, at = 0;

	*rest = rf_span_trim(*rest);
	if (rest->len == 0)
		return false;
	*ret_is_bad = true; /* until it is known to be none */
	if (rest->at[0] != ';')
		return false;
	*rest = rf_span_trim(rf_span_part(*rest, 1, rest->len));
	at = rf_span_find(*rest, '=');
	*ret_name = rf_span_part(*rest, 0, at);
	if (at == 0 || at == rest->len)
		return false;
	for (size_t i = 0; i < at; i++)
		if (!is_token(ret_name->at[i]))
			return false;
	*rest = rf_span_part(*rest, at + 1, rest->len);
	at = 0;
	if (rest->len > 0 && rest->at[0] == '"') {
		for (at = 1; at < rest->len && rest->at[at] != '"'; at++) {
			if (rest->at[at] == '\\' && at + 1 < rest->len &&
			    (rest->at[at + 1] == '"' || rest->at[at + 1] == '\\'))
				at++;
			if (n + 1 >= size)
				return false;
			value[n++] = rest->at[at];
		}
		if (at >= rest->len)
			return false;
		at++;
	} else {
		while (at < rest->len && is_token(rest->at[at])) {
			if (n + 1 >= size)
				return false;
			value[n++] = rest->at[at++];
		}
		if (at == 0)
			return false;
	}
	value[n] = '\0';
	*rest = rf_span_part(*rest, at, rest->len);
	*ret_is_bad = false;
	return true;
}

bool rf_multipart_init(struct rf_multipart *reader, struct rf_span type)
{
	static const struct rf_span media = RF_SPAN_INIT("multipart/form-data");
	char value[RF_MULTIPART_BOUNDARY + 1];
	struct rf_span rest = rf_span_part(type, media.len, type.len), name;
	bool is_bad = false;

	*reader = (struct rf_multipart){ .state = PREAMBLE };
	if (type.len < media.len || !rf_span_is_like(rf_span_part(type, 0, media.len), media))
		return false;
	while (take_parameter(&rest, &name, value, sizeof(value), &is_bad)) {
		if (!rf_span_is_like(name, RF_SPAN("boundary")))
			continue;
		if (reader->line_len > 0 || !value[0] || value[strlen(value) - 1] == ' ')
			return false;
		reader->line_len =
			(size_t)snprintf(reader->line, sizeof(reader->line), "\r\n--%s", value);
	}
	for (size_t i = 4; i < reader->line_len; i++)
		if (reader->line[i] < ' ' || reader->line[i] == 0x7f)
			return false;
	return !is_bad && reader->line_len > 0;
}

/* ------------------------------------------------------------- a part's head */

static bool is_clean(struct rf_span line)
{
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.at[i] < ' ' && line.at[i] != '\t')
			return false;
	return true;
}

static bool read_disposition(struct rf_multipart *reader, struct rf_span value)
{
	struct rf_span kind = rf_span_trim(rf_span_part(value, 0, rf_span_find(value, ';')));
	struct rf_span rest = rf_span_part(value, rf_span_find(value, ';'), value.len), name;
	char text[RF_MULTIPART_NAME];
	bool is_bad = false;

	if (!rf_span_is_like(kind, RF_SPAN("form-data")))
		return false;
	while (take_parameter(&rest, &name, text, sizeof(text), &is_bad)) {
		if (!rf_span_is_like(name, RF_SPAN("filename")))
			continue;
		if (reader->is_file) /* twice */
			return false;
		reader->is_file = true;
		memcpy(reader->name, text, strlen(text) + 1);
	}
	return !is_bad;
}

/* Its fields, without the empty line behind them. */
static bool read_head(struct rf_multipart *reader, struct rf_span head)
{
	bool has_disposition = false;

	reader->is_file = false;
	reader->name[0] = '\0';
	while (head.len > 0) {
		size_t end = rf_span_find(head, '\r'), colon;
		struct rf_span line = rf_span_part(head, 0, end);

		if (end + 1 >= head.len || head.at[end + 1] != '\n' || !is_clean(line))
			return false;
		colon = rf_span_find(line, ':');
		if (colon == 0 || colon == line.len)
			return false;
		for (size_t i = 0; i < colon; i++)
			if (!is_token(line.at[i]))
				return false;
		if (rf_span_is_like(rf_span_part(line, 0, colon), RF_SPAN("Content-Disposition"))) {
			if (has_disposition ||
			    !read_disposition(
				    reader, rf_span_trim(rf_span_part(line, colon + 1, line.len))))
				return false;
			has_disposition = true;
		}
		head = rf_span_part(head, end + 2, head.len);
	}
	return has_disposition;
}

/* ------------------------------------------------------------- the whole */

static enum rf_multipart_event fail(struct rf_multipart *reader)
{
	reader->state = BROKEN;
	return RF_MULTIPART_BAD;
}

/* The first boundary stands at the beginning: words before it are allowed, and nobody writes any. */
static enum rf_multipart_event begin(struct rf_multipart *reader, struct rf_span input,
				     size_t *ret_used)
{
	struct rf_span line = { reader->line + 2, reader->line_len - 2 };
	size_t least = input.len < line.len ? input.len : line.len;

	if (memcmp(input.at, line.at, least) != 0)
		return fail(reader);
	if (least < line.len)
		return RF_MULTIPART_MORE;
	*ret_used = line.len;
	reader->state = BOUNDARY;
	return RF_MULTIPART_MORE;
}

/* Behind a boundary: the end of its line, or of all. */
static enum rf_multipart_event pass_boundary(struct rf_multipart *reader, struct rf_span input,
					     size_t *ret_used)
{
	if (input.len < 2)
		return RF_MULTIPART_MORE;
	if (memcmp(input.at, "--", 2) == 0) {
		*ret_used = 2;
		reader->state = ENDED;
		return RF_MULTIPART_END;
	}
	if (memcmp(input.at, "\r\n", 2) != 0 || ++reader->parts > RF_MULTIPART_PARTS)
		return fail(reader);
	*ret_used = 2;
	reader->state = HEAD;
	return RF_MULTIPART_MORE;
}

static enum rf_multipart_event take_head(struct rf_multipart *reader, struct rf_span input,
					 size_t *ret_used)
{
	const char *end = memmem(input.at, input.len, "\r\n\r\n", 4);

	if (!end)
		return input.len > RF_MULTIPART_HEAD ? fail(reader) : RF_MULTIPART_MORE;
	if (end - input.at > RF_MULTIPART_HEAD ||
	    !read_head(reader, rf_span_part(input, 0, (size_t)(end - input.at) + 2)))
		return fail(reader);
	*ret_used = (size_t)(end - input.at) + 4;
	reader->state = BODY;
	return RF_MULTIPART_PART;
}

/* What may be the beginning of a boundary waits for the rest of it. */
static enum rf_multipart_event take_body(struct rf_multipart *reader, struct rf_span input,
					 size_t *ret_used)
{
	const char *end = memmem(input.at, input.len, reader->line, reader->line_len);
	size_t len = end ? (size_t)(end - input.at) : input.len;

	if (!end && len >= reader->line_len)
		len -= reader->line_len - 1;
	else if (!end)
		len = 0;
	if (len > 0) {
		reader->data = rf_span_part(input, 0, len);
		*ret_used = len;
		return RF_MULTIPART_DATA;
	}
	if (!end)
		return RF_MULTIPART_MORE;
	*ret_used = reader->line_len;
	reader->state = BOUNDARY;
	return RF_MULTIPART_PART_END;
}

enum rf_multipart_event rf_multipart_next(struct rf_multipart *reader, struct rf_span input,
					  size_t *ret_used)
{
	enum rf_multipart_event event = RF_MULTIPART_MORE;
	size_t used;

	*ret_used = 0;
	do {
		struct rf_span rest = rf_span_part(input, *ret_used, input.len);

		used = 0;
		if (reader->state == BROKEN)
			return RF_MULTIPART_BAD;
		if (reader->state == ENDED) {
			*ret_used = input.len;
			return RF_MULTIPART_MORE;
		}
		if (rest.len == 0)
			return RF_MULTIPART_MORE;
		event = reader->state == PREAMBLE   ? begin(reader, rest, &used)
			: reader->state == BOUNDARY ? pass_boundary(reader, rest, &used)
			: reader->state == HEAD     ? take_head(reader, rest, &used)
						    : take_body(reader, rest, &used);
		*ret_used += used;
	} while (event == RF_MULTIPART_MORE && used > 0);
	return event;
}
