/*
 * Reads a log's events one after the other, also while it is written.
 *
 * It reads what is there and proves nothing: that is audit/verify.h's.
 */
#ifndef RF_AUDIT_READER_H
#define RF_AUDIT_READER_H

#include <stdint.h>

#include "audit/event.h"
#include "audit/frame.h"
#include "audit/segment.h"
#include "base/err.h"

struct rf_reader {
	int dir; /* borrowed */
	struct rf_segment segment;
	size_t at;             /* where the next record begins */
	struct rf_frame frame; /* of the last event; where it lies, as its texts */
};

void rf_reader_init(struct rf_reader *reader, int dir);
void rf_reader_done(struct rf_reader *reader);

/* Goes on from a place at which a record begins, or the log ends; file 0: from its beginning. */
int rf_reader_seek(struct rf_reader *reader, uint64_t segment, uint64_t offset, struct rf_err *err);

/*
 * Returns 1 and gives the next event, whose texts are borrowed until the next call; 0 at the end, from which a
 * later call may go on; or -EBADMSG for what is no log.
 */
int rf_reader_next(struct rf_reader *reader, struct rf_audit_event *ret_event, struct rf_err *err);

#endif
