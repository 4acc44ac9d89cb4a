/*
 * What a box's gateway is told of the watcher's books: what its credentials have come to, in this run and in all others, and
 * which hosts and credentials somebody has opened or closed by hand.
 *
 * A gateway has no connection to the watcher; who has the box asks the one and tells the other (audit/account.h).  The same text
 * goes both ways, a line for each thing:
 *
 *     serial N                                       the last reset that is in it
 *     credential NAME USES/H USES/DAY MONEY/H MONEY/DAY HEARD
 *     open host|credential NAME MS|- REASON          from now on, for so long; "-": until it is reset
 *     reset host|credential NAME                     close it, and forget what was counted
 */
#ifndef RF_WIRE_BOOKS_H
#define RF_WIRE_BOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RF_BOOKS_SUMS   64
#define RF_BOOKS_ORDERS 128
#define RF_BOOKS_NAME   128
#define RF_BOOKS_REASON 160
#define RF_BOOKS_NEVER  UINT64_MAX
#define RF_BOOKS_TEXT   (48 * 1024)

enum rf_books_period {
	RF_BOOKS_HOUR,
	RF_BOOKS_DAY,
	RF_BOOKS_PERIODS
};

/* A credential, by its name; all gateways of the user together. */
struct rf_books_sum {
	char name[RF_BOOKS_NAME];
	uint64_t uses[RF_BOOKS_PERIODS];
	uint64_t money[RF_BOOKS_PERIODS]; /* in millionths */
	uint64_t heard; /* uses of this box that are among them, all since it began */
};

struct rf_books_order {
	bool is_reset;
	bool is_credential; /* else a host */
	char name[RF_BOOKS_NAME];
	uint64_t ms; /* or RF_BOOKS_NEVER */
	char reason[RF_BOOKS_REASON];
};

struct rf_books {
	uint64_t serial;
	struct rf_books_sum sums[RF_BOOKS_SUMS];
	size_t sum_count;
	struct rf_books_order orders[RF_BOOKS_ORDERS];
	size_t order_count;
};

void rf_books_write(const struct rf_books *books, struct rf_buf *out);

/* Reads `len` bytes, all of them.  -EBADMSG for what rf_books_write() would not have written. */
int rf_books_read(const char *text, size_t len, struct rf_books *ret_books, struct rf_err *err);

#endif
