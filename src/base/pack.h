/*
 * A small binary form for values that cross from one of our programs to another.
 *
 * Written in the order in which it is read, in this machine's byte order: both ends run here.  A
 * string is its length, its bytes and a NUL, so a reader borrows it where it lies.  The reader
 * believes nothing: past the end, too long, a NUL inside a string, another number than asked for
 * mark it failed, and from then on it gives zeros and empty strings; so a caller checks once, at the
 * end.
 */
#ifndef RF_BASE_PACK_H
#define RF_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Writing: failures are the buffer's. */
void rf_pack_u32(struct rf_buf *buf, uint32_t value);
void rf_pack_u64(struct rf_buf *buf, uint64_t value);
void rf_pack_bool(struct rf_buf *buf, bool value);
void rf_pack_string(struct rf_buf *buf, const char *text);         /* may be NULL */
void rf_pack_strings(struct rf_buf *buf, const char *const *list); /* NULL-ended; NULL: empty */
void rf_pack_err(struct rf_buf *buf, const struct rf_err *err);

struct rf_pack_reader {
	const char *at, *end; /* borrowed */
	bool has_failed;
};

void rf_pack_read_init(struct rf_pack_reader *reader, const void *data, size_t len);

uint32_t rf_pack_read_u32(struct rf_pack_reader *reader);
uint64_t rf_pack_read_u64(struct rf_pack_reader *reader);

/* One or zero; anything else fails. */
bool rf_pack_read_bool(struct rf_pack_reader *reader);

/* A number below `end`: an index, or how many of something there are. */
uint32_t rf_pack_read_below(struct rf_pack_reader *reader, uint32_t end);

/* A string of less than `size` bytes (borrowed).  One that may be absent comes back as NULL then. */
const char *rf_pack_read_string(struct rf_pack_reader *reader, size_t size);
const char *rf_pack_read_maybe(struct rf_pack_reader *reader, size_t size);

/* The same, copied to where it is wanted. */
void rf_pack_read_text(struct rf_pack_reader *reader, char *text, size_t size);

/*
 * A list of at most `max` strings of less than `size` bytes each: gives an array that ends with NULL,
 * to be freed with free(); what it points to is borrowed.  NULL on failure.
 */
char **rf_pack_read_strings(struct rf_pack_reader *reader, size_t max, size_t size);

void rf_pack_read_err(struct rf_pack_reader *reader, struct rf_err *err);

/* True if all of it was read and all was well. */
bool rf_pack_is_whole(const struct rf_pack_reader *reader);

#endif
