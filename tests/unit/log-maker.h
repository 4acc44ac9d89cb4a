/* Audit logs in folders that are gone afterwards, for the tests of src/audit. */
#ifndef RF_TEST_LOG_MAKER_H
#define RF_TEST_LOG_MAKER_H

#include "audit/segment.h"
#include "audit/store.h"
#include "audit/verify.h"

/* A folder of its own, removed when the test's process ends.  Gives a descriptor. */
int log_folder(void);

/* Its path, and that of a file in it. */
const char *log_path(int dir, const char *name);

/* Opens a store in it; `segment_bytes` 0: as ever.  Ends the test if it can't. */
struct rf_store *log_open(int dir, uint64_t segment_bytes);

/* Adds an event that has the number in it, and commits.  Gives its place in the chain. */
uint64_t log_add(struct rf_store *store, unsigned number);

/* A log of so many events, closed. */
void log_make(int dir, unsigned events, uint64_t segment_bytes);

/* The bytes of a file, to be freed; and all of them anew. */
uint8_t *log_read(int dir, uint64_t segment, size_t *ret_len);
void log_write(int dir, uint64_t segment, const void *data, size_t len);

/* What verify says, with an anchor's path or NULL. */
struct rf_verify log_verify(int dir, const char *anchor);

/* Where the record `index` of a file begins (from 0), or its end behind the last one. */
size_t log_offset(const uint8_t *data, size_t len, unsigned index);
unsigned log_count(const uint8_t *data, size_t len);

#endif
