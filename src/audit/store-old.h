/* What a store finds when it opens a log that was written before, and which of its files need not be kept. */
#ifndef RF_AUDIT_STORE_OLD_H
#define RF_AUDIT_STORE_OLD_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/link.h"
#include "base/err.h"

struct rf_store_old {
	struct rf_link
		at; /* digest and key are the caller's; then the last good record; seq 0: no log */
	uint64_t size;     /* of the last file, up to that record */
	uint64_t begun_ns; /* when that file was begun */
	uint64_t torn;     /* bytes behind it that a crash left */
	bool is_broken;    /* damaged: `why`, and the folder where it lies now */
	char why[256], aside[64];
};

/* Reads the last file, and puts the whole log aside if that is damaged. */
int rf_store_old_read(int dir, struct rf_store_old *old, struct rf_err *err);

/* Files that may go. */
struct rf_store_old_files {
	uint64_t first, last; /* 0: none */
	uint64_t bytes;
	uint64_t seq; /* of the last record in them, and its hash */
	uint8_t hash[RF_AUDIT_HASH];
};

/* Which files before `current` are beyond `keep_bytes` in all, or ended before `keep_ns`; 0: no such bound. */
int rf_store_old_find(int dir, uint64_t current, uint64_t keep_bytes, uint64_t keep_ns,
		      struct rf_store_old_files *ret_files, struct rf_err *err);

#endif
