/*
 * A stream of bytes that is compressed (zstd) on its way to a descriptor, or read from one.
 *
 * Reading takes plain bytes as well: what does not begin as zstd does is passed on as it is.  A frame that was cut off, or
 * whose checksum is not its content's, is an error.
 */
#ifndef RF_ARCHIVE_ZSTREAM_H
#define RF_ARCHIVE_ZSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct rf_zstream;

/* For writing to `fd`, or for reading from it (borrows).  NULL without memory. */
struct rf_zstream *rf_zstream_new(int fd, bool is_writing);
void rf_zstream_free(struct rf_zstream *stream);

/* Returns 0 or a negative errno.  `is_end`: and nothing comes after it. */
int rf_zstream_write(struct rf_zstream *stream, const void *bytes, size_t len, bool is_end);

/* Reads up to `len` bytes; fewer only at the end.  Returns how many, or a negative errno. */
ssize_t rf_zstream_read(struct rf_zstream *stream, void *bytes, size_t len);

#endif
