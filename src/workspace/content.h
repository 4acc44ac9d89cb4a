/*
 * What is in a file, whatever its holes: a hole reads as zeros, and a zero that was written is one, too.
 *
 * A file may be large and hold next to nothing.  Holes are skipped, so that the cost follows what is in the file.
 */
#ifndef RF_WORKSPACE_CONTENT_H
#define RF_WORKSPACE_CONTENT_H

#include <stdint.h>

#include "base/sha256.h"

/* Hashes what is in an open file.  Returns 0 or a negative errno. */
int rf_content_hash(int file, uint8_t hash[RF_SHA256_BYTES]);

/* 1 if two open files hold the same bytes, 0 if not, or a negative errno. */
int rf_content_is_same(int one, int two);

#endif
