/*
 * SHA-1, for formats of others that have it in them.  It proves nothing any more: nothing of ours may rest on it.
 */
#ifndef RF_BASE_SHA1_H
#define RF_BASE_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define RF_SHA1_SIZE 20

struct rf_sha1 {
	uint32_t state[5];
	uint64_t len;
	uint8_t block[64];
};

void rf_sha1_init(struct rf_sha1 *sha);
void rf_sha1_add(struct rf_sha1 *sha, const void *data, size_t len);
void rf_sha1_end(struct rf_sha1 *sha, uint8_t ret_sum[RF_SHA1_SIZE]);

#endif
