/*
 * A record of the audit log, as bytes.
 *
 *   u32 length   of all of it          u8[32] prev     hash of the record before
 *   u16 version                        u8[]   payload
 *   u16 type                           u8[32] hash     SHA-256 of all bytes before it
 *   u64 seq      from 1, without gaps
 *   u64 time_ns  since 1970
 *
 * Numbers are little endian.  A log is a row of such records, cut into files (segments), each of which
 * begins with a record that says which file of which chain it is.  docs/internals/audit.md tells the rest.
 */
#ifndef RF_AUDIT_FRAME_H
#define RF_AUDIT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/buf.h"

#define RF_FRAME_VERSION 1
#define RF_FRAME_HEAD    56 /* bytes before the payload */
#define RF_FRAME_MOST    (RF_FRAME_HEAD + RF_AUDIT_EVENT_MAX + RF_AUDIT_HASH)
#define RF_FRAME_KEY     32 /* bytes of a public key: Ed25519 */
#define RF_FRAME_SIGNED  64 /* bytes of a signature */

enum rf_frame_type {
	RF_FRAME_SEGMENT = 1,   /* struct rf_frame_segment; the first one of a file */
	RF_FRAME_EVENT = 2,     /* an event: audit/event.h */
	RF_FRAME_SIGNATURE = 3, /* of the record before: audit/sign.h */
};

/* A record where it lies; borrows the bytes that it was read from. */
struct rf_frame {
	uint32_t length;
	enum rf_frame_type type;
	uint64_t seq, time_ns;
	const uint8_t *prev, *payload, *hash;
	size_t payload_len;
};

/* What a segment says of itself. */
struct rf_frame_segment {
	uint64_t number; /* from 1 */
	uint8_t chain[RF_AUDIT_HASH];
	uint8_t key[RF_FRAME_KEY];
};
#define RF_FRAME_SEGMENT_BYTES 80

enum rf_frame_state {
	RF_FRAME_WHOLE,
	RF_FRAME_SHORT,     /* its bytes end before it does */
	RF_FRAME_MALFORMED, /* it is no record */
};

/* Reads the record at `data` (borrows).  Its hash is not looked at: see audit/digest.h. */
enum rf_frame_state rf_frame_parse(const uint8_t *data, size_t len, struct rf_frame *ret_frame);

/*
 * Appends a record but for its hash, for which it leaves RF_AUDIT_HASH bytes of room; gives the place where it begins in
 * `out`.  NULL if there is no room.
 */
uint8_t *rf_frame_put(struct rf_buf *out, enum rf_frame_type type, uint64_t seq, uint64_t time_ns,
		      const uint8_t prev[RF_AUDIT_HASH], const void *payload, size_t len);

void rf_frame_put_segment(const struct rf_frame_segment *segment,
			  uint8_t bytes[RF_FRAME_SEGMENT_BYTES]);

/* Returns 0, or -EBADMSG. */
int rf_frame_segment(const struct rf_frame *frame, struct rf_frame_segment *ret_segment);

#endif
