/*
 * Messages to a process that may have stopped reading: sent as far as there is room, and kept in order for later.
 *
 * Nobody ever waits for the other end: its descriptor does not block, what it does not take lies here, and that has a most.  Who owns one sees how long the other end has
 * taken nothing, and does what is to be done about it.
 */
#ifndef RF_SERVER_OUTBOX_H
#define RF_SERVER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/wire.h"

#define RF_OUTBOX_MOST  32768              /* messages that are kept */
#define RF_OUTBOX_BYTES (64 * 1024 * 1024) /* of them */

struct rf_outbox_letter;

struct rf_outbox {
	int fd; /* borrowed; -1: nobody is there */
	struct rf_outbox_letter *first, **last;
	size_t count, bytes;
	uint64_t
		stuck_ns; /* when it took something for the last time, or was to begin to; 0: it has all */
	bool is_full; /* something was lost: it can't be served any more */
};

/* `fd` (borrows) must not block. */
void rf_outbox_init(struct rf_outbox *box, int fd);
void rf_outbox_done(struct rf_outbox *box);

/*
 * As rf_wire_send(): borrows all, and copies what is not sent at once.  -ENOBUFS: as much as may is kept already, and this is lost.
 */
int rf_outbox_send(struct rf_outbox *box, enum rf_wire_type type, uint64_t id, const void *body,
		   size_t len, const int *fds, size_t fd_count, struct rf_err *err);

/* Sends what there is room for now.  True if nothing is left. */
bool rf_outbox_flush(struct rf_outbox *box);

#endif
