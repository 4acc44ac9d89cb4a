/* A body in chunks: see chunked.h. */
#include "http/chunked.h"

#include "http/octet.h"

/* Each state says what the next octet may be. */
enum rf_chunked_state {
	SIZE_FIRST,  /* a hexadecimal digit */
	SIZE,        /* one more, ';' or CR */
	NAME_FIRST,  /* of an extension: a token's octet */
	NAME,        /* one more, '=', ';' or CR */
	VALUE_FIRST, /* a token's octet or a quotation mark */
	VALUE,       /* one more, ';' or CR */
	QUOTED,      /* text, a backslash, or the closing mark */
	QUOTED_PAIR, /* the octet that a backslash quotes */
	QUOTED_END,  /* ';' or CR */
	LINE_LF,     /* LF: data, or behind the last chunk the trailer */
	DATA,        /* not looked at */
	DATA_CR,     /* CR */
	DATA_LF,     /* LF: the next chunk */
	LAST,
	BAD,
};

static int fail(struct rf_chunked *chunked, enum rf_fault fault)
{
	chunked->fault = fault;
	return BAD;
}

static int end_line(struct rf_chunked *chunked, const struct rf_chunked_limits *limits)
{
	if (chunked->size > limits->body_bytes - chunked->total)
		return fail(chunked, RF_FAULT_BODY_LONG);
	chunked->total += chunked->size;
	return LINE_LF;
}

/* What may follow any part of a line: another extension, or the end; else the fault. */
static int go_on(struct rf_chunked *chunked, const struct rf_chunked_limits *limits, char octet,
		 enum rf_fault fault)
{
	if (octet == ';')
		return NAME_FIRST;
	if (octet == '\r')
		return end_line(chunked, limits);
	return fail(chunked, octet == '\n' ? RF_FAULT_BARE_LF : fault);
}

static int in_size(struct rf_chunked *chunked, const struct rf_chunked_limits *limits, char octet)
{
	if (rf_octet_is(octet, RF_OCTET_HEX)) {
		if (chunked->size > UINT64_MAX >> 4)
			return fail(chunked, RF_FAULT_CHUNK_SIZE);
		chunked->size = chunked->size << 4 | rf_octet_hex(octet);
		return SIZE;
	}
	return chunked->state == SIZE_FIRST ? fail(chunked, RF_FAULT_CHUNK_SIZE)
					    : go_on(chunked, limits, octet, RF_FAULT_CHUNK_SIZE);
}

static int in_extension(struct rf_chunked *chunked, const struct rf_chunked_limits *limits,
			char octet)
{
	const enum rf_fault fault = RF_FAULT_CHUNK_EXTENSION;
	bool is_token = rf_octet_is(octet, RF_OCTET_TOKEN);

	switch (chunked->state) {
	case NAME_FIRST:
		return is_token ? NAME : fail(chunked, fault);
	case NAME:
		if (octet == '=')
			return VALUE_FIRST;
		return is_token ? NAME : go_on(chunked, limits, octet, fault);
	case VALUE_FIRST:
		if (octet == '"')
			return QUOTED;
		return is_token ? VALUE : fail(chunked, fault);
	case VALUE:
		return is_token ? VALUE : go_on(chunked, limits, octet, fault);
	case QUOTED:
		if (octet == '"')
			return QUOTED_END;
		if (octet == '\\')
			return QUOTED_PAIR;
		return rf_octet_is(octet, RF_OCTET_TEXT) ? QUOTED : fail(chunked, fault);
	case QUOTED_PAIR:
		return rf_octet_is(octet, RF_OCTET_TEXT) ? QUOTED : fail(chunked, fault);
	default: /* QUOTED_END */
		return go_on(chunked, limits, octet, fault);
	}
}

static int begin_data(struct rf_chunked *chunked)
{
	chunked->line = 0;
	return chunked->size > 0 ? DATA : LAST;
}

/* One octet of what stands around the data. */
static int step(struct rf_chunked *chunked, const struct rf_chunked_limits *limits, char octet)
{
	switch ((enum rf_chunked_state)chunked->state) {
	case SIZE_FIRST:
	case SIZE:
		return in_size(chunked, limits, octet);
	case NAME_FIRST:
	case NAME:
	case VALUE_FIRST:
	case VALUE:
	case QUOTED:
	case QUOTED_PAIR:
	case QUOTED_END:
		if (++chunked->extensions > limits->extension_bytes)
			return fail(chunked, RF_FAULT_CHUNK_LONG);
		return in_extension(chunked, limits, octet);
	case LINE_LF:
		return octet == '\n' ? begin_data(chunked) : fail(chunked, RF_FAULT_BARE_CR);
	case DATA_CR:
		return octet == '\r' ? DATA_LF : fail(chunked, RF_FAULT_CHUNK_END);
	case DATA_LF:
		chunked->size = 0;
		return octet == '\n' ? SIZE_FIRST : fail(chunked, RF_FAULT_CHUNK_END);
	case DATA:
	case LAST:
	case BAD:
		break;
	}
	return chunked->state;
}

/* A line is bounded where it grows; its end does not count. */
static bool is_full(struct rf_chunked *chunked, const struct rf_chunked_limits *limits, char octet)
{
	return chunked->state < LINE_LF && octet != '\r' && ++chunked->line > limits->line_bytes;
}

enum rf_chunked_answer rf_chunked_next(struct rf_chunked *chunked,
				       const struct rf_chunked_limits *limits, struct rf_span bytes,
				       size_t *ret_used, struct rf_span *ret_data)
{
	size_t at = 0;

	*ret_data = (struct rf_span){ 0 };
	while (at < bytes.len && chunked->state != LAST && chunked->state != BAD) {
		if (chunked->state == DATA) {
			size_t left = bytes.len - at;

			*ret_data = rf_span_part(bytes, at,
						 chunked->size < left ? chunked->size : left);
			chunked->size -= ret_data->len;
			chunked->state = chunked->size > 0 ? DATA : DATA_CR;
			*ret_used = at + ret_data->len;
			return RF_CHUNKED_DATA;
		}
		if (is_full(chunked, limits, bytes.at[at]))
			chunked->state = fail(chunked, RF_FAULT_CHUNK_LONG);
		else
			chunked->state = step(chunked, limits, bytes.at[at++]);
	}
	*ret_used = at;
	if (chunked->state == BAD)
		return RF_CHUNKED_BAD;
	return chunked->state == LAST ? RF_CHUNKED_LAST : RF_CHUNKED_MORE;
}
