/* The end of a head, or of a trailer: see head-block.h. */
#include "http/head-block.h"

#include "http/octet.h"

enum rf_head_block_state {
	AT_START, /* of a line: CR begins the empty one, anything else a line with something in it */
	INSIDE,   /* a line: up to its CR */
	AT_LF,    /* behind that CR: LF, then AT_START */
	AT_LAST,  /* behind the CR of the empty line: LF, and all is there */
	WHOLE,
	BAD,
};

#define EACH(octet) (0x0101010101010101u * (octet))

/* True if one of the eight is a control character: below the space, or DEL. */
static bool has_control(uint64_t eight)
{
	uint64_t del = eight ^ EACH(0x7f);

	return (((eight - EACH(' ')) & ~eight) | ((del - EACH(1)) & ~del)) & EACH(0x80);
}

/* The first place from `at` on that has no text, or `end`. */
static size_t skip_text(const char *bytes, size_t at, size_t end)
{
	uint64_t eight;

	while (at < end) {
		if (end - at >= sizeof(eight)) {
			memcpy(&eight, bytes + at, sizeof(eight));
			if (!has_control(eight)) {
				at += sizeof(eight);
				continue;
			}
		}
		if (!rf_octet_is(bytes[at], RF_OCTET_TEXT))
			return at;
		at++;
	}
	return end;
}

static int fail(struct rf_head_block *lines, enum rf_fault fault)
{
	lines->fault = fault;
	return BAD;
}

/* What ended the text of a line: text itself only where the line is full. */
static int judge_end(struct rf_head_block *lines, char octet)
{
	if (octet == '\r')
		return AT_LF;
	if (octet == '\n')
		return fail(lines, RF_FAULT_BARE_LF);
	if (!rf_octet_is(octet, RF_OCTET_TEXT))
		return fail(lines, RF_FAULT_CONTROL);
	return fail(lines, lines->line ? RF_FAULT_FIELD_LONG : RF_FAULT_START_LONG);
}

/* Takes one step: the text of a line, or one octet.  There is at least one before `end`. */
static int step(struct rf_head_block *lines, const struct rf_head_block_limits *limits,
		const char *bytes, size_t end)
{
	size_t room = lines->line ? limits->line_bytes : limits->first_bytes;
	size_t full = lines->line_from + room;

	switch ((enum rf_head_block_state)lines->state) {
	case AT_START:
		if (bytes[lines->seen] != '\r')
			return INSIDE;
		lines->seen++;
		return AT_LAST;
	case INSIDE:
		lines->seen = skip_text(bytes, lines->seen, full < end ? full : end);
		if (lines->seen == end)
			return INSIDE;
		return judge_end(lines, bytes[lines->seen++]);
	case AT_LF:
		if (bytes[lines->seen] != '\n')
			return fail(lines, RF_FAULT_BARE_CR);
		lines->line_from = ++lines->seen;
		lines->line++;
		return AT_START;
	case AT_LAST:
		if (bytes[lines->seen] != '\n')
			return fail(lines, RF_FAULT_BARE_CR);
		lines->seen++;
		return WHOLE;
	case WHOLE:
	case BAD:
		break;
	}
	return lines->state;
}

enum rf_head_block_answer rf_head_block_look(struct rf_head_block *lines,
					     const struct rf_head_block_limits *limits,
					     struct rf_span bytes)
{
	size_t end = bytes.len < limits->all_bytes ? bytes.len : limits->all_bytes;

	while (lines->seen < end && lines->state != WHOLE && lines->state != BAD)
		lines->state = step(lines, limits, bytes.at, end);
	if (lines->state != WHOLE && lines->state != BAD && end == limits->all_bytes)
		lines->state = fail(lines, RF_FAULT_HEAD_LONG);
	if (lines->state == BAD)
		return RF_HEAD_BLOCK_BAD;
	return lines->state == WHOLE ? RF_HEAD_BLOCK_WHOLE : RF_HEAD_BLOCK_MORE;
}

bool rf_head_block_next(struct rf_span *block, struct rf_span *ret_line)
{
	size_t len = rf_span_find(*block, '\r'); /* there is one: none stands alone */
	struct rf_span line = rf_span_part(*block, 0, len);

	*block = rf_span_part(*block, len + 2, block->len);
	if (line.len == 0)
		return false;
	*ret_line = line;
	return true;
}
