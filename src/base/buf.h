/*
 * A growing run of bytes that knows its maximum from the start.
 *
 * Once an append would pass the maximum, or memory is gone, the buffer is marked failed, keeps what
 * it had and ignores further appends; so a writer checks once, at the end.  The bytes are always
 * followed by a NUL that does not count.
 */
#ifndef RF_BASE_BUF_H
#define RF_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct rf_buf {
	char *data; /* never NULL after an append that worked */
	size_t len, room, max;
	bool has_failed;
};

#define RF_AUTO_BUF __attribute__((cleanup(rf_buf_done)))

void rf_buf_init(struct rf_buf *buf, size_t max);
void rf_buf_done(struct rf_buf *buf);

/* Forgets the content and any failure; keeps the memory. */
void rf_buf_clear(struct rf_buf *buf);

void rf_buf_add(struct rf_buf *buf, const void *data, size_t len);
void rf_buf_puts(struct rf_buf *buf, const char *text);
void rf_buf_printf(struct rf_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Makes room for `len` more bytes, and gives the place behind the last one to write them to;
 * rf_buf_grew() then says how many it were.  NULL, and failed, if there is no room.
 */
char *rf_buf_reserve(struct rf_buf *buf, size_t len);
void rf_buf_grew(struct rf_buf *buf, size_t len);

/* Gives the bytes, to be freed with free(), and leaves the buffer empty.  NULL if it failed. */
char *rf_buf_take(struct rf_buf *buf);

#endif
