/*
 * Whether a record continues a chain.  The one place that judges it: for the store when it opens its log
 * again, for `audit verify`, and for whoever reads.
 */
#ifndef RF_AUDIT_LINK_H
#define RF_AUDIT_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/digest.h"
#include "audit/frame.h"
#include "audit/sign.h"
#include "base/err.h"

/* How far a chain was followed. */
struct rf_link {
	struct rf_digest *digest;    /* borrowed */
	const struct rf_sign *key;   /* borrowed; NULL: signatures are not looked at */
	uint64_t seq;                /* of the last record; 0: none yet, and the first may be any */
	uint8_t hash[RF_AUDIT_HASH]; /* its own */
	uint64_t time_ns;            /* when it was stored */
	uint64_t signed_seq;         /* the last one that a signature answers for */
	uint64_t first_seq;          /* the first one, and what it says it continues */
	uint8_t first_prev[RF_AUDIT_HASH];
	struct rf_frame_segment segment; /* that it lies in */
	uint64_t signatures;
};

/*
 * Looks at the record at `data`, at the begin of its file (`is_first`) or not.  Returns 1 if it goes on
 * from the last one, and gives `*ret_frame`; 0 if its bytes end before it does; or -EBADMSG, with what is
 * wrong with it in a person's words.
 */
int rf_link_next(struct rf_link *link, const uint8_t *data, size_t len, bool is_first,
		 struct rf_frame *ret_frame, struct rf_err *err);

/*
 * Whether `len` bytes, for which rf_link_next() returned 0, are the begin of a record and nothing else: what a crash leaves
 * of one.  Where another record follows, or all of it is there but for a true length, somebody changed it.
 */
bool rf_link_is_torn(const struct rf_link *link, const uint8_t *data, size_t len);

#endif
