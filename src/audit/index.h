/*
 * An index of the audit log: which parts of it need not be read to answer a question.
 *
 * The log is cut into tiles of a thousand records, without a gap; of each the index has its place, the hashes before
 * and behind it, its times and kinds, and a filter of the agents, boxes and verdicts in it (which may say yes where the
 * answer is no, never the other way).  So it invents nothing: who asks reads the tiles that remain in the log
 * itself, record by record, with their hashes (audit/lookup.h).  And it hides nothing by being damaged: each row has a
 * sum, and rows that do not follow each other from the log's first byte on are no index.  Then, and for what came
 * after the last tile, the log is read as it is.
 *
 * It lies in $STATE/audit-index, a file for each chain, and belongs to who reads the log, never to who writes it.  No
 * box is shown $STATE: who could write a row with a right sum there could as well replace the reader.
 */
#ifndef RF_AUDIT_INDEX_H
#define RF_AUDIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "audit/pick.h"
#include "base/err.h"

#define RF_INDEX_FOLDER  "audit-index" /* in $STATE */
#define RF_INDEX_RECORDS 1024          /* of a tile; the last one of a file may have fewer */

struct rf_index_tile {
	uint64_t segment, begin, end; /* file, and bytes of it */
	uint64_t first_seq, last_seq;
	uint64_t since_ns, until_ns; /* of its events; the latter is the last one's */
	uint64_t kinds;              /* bit of each */
	uint8_t prev[RF_AUDIT_HASH]; /* of the record before */
	uint8_t head[RF_AUDIT_HASH]; /* of its last one */
	uint8_t *words;              /* the filter */
	size_t words_len;
};

struct rf_index;

/*
 * Opens the index of the log in `dir` (borrowed), in `folder` ($STATE/audit-index; borrowed).  `may_make`: one that is
 * not there is made, and one that is none is thrown away.  Fails where there is none that can be used, which is no
 * reason to do without the log.
 */
int rf_index_open(int dir, int folder, bool may_make, struct rf_index **ret_index,
		  struct rf_err *err);
void rf_index_free(struct rf_index *index);

/* Takes the index of a log away, whatever is in it. */
int rf_index_remove(int dir, int folder, struct rf_err *err);

/* Takes in what the log has by now, up to the first record that is not as it should be.  Gives how many records. */
int rf_index_update(struct rf_index *index, uint64_t *ret_records, struct rf_err *err);

size_t rf_index_count(const struct rf_index *index);
const struct rf_index_tile *rf_index_tile(const struct rf_index *index, size_t i);

/* Where the tiles end; file 0: there are none. */
void rf_index_end(const struct rf_index *index, uint64_t *ret_segment, uint64_t *ret_offset);

/* False only if no event of the tile is wanted. */
bool rf_index_may_have(const struct rf_index_tile *tile, const struct rf_pick *filter);

#endif
