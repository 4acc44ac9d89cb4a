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
	size_t at; /* where the next record begins */
};

void rf_reader_init(struct rf_reader *reader, int dir);
void rf_reader_done(struct rf_reader *reader);

/*
 * Returns 1 and gives the next event, whose texts are borrowed until the next call; 0 at the end, from which a
 * later call may go on; or -EBADMSG for what is no log.
 */
int rf_reader_next(struct rf_reader *reader, struct rf_audit_event *ret_event, struct rf_err *err);

#endif
