/* One tile of the index while it is read from the log, and its filter: see index.h. */
#ifndef RF_AUDIT_TILE_H
#define RF_AUDIT_TILE_H

#include "audit/digest.h"
#include "audit/frame.h"
#include "audit/index.h"

/* What a field of an event is in the filter. */
uint64_t rf_tile_word(enum rf_audit_field field, const char *text, size_t len);

/*
 * Reads a tile that begins at `begin` of `len` bytes: at most RF_INDEX_RECORDS records, each with its hash and that of the
 * one before (`prev`).  Returns how many records it has, 0 if there are none that are whole and right, or -ENOMEM.  Its filter
 * is the caller's to free.
 */
int rf_tile_read(struct rf_digest *digest, const uint8_t *data, size_t len, size_t begin,
		 const uint8_t prev[RF_AUDIT_HASH], struct rf_index_tile *ret_tile);

/* True if the filter may have the word. */
bool rf_tile_has(const struct rf_index_tile *tile, uint64_t word);

/* The sum of all that a tile says. */
int rf_tile_sum(struct rf_digest *digest, const struct rf_index_tile *tile,
		uint8_t sum[RF_AUDIT_HASH]);

#endif
