/*
 * SHA-256 (FIPS 180-4), for programs that link no OpenSSL and hash a few kilobytes: a launcher that says
 * which policy it ran under.
 */
#ifndef RF_BASE_SHA256_H
#define RF_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define RF_SHA256_BYTES 32

struct rf_sha256 {
	uint32_t state[8];
	uint64_t len;
	uint8_t block[64];
};

void rf_sha256_init(struct rf_sha256 *sha);
void rf_sha256_add(struct rf_sha256 *sha, const void *data, size_t len);
void rf_sha256_end(struct rf_sha256 *sha, uint8_t hash[RF_SHA256_BYTES]);

#endif
