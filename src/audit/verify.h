/*
 * Proves that a log is what was written: every record in its place, unchanged, and signed for.
 *
 * Finds edits, deletions, insertions, reorderings and files of other logs, and names the first bad record.  That
 * the end is missing can be seen only from an anchor; without one this is said, and not concealed.
 */
#ifndef RF_AUDIT_VERIFY_H
#define RF_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/link.h"
#include "base/err.h"

struct rf_verify_options {
	int dir;            /* the log's folder; borrowed */
	const char *anchor; /* a file with lines of heads; or NULL */
	const uint8_t *key; /* the public key to be trusted; NULL: the folder's key.pub */
};

struct rf_verify {
	bool is_good;         /* nothing is wrong */
	char what[384];       /* the first thing that is, in words; or "" */
	uint64_t bad_seq;     /* the record that it is about; 0: none */
	uint64_t bad_segment; /* and where: file and byte */
	uint64_t bad_offset;
	uint64_t files, records, events, signatures, bytes;
	uint64_t first_seq, last_seq, signed_seq;
	uint64_t first_ns, last_ns;
	uint8_t chain[RF_AUDIT_HASH], head[RF_AUDIT_HASH];
	uint64_t
		unfinished; /* bytes of a last record that is being written, or was when something crashed */
	bool is_closed;  /* the log's writer ended as it should */
	bool is_retired; /* older files went by the rules, and the log says so */
	bool has_anchor;
	uint64_t anchored_seq;    /* how far the anchor answers for it */
	uint64_t anchors, forged; /* lines that were used, and whose signature is not the key's */
};

/* Looks at all of it.  0, whatever is found; or a negative errno if it can't be looked at. */
int rf_verify_log(const struct rf_verify_options *options, struct rf_verify *ret_verify,
		  struct rf_err *err);

#endif
