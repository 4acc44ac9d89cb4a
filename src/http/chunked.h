/*
 * A body in chunks: what it says, without the sizes between.
 *
 * Every octet has its place in one state machine, so pieces of any size come to the same.  Sizes are plain
 * hexadecimal numbers that fit; extensions are read as strictly as they are written in RFC 9112, 7.1.1, bounded, and dropped.  The trailer
 * behind the last chunk is lines (head-block.h), and not read here.
 */
#ifndef RF_HTTP_CHUNKED_H
#define RF_HTTP_CHUNKED_H

#include <stdint.h>

#include "http/fault.h"
#include "http/span.h"

struct rf_chunked_limits {
	uint32_t line_bytes;      /* of a chunk's first line, without its end */
	uint32_t extension_bytes; /* of all extensions of a body together */
	uint64_t body_bytes;      /* of all data together */
};

/* To be zeroed before the first step. */
struct rf_chunked {
	int state;           /* enum rf_chunked_state, in chunked.c */
	uint32_t line;       /* bytes of this chunk's first line so far */
	uint32_t extensions; /* bytes of extensions so far */
	uint64_t size;       /* of this chunk; then what is left of it */
	uint64_t total;      /* of all chunks announced */
	enum rf_fault fault;
};

enum rf_chunked_answer {
	RF_CHUNKED_MORE, /* all bytes are used */
	RF_CHUNKED_DATA, /* `ret_data` are bytes of the body */
	RF_CHUNKED_LAST, /* the last chunk's line has ended; the trailer follows */
	RF_CHUNKED_BAD
};

/* Reads on in `bytes` (borrows); gives how many of them were used, and the data among them. */
enum rf_chunked_answer rf_chunked_next(struct rf_chunked *chunked,
				       const struct rf_chunked_limits *limits, struct rf_span bytes,
				       size_t *ret_used, struct rf_span *ret_data);

#endif
