/* SHA-1: see sha1.h.  FIPS 180-4. */
#include "base/sha1.h"

#include <string.h>

static uint32_t rotate(uint32_t word, int bits)
{
	return word << bits | word >> (32 - bits);
}

static void take_block(struct rf_sha1 *sha, const uint8_t *at)
{
	uint32_t w[80], a = sha->state[0], b = sha->state[1], c = sha->state[2], d = sha->state[3],
			e = sha->state[4];

	for (int i = 0; i < 16; i++, at += 4)
		w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
	for (int i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (int i = 0; i < 80; i++) {
		uint32_t f, next;

		if (i < 20)
			f = ((b & c) | (~b & d)) + 0x5a827999u;
		else if (i < 40)
			f = (b ^ c ^ d) + 0x6ed9eba1u;
		else if (i < 60)
			f = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
		else
			f = (b ^ c ^ d) + 0xca62c1d6u;
		next = rotate(a, 5) + f + e + w[i];
		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = next;
	}
	sha->state[0] += a;
	sha->state[1] += b;
	sha->state[2] += c;
	sha->state[3] += d;
	sha->state[4] += e;
}

void rf_sha1_init(struct rf_sha1 *sha)
{
	*sha = (struct rf_sha1){
		.state = { 0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u },
	};
}

void rf_sha1_add(struct rf_sha1 *sha, const void *data, size_t len)
{
	const uint8_t *at = data;
	size_t have = sha->len % 64;

	sha->len += len;
	if (have + len < 64) {
		if (len > 0)
			memcpy(sha->block + have, at, len);
		return;
	}
	if (have > 0) {
		memcpy(sha->block + have, at, 64 - have);
		take_block(sha, sha->block);
		at += 64 - have;
		len -= 64 - have;
	}
	for (; len >= 64; at += 64, len -= 64)
		take_block(sha, at);
	if (len > 0)
		memcpy(sha->block, at, len);
}

void rf_sha1_end(struct rf_sha1 *sha, uint8_t ret_sum[RF_SHA1_SIZE])
{
	const uint64_t bits = sha->len * 8;
	uint8_t tail[72] = { 0x80 };
	size_t pad = (sha->len % 64 < 56 ? 56 : 120) - sha->len % 64;

	for (int i = 0; i < 8; i++)
		tail[pad + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
	rf_sha1_add(sha, tail, pad + 8);
	for (int i = 0; i < RF_SHA1_SIZE; i++)
		ret_sum[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}
