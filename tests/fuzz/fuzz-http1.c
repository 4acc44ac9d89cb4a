/*
 * Messages of HTTP/1.1 in pieces.  The first byte says which side sent them and what was asked, the second how they are cut: whole or in
 * pieces, the events are the same, and what is taken for a message keeps the promises of its head.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "../unit/transcript.h"
#include "replay.h"

static const struct rf_http1_limits limits = {
	.head = { .first_bytes = 200, .line_bytes = 150, .all_bytes = 600 },
	.trailer = { .first_bytes = 50, .line_bytes = 60, .all_bytes = 100 },
	.body = { .line_bytes = 24, .extension_bytes = 40, .body_bytes = 1000 },
};

static size_t cut(void *data, size_t left)
{
	uint32_t *state = data;
	size_t len;

	*state = *state * 1664525u + 1013904223u;
	len = (*state >> 24) % 32 + 1;
	return len < left ? len : left;
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf whole = { 0 };
	RF_AUTO_BUF struct rf_buf pieces = { 0 };
	struct transcript how = { .limits = &limits, .room = 12 };
	uint32_t seed;

	if (size < 2 || size > 8192)
		return 0;
	seed = data[1];
	how.is_response = data[0] & 1;
	how.asked.is_head = data[0] & 2;
	how.asked.is_connect = data[0] & 4;
	how.asked.is_upgrade = data[0] & 8;
	how.has_no_end = data[0] & 16;
	rf_buf_init(&whole, 1 << 20);
	rf_buf_init(&pieces, 1 << 20);
	transcript_write(&whole, &how, data + 2, size - 2);
	how.cut = cut;
	how.data = &seed;
	transcript_write(&pieces, &how, data + 2, size - 2);
	if (whole.len != pieces.len || memcmp(whole.data, pieces.data, whole.len) != 0)
		abort();
	return 0;
}
