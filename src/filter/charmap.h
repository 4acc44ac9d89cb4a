/*
 * Where a token may begin, many bytes at a time.
 *
 * A place counts if it is a letter or digit with none before it (or with an escape before it), if it and the eleven behind it may stand in
 * a token, and if its first three bytes may be an anchor's.  The last is a rough look: some that count are none.  With AVX2
 * where the processor has it, and byte by byte where not; both say the same.
 */
#ifndef RF_FILTER_CHARMAP_H
#define RF_FILTER_CHARMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RF_CHARMAP_WIDE   64 /* places in one word of bits */
#define RF_CHARMAP_BLOCKS 32 /* words that are made at once */
#define RF_CHARMAP_GROUPS 8  /* of anchors */
#define RF_CHARMAP_FIRST  3  /* bytes of an anchor that are looked at */

/* Which groups have an anchor with a byte of this lower and upper half at this place. */
struct rf_charmap_anchors {
	uint8_t low[RF_CHARMAP_FIRST][16], high[RF_CHARMAP_FIRST][16];
};

/* Puts what an anchor begins with into a group. */
void rf_charmap_enter(struct rf_charmap_anchors *anchors, unsigned group,
		      const char first[RF_CHARMAP_FIRST]);

struct rf_charmap {
	const struct rf_charmap_anchors *anchors;
	const char *data;
	size_t len;
	size_t at;     /* of the first place of starts[0] */
	size_t next;   /* of the first place that was not told */
	size_t count;  /* words in `starts` */
	bool is_plain; /* byte by byte, whatever the processor can */
	uint64_t starts[RF_CHARMAP_BLOCKS];
};

/* Begins at `from`; what stands before it in `data` counts as what is before.  Borrows both. */
void rf_charmap_init(struct rf_charmap *map, const struct rf_charmap_anchors *anchors,
		     const char *data, size_t len, size_t from);

/* Makes the next words.  False at the end. */
bool rf_charmap_next(struct rf_charmap *map);

#endif
