/* Events of a log that are wanted: see lookup.h. */
#include "audit/lookup.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "audit/digest.h"

#define USELESS INT_MAX /* the index is of no use for this */

/* Tiles that must be read, the oldest first. */
struct chosen {
	const struct rf_index_tile **tiles;
	size_t count;
	uint64_t
		skip; /* wanted events in them, or else in the log, that come before the last ones */
};

/* The file that was read last stays where it is. */
struct sight {
	struct rf_lookup *lookup;
	struct rf_digest *digest;
	struct rf_segment segment;
};

static bool is_right(struct rf_digest *digest, const struct rf_frame *frame)
{
	const uint8_t *begin = frame->hash + RF_AUDIT_HASH - frame->length;
	uint8_t hash[RF_AUDIT_HASH];

	return rf_digest(digest, begin, frame->length - RF_AUDIT_HASH, hash) == 0 &&
	       memcmp(hash, frame->hash, RF_AUDIT_HASH) == 0;
}

/* ------------------------------------------------------------- by tiles */

static int look_at(struct sight *sight, const struct rf_index_tile *tile, struct rf_err *err)
{
	if (sight->segment.number != tile->segment) {
		rf_segment_done(&sight->segment);
		if (rf_segment_map(sight->lookup->dir, tile->segment, &sight->segment, err) < 0)
			return err->code;
	}
	return tile->end <= sight->segment.len ? 0 : -EBADMSG;
}

/*
 * Goes through a tile that was looked at.  With `fn` NULL its records are held against their hashes and against what the index
 * says, and the wanted ones are counted; -EBADMSG if they differ.  Else each wanted one is given.
 */
static int walk(const struct sight *sight, const struct rf_index_tile *tile, uint64_t *count,
		int (*fn)(void *data, const struct rf_audit_event *event, struct rf_err *err),
		struct rf_err *err)
{
	const uint8_t *data = sight->segment.data, *prev = tile->prev;
	struct rf_frame frame = { 0 };
	int code = 0;

	for (size_t at = tile->begin; code == 0 && at < tile->end; at += frame.length) {
		struct rf_audit_event event;

		if (rf_frame_parse(data + at, tile->end - at, &frame) != RF_FRAME_WHOLE)
			return -EBADMSG;
		if (!fn && (memcmp(frame.prev, prev, RF_AUDIT_HASH) != 0 ||
			    !is_right(sight->digest, &frame)))
			return -EBADMSG;
		prev = frame.hash;
		if (frame.type != RF_FRAME_EVENT)
			continue;
		if (rf_audit_event_decode(frame.payload, frame.payload_len, &event, err) < 0)
			return -EBADMSG;
		event.seq = frame.seq;
		event.time_ns = frame.time_ns;
		if (!rf_pick_takes(sight->lookup->pick, &event))
			continue;
		(*count)++;
		if (fn)
			code = fn(sight->lookup, &event, err);
	}
	if (!fn && (memcmp(prev, tile->head, RF_AUDIT_HASH) != 0 || frame.seq != tile->last_seq))
		return -EBADMSG;
	return code;
}

/* Holds the tiles that may have something against the log, the newest first, until there are enough. */
static int choose(struct sight *sight, uint64_t in_tail, struct chosen *chosen, struct rf_err *err)
{
	struct rf_lookup *lookup = sight->lookup;
	uint64_t found = in_tail, limit = lookup->limit;
	size_t count = 0;

	for (size_t i = rf_index_count(lookup->index); i > 0 && (!limit || found < limit); i--) {
		const struct rf_index_tile *tile = rf_index_tile(lookup->index, i - 1);
		int code;

		if (!rf_index_may_have(tile, lookup->pick))
			continue;
		code = look_at(sight, tile, err);
		if (code == 0)
			code = walk(sight, tile, &found, NULL, err);
		if (code < 0)
			return code;
		lookup->tiles_read++;
		chosen->tiles[count++] = tile;
	}
	for (size_t i = 0; i < count / 2; i++) {
		const struct rf_index_tile *other = chosen->tiles[i];

		chosen->tiles[i] = chosen->tiles[count - 1 - i];
		chosen->tiles[count - 1 - i] = other;
	}
	chosen->count = count;
	chosen->skip = limit && found > limit ? found - limit : 0;
	return 0;
}

/* Whether enough of the log need not be read to make it worth while. */
static bool is_worth_it(const struct rf_lookup *lookup)
{
	size_t all = lookup->index ? rf_index_count(lookup->index) : 0, wanted = 0;

	if (lookup->limit)
		return all > 0;
	for (size_t i = 0; i < all; i++)
		wanted += rf_index_may_have(rf_index_tile(lookup->index, i), lookup->pick);
	return wanted < all / 2;
}

/* ------------------------------------------------------------- by reading */

int rf_lookup_next(struct rf_lookup *lookup, struct rf_reader *reader,
		   struct rf_audit_event *ret_event, struct rf_err *err)
{
	int code;

	while ((code = rf_reader_next(reader, ret_event, err)) > 0) {
		if (!rf_pick_takes(lookup->pick, ret_event))
			continue;
		if (is_right(lookup->digest, &reader->frame))
			return 1;
		if (lookup->changed++ == 0)
			lookup->first_changed = ret_event->seq;
	}
	return code;
}

/* How many wanted ones there are from a place on. */
static int count_from(struct rf_lookup *lookup, uint64_t segment, uint64_t offset, uint64_t *count,
		      struct rf_err *err)
{
	struct rf_audit_event event;
	struct rf_reader reader;
	int code;

	rf_reader_init(&reader, lookup->dir);
	code = rf_reader_seek(&reader, segment, offset, err);
	while (code == 0 && (code = rf_lookup_next(lookup, &reader, &event, err)) > 0) {
		(*count)++;
		code = 0;
	}
	rf_reader_done(&reader);
	lookup->changed = 0; /* it is read once more */
	return code;
}

/* ------------------------------------------------------------- the whole */

static int give(void *data, const struct rf_audit_event *event, struct rf_err *err)
{
	struct rf_lookup *lookup = data;

	if (lookup->skip > 0) {
		lookup->skip--;
		return 0;
	}
	return lookup->on_event(lookup->data, event, err);
}

/* With the index.  0: done; USELESS; or what on_event() said. */
static int by_index(struct rf_lookup *lookup, struct rf_reader *reader, struct rf_err *err)
{
	struct sight sight = { .lookup = lookup, .digest = lookup->digest };
	struct chosen chosen = { 0 };
	uint64_t segment, offset, in_tail = 0, ignored = 0;
	int code;

	rf_index_end(lookup->index, &segment, &offset);
	chosen.tiles = calloc(rf_index_count(lookup->index), sizeof(const void *));
	if (!chosen.tiles)
		return rf_fail(err, -ENOMEM, "look something up");
	code = lookup->limit ? count_from(lookup, segment, offset, &in_tail, err) : 0;
	if (code == 0)
		code = choose(&sight, in_tail, &chosen, err);
	if (code < 0 && code != -ENOMEM) {
		lookup->is_index_wrong = true;
		code = USELESS;
	}
	lookup->skip = chosen.skip;
	for (size_t i = 0; code == 0 && i < chosen.count; i++) {
		code = look_at(&sight, chosen.tiles[i], err);
		if (code == 0)
			code = walk(&sight, chosen.tiles[i], &ignored, give, err);
	}
	if (code == 0)
		code = rf_reader_seek(reader, segment, offset, err);
	rf_segment_done(&sight.segment);
	free(chosen.tiles);
	return code;
}

int rf_lookup(struct rf_lookup *lookup, struct rf_reader *reader, struct rf_err *err)
{
	struct rf_audit_event event;
	uint64_t all = 0;
	int code = is_worth_it(lookup) ? by_index(lookup, reader, err) : USELESS;

	if (code == USELESS) {
		code = lookup->limit ? count_from(lookup, 0, 0, &all, err) : 0;
		lookup->skip = all > lookup->limit && lookup->limit ? all - lookup->limit : 0;
	}
	while (code == 0 && (code = rf_lookup_next(lookup, reader, &event, err)) > 0)
		code = give(lookup, &event, err);
	return code;
}
