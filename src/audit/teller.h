/*
 * Tells the user's watcher what happened, and waits until it is written.
 *
 * For whoever runs boxes: it links no OpenSSL, holds one descriptor, and never raises SIGPIPE.  A watcher
 * that is gone, does not answer or can't write is an error; what that means is the policy's to say
 * (`audit: required`).
 */
#ifndef RF_AUDIT_TELLER_H
#define RF_AUDIT_TELLER_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/wire.h"

#define RF_TELLER_SOCKET "watch.sock" /* in $RUN */
#define RF_TELLER_WAIT   2000         /* milliseconds that a watcher has to answer */
#define RF_TELLER_MOST   (RF_WIRE_PACKET - sizeof(struct rf_wire_head)) /* bytes of one TELL */

struct rf_teller {
	int fd;      /* or -1: there is none */
	uint64_t id; /* of the last message */
	struct rf_buf out, in;
};

void rf_teller_init(struct rf_teller *teller);
void rf_teller_done(struct rf_teller *teller);

/* Connects to the user's watcher.  -ENOENT, -ECONNREFUSED: none stands. */
int rf_teller_open(struct rf_teller *teller, struct rf_err *err);

/* The same, but a watcher that has no room for one more is not waited for: -ETIMEDOUT at once. */
int rf_teller_try(struct rf_teller *teller, struct rf_err *err);

static inline bool rf_teller_is_open(const struct rf_teller *teller)
{
	return teller->fd >= 0;
}

/* True if it is not, or the watcher has ended meanwhile. */
bool rf_teller_is_cut(const struct rf_teller *teller);

/* Adds an event (borrows) to what is told next.  Nothing is sent yet. */
int rf_teller_add(struct rf_teller *teller, const struct rf_audit_event *event, struct rf_err *err);

/* The same for who sends it in another way: appends it to the body of a TELL, of at most RF_TELLER_MOST bytes. */
int rf_teller_write(struct rf_buf *out, const struct rf_audit_event *event, struct rf_err *err);

/*
 * Sends what was added; and waits until it is written, which gives the last one's number (or NULL).  One after the other, or
 * both at once.  On failure the connection is closed, unless it is the watcher that says that it can't
 * keep it.
 */
int rf_teller_post(struct rf_teller *teller, struct rf_err *err);
int rf_teller_wait(struct rf_teller *teller, uint64_t *ret_seq, struct rf_err *err);
int rf_teller_send(struct rf_teller *teller, uint64_t *ret_seq, struct rf_err *err);

/*
 * Shows the watcher a box that lives: what is said of it (sight.h), its pid 1, and a hand on its network or -1 (all borrowed).  Not
 * waited for.
 */
int rf_teller_show(struct rf_teller *teller, const struct rf_buf *sight, int pidfd, int hand,
		   struct rf_err *err);

/* Asks the watcher something (words, each ended by a NUL; `len` counts all); gives its answer in `out`. */
int rf_teller_ask(struct rf_teller *teller, const char *words, size_t len, struct rf_buf *out,
		  struct rf_err *err);

#endif
