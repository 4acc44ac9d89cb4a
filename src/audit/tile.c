/*
 * One tile of the index: see tile.h.
 *
 * The filter is Bloom's: ten bits for each different word and seven of them set leave one wrong yes in a hundred, which
 * costs the reading of a tile.
 */
#include "audit/tile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define BITS  10 /* for each word */
#define PROBE 7
#define LEAST 64 /* bytes of a filter */

uint64_t rf_tile_word(enum rf_audit_field field, const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325 ^ (uint64_t)field;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
	hash ^= hash >> 32; /* its low bits are the poor ones */
	hash *= 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

/* The bit of a word in a filter of so many. */
static size_t bit_of(uint64_t word, unsigned probe, size_t bits)
{
	return (size_t)(((word & UINT32_MAX) + probe * (word >> 32 | 1)) % bits);
}

bool rf_tile_has(const struct rf_index_tile *tile, uint64_t word)
{
	size_t bits = 8 * tile->words_len;

	for (unsigned i = 0; i < PROBE && bits > 0; i++) {
		size_t bit = bit_of(word, i, bits);

		if (!(tile->words[bit / 8] >> bit % 8 & 1))
			return false;
	}
	return true;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int make_filter(struct rf_index_tile *tile, uint64_t *words, size_t count)
{
	size_t different = 0, bits;

	qsort(words, count, sizeof(*words), by_size);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || words[i] != words[i - 1])
			words[different++] = words[i];
	tile->words_len = different * BITS / 8 + LEAST;
	tile->words = calloc(1, tile->words_len);
	if (!tile->words)
		return -ENOMEM;
	bits = 8 * tile->words_len;
	for (size_t i = 0; i < different; i++)
		for (unsigned k = 0; k < PROBE; k++) {
			size_t bit = bit_of(words[i], k, bits);

			tile->words[bit / 8] |= (uint8_t)(1u << bit % 8);
		}
	return 0;
}

/* What can be asked for exactly; rf_index_may_have() asks for the same. */
static const enum rf_audit_field asked[] = { RF_AUDIT_AGENT, RF_AUDIT_BOX, RF_AUDIT_VERDICT };
#define ASKED (sizeof(asked) / sizeof(asked[0]))

static void note_event(struct rf_index_tile *tile, const struct rf_frame *frame,
		       const struct rf_audit_event *event, uint64_t *words, size_t *count)
{
	if (tile->kinds == 0 || frame->time_ns < tile->since_ns)
		tile->since_ns = frame->time_ns;
	if (frame->time_ns > tile->until_ns)
		tile->until_ns = frame->time_ns;
	tile->kinds |= 1ull << event->kind;
	for (size_t i = 0; i < ASKED; i++)
		if (rf_audit_event_has(event, asked[i]))
			words[(*count)++] = rf_tile_word(asked[i], event->values[asked[i]].text,
							 event->values[asked[i]].len);
}

int rf_tile_read(struct rf_digest *digest, const uint8_t *data, size_t len, size_t begin,
		 const uint8_t prev[RF_AUDIT_HASH], struct rf_index_tile *ret_tile)
{
	struct rf_index_tile tile = { .begin = begin, .end = begin };
	uint64_t words[ASKED * RF_INDEX_RECORDS];
	uint8_t hash[RF_AUDIT_HASH];
	struct rf_audit_event event;
	struct rf_frame frame;
	struct rf_err err;
	size_t count = 0;
	int records = 0;

	memcpy(tile.prev, prev, RF_AUDIT_HASH);
	memcpy(tile.head, prev, RF_AUDIT_HASH);
	for (; records < RF_INDEX_RECORDS; records++) {
		if (rf_frame_parse(data + tile.end, len - tile.end, &frame) != RF_FRAME_WHOLE ||
		    (records > 0 && frame.seq != tile.last_seq + 1) ||
		    memcmp(frame.prev, tile.head, RF_AUDIT_HASH) != 0 ||
		    rf_digest(digest, data + tile.end, frame.length - RF_AUDIT_HASH, hash) < 0 ||
		    memcmp(hash, frame.hash, RF_AUDIT_HASH) != 0)
			break;
		if (frame.type == RF_FRAME_EVENT) {
			if (rf_audit_event_decode(frame.payload, frame.payload_len, &event, &err) <
			    0)
				break;
			note_event(&tile, &frame, &event, words, &count);
		}
		tile.first_seq = records > 0 ? tile.first_seq : frame.seq;
		tile.last_seq = frame.seq;
		tile.end += frame.length;
		memcpy(tile.head, frame.hash, RF_AUDIT_HASH);
	}
	if (records > 0 && make_filter(&tile, words, count) < 0)
		return -ENOMEM;
	*ret_tile = tile;
	return records;
}

int rf_tile_sum(struct rf_digest *digest, const struct rf_index_tile *tile,
		uint8_t sum[RF_AUDIT_HASH])
{
	const uint64_t figures[] = { tile->segment,   tile->begin,    tile->end,
				     tile->first_seq, tile->last_seq, tile->since_ns,
				     tile->until_ns,  tile->kinds,    tile->words_len };
	RF_AUTO_BUF struct rf_buf all;

	rf_buf_init(&all, (size_t)1 << 20);
	rf_buf_add(&all, figures, sizeof(figures));
	rf_buf_add(&all, tile->prev, sizeof(tile->prev));
	rf_buf_add(&all, tile->head, sizeof(tile->head));
	rf_buf_add(&all, tile->words, tile->words_len);
	if (all.has_failed)
		return -ENOMEM;
	return rf_digest(digest, all.data, all.len, sum);
}
