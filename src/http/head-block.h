/*
 * The end of a head, or of a trailer, is looked for here: lines that end in CR LF, up to an empty one.
 *
 * The bytes come in pieces, and stay in the caller's buffer until the whole is there; what was looked at once is not
 * looked at again.  Whatever no line may contain is refused when it is seen, so neither a TLS handshake nor a line without end is
 * waited for.  The verdict does not depend on how the bytes were cut.
 */
#ifndef RF_HTTP_HEAD_BLOCK_H
#define RF_HTTP_HEAD_BLOCK_H

#include <stdint.h>

#include "http/fault.h"
#include "http/span.h"

struct rf_head_block_limits {
	uint32_t first_bytes; /* of the first line, without its end */
	uint32_t line_bytes;  /* of any other */
	uint32_t all_bytes;   /* of all, with their ends and the empty line */
};

/* To be zeroed before the first look. */
struct rf_head_block {
	size_t seen;         /* bytes that were looked at */
	size_t line_from;    /* where the line begins that `seen` is in */
	unsigned line;       /* its number, from 0 */
	int state;           /* enum rf_head_block_state, in head-block.c */
	enum rf_fault fault; /* the rule that was broken */
};

enum rf_head_block_answer {
	RF_HEAD_BLOCK_MORE,  /* the end is not there yet */
	RF_HEAD_BLOCK_WHOLE, /* it ends at `seen` */
	RF_HEAD_BLOCK_BAD
};

/*
 * Looks at `bytes` (borrows), which begin with all that was there the last time.  RF_HEAD_BLOCK_BAD: `lines->fault` says why, for a
 * request's head, and `lines->line` where.
 */
enum rf_head_block_answer rf_head_block_look(struct rf_head_block *lines,
					     const struct rf_head_block_limits *limits,
					     struct rf_span bytes);

/* Takes the next line, without its end, off a block that was found whole.  False at the empty line. */
bool rf_head_block_next(struct rf_span *block, struct rf_span *ret_line);

#endif
