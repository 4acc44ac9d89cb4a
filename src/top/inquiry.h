/*
 * A conversation with the watcher that nobody has to wait for.
 *
 * One question at a time is under way; its descriptor is readable when the answer is there.  A watcher
 * that is stopped, or busy, leaves the keys of whoever looks at it alive.
 */
#ifndef RF_TOP_INQUIRY_H
#define RF_TOP_INQUIRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct rf_inquiry {
	int fd;      /* or -1: nobody is there */
	uint64_t id; /* of the last question */
	bool is_asked;
	struct rf_buf in;
};

void rf_inquiry_init(struct rf_inquiry *inquiry);
void rf_inquiry_done(struct rf_inquiry *inquiry);

/* Connects to the user's watcher, if it is not done.  -ENOENT, -ECONNREFUSED: none stands, and the hint says how to get one. */
int rf_inquiry_open(struct rf_inquiry *inquiry, struct rf_err *err);

/* Ends the connection. */
void rf_inquiry_close(struct rf_inquiry *inquiry);

/* Asks with words, the last of which is NULL. */
int rf_inquiry_ask(struct rf_inquiry *inquiry, const char *const *words, struct rf_err *err);

/*
 * Takes the answer when the descriptor is readable: 1 and the text in `out`, or a negative errno.  That the watcher will not is
 * one, too (rf_inquiry_is_open() stays true); any other ends the connection.
 */
int rf_inquiry_take(struct rf_inquiry *inquiry, struct rf_buf *out, struct rf_err *err);

static inline bool rf_inquiry_is_open(const struct rf_inquiry *inquiry)
{
	return inquiry->fd >= 0;
}

/* Asks and waits, at most `timeout_ms`: for who has nothing else to do. */
int rf_inquiry_wait(struct rf_inquiry *inquiry, const char *const *words, int timeout_ms,
		    struct rf_buf *out, struct rf_err *err);

#endif
