/*
 * The audit log, for the one process that writes it.
 *
 * Append-only.  Records are gathered by rf_store_add() and written in one go by rf_store_commit(): what it
 * has written survives the death of every process, and rf_store_sync() makes it survive the machine's.
 * Either a batch is in the log as a whole or nothing of it is: where the disk is full, what was written of it
 * is cut off again, and the next batch is tried as if there had been none.
 *
 * A log that is opened again goes on where it ended.  A record that a crash left half-written is cut
 * off, and the log says so.  A log that is damaged otherwise is never written to: it is put aside as it is,
 * and a new chain names the last record of the old one that was good.
 *
 * Life cycle: rf_store_open() → rf_store_add(), _commit(), _sync(), _sign(), _tend() → rf_store_close().
 */
#ifndef RF_AUDIT_STORE_H
#define RF_AUDIT_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/anchor.h"
#include "audit/event.h"
#include "base/err.h"

#define RF_STORE_LOCK "lock" /* held by who writes */

struct rf_store_options {
	int dir;                /* $STATE/audit; borrowed */
	uint64_t segment_bytes; /* a file that is longer is followed by another; 0: 64 MiB */
	uint64_t segment_s;     /* and one that is older; 0: a day */
	uint64_t keep_bytes;    /* of all files; older ones go; 0: all stay */
	uint64_t keep_s;        /* the same by age; 0: all stay */
	/* Told of every head that was signed and written, for the anchors; or NULL. */
	void (*on_head)(void *data, const struct rf_anchor_line *line);
	void *data;
};

struct rf_store;

/* Opens the log, or begins one.  -EBUSY: somebody else writes it. */
int rf_store_open(const struct rf_store_options *options, struct rf_store **ret_store,
		  struct rf_err *err);

/* Signs the head, writes and syncs what is left, and frees the store.  `why` goes into the last event; or NULL. */
void rf_store_close(struct rf_store *store, const char *why);

/* Adds an encoded event (borrows) to the batch; gives its number. */
int rf_store_add(struct rf_store *store, const void *event, size_t len, uint64_t *ret_seq,
		 struct rf_err *err);

/*
 * The same for one that a client told (`event` is what `bytes` say, borrowed): a policy's text is written once in each file,
 * however often it is told.
 */
int rf_store_told(struct rf_store *store, const struct rf_audit_event *event, const void *bytes,
		  size_t len, uint64_t *ret_seq, struct rf_err *err);

/* Encodes one, and adds it. */
int rf_store_event(struct rf_store *store, const struct rf_audit_event *event, uint64_t *ret_seq,
		   struct rf_err *err);

/* Writes the batch.  On failure none of it is in the log. */
int rf_store_commit(struct rf_store *store, struct rf_err *err);

/* Throws the batch away: nothing of it was written. */
void rf_store_forget(struct rf_store *store);

/* Bytes that wait for rf_store_commit(). */
size_t rf_store_waiting(const struct rf_store *store);

/* Puts on disk what is written. */
int rf_store_sync(struct rf_store *store, struct rf_err *err);

/* Signs the head, if something came since it last was. */
int rf_store_sign(struct rf_store *store, struct rf_err *err);

/* Begins a new file where it is time, and takes those away that need not be kept. */
int rf_store_tend(struct rf_store *store, struct rf_err *err);

/* The file's descriptor (borrowed, until the next call), the last number, and bytes written. */
int rf_store_fd(const struct rf_store *store);
uint64_t rf_store_seq(const struct rf_store *store);

/* What rf_store_open() found amiss and mended or put aside; "" if nothing. */
const char *rf_store_found(const struct rf_store *store);

/* CLOCK_REALTIME in nanoseconds. */
uint64_t rf_store_now(void);

#endif
