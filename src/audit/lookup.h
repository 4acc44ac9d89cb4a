/*
 * Events of a log that are wanted, by way of its index where there is one.
 *
 * Each event that it gives was read from the log, and its hash is right; one whose hash is not is passed over and counted.
 * Where the index and the log disagree, the index is put aside and the log is read from its beginning: what is given is
 * the same with an index, without one, and with one that somebody spoiled.
 */
#ifndef RF_AUDIT_LOOKUP_H
#define RF_AUDIT_LOOKUP_H

#include <stdint.h>

#include "audit/event.h"
#include "audit/index.h"
#include "audit/pick.h"
#include "audit/reader.h"
#include "base/err.h"

struct rf_lookup {
	int dir;                      /* of the log; borrowed */
	const struct rf_pick *pick;   /* borrowed */
	const struct rf_index *index; /* borrowed; NULL: none */
	uint64_t limit;               /* the last so many; 0: all */
	/* Given each event, the oldest first; whatever but 0 ends it, and is returned. */
	int (*on_event)(void *data, const struct rf_audit_event *event, struct rf_err *err);
	void *data;
	struct rf_digest *digest; /* borrowed */
	/* How it went. */
	uint64_t tiles_read;
	uint64_t changed; /* events whose hash is not right */
	uint64_t first_changed;
	bool is_index_wrong; /* it was put aside */
	uint64_t skip;       /* how many are still to be passed over */
};

/* Gives all of them; `reader` is then where the log ends, to be followed, and the caller's to end. */
int rf_lookup(struct rf_lookup *lookup, struct rf_reader *reader, struct rf_err *err);

/* The next one that is wanted and right, as rf_reader_next(). */
int rf_lookup_next(struct rf_lookup *lookup, struct rf_reader *reader,
		   struct rf_audit_event *ret_event, struct rf_err *err);

#endif
