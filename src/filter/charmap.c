/*
 * Characters of several classes, found by their halves.
 *
 * The characters in question have an upper half of 2 to 7, so a class is sixteen bytes: for each lower half, which upper halves
 * belong to it, one bit each.  AVX2 looks 32 characters up at once: the lower half's byte and the upper half's bit have to meet.  Anchors are
 * found the other way round (as Hyperscan's "Teddy" does): a bit is a group of anchors, and has to be left of all halves of three bytes.
 */
#include "filter/charmap.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define WIDE RF_CHARMAP_WIDE

/* What may not stand in a token though it is printed: quotes, brackets, backslash, and their like. */
#define BREAKS "\"'<>\\^`{|}"

/* A bit for each of 64 bytes. */
struct bits {
	uint64_t alnum, token, backslash, percent, anchor;
};

static bool is_alnum(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_token(unsigned char c)
{
	return c > ' ' && c < 0x7f && !strchr(BREAKS, c);
}

static struct {
	uint8_t alnum[16], token[16]; /* by lower half: bits of upper halves */
	uint8_t of[256];              /* by character: 1 alnum, 2 token */
	bool is_ready, has_avx2;
} tables;

static void get_ready(void)
{
	for (unsigned c = 0; c < 128; c++) {
		uint8_t bit = (uint8_t)(c >= 0x20 ? 1 << (c >> 4) : 0);

		tables.of[c] = (uint8_t)((is_alnum((unsigned char)c) ? 1 : 0) |
					 (is_token((unsigned char)c) ? 2 : 0));
		if (tables.of[c] & 1)
			tables.alnum[c & 15] |= bit;
		if (tables.of[c] & 2)
			tables.token[c & 15] |= bit;
	}
#if defined(__x86_64__)
	__builtin_cpu_init();
	tables.has_avx2 = __builtin_cpu_supports("avx2");
#endif
	tables.is_ready = true;
}

void rf_charmap_enter(struct rf_charmap_anchors *anchors, unsigned group,
		      const char first[RF_CHARMAP_FIRST])
{
	for (size_t i = 0; i < RF_CHARMAP_FIRST; i++) {
		unsigned char c = (unsigned char)first[i];

		anchors->low[i][c & 15] |= (uint8_t)(1 << group);
		anchors->high[i][c >> 4] |= (uint8_t)(1 << group);
	}
}

/* --- 64 bytes; two more are read behind them --- */

static void classify_plain(const struct rf_charmap_anchors *anchors, const char *bytes,
			   struct bits *ret_bits)
{
	struct bits bits = { 0 };

	for (unsigned i = 0; i < WIDE; i++) {
		unsigned char c = (unsigned char)bytes[i];
		uint8_t groups = 0xff;

		for (unsigned k = 0; k < RF_CHARMAP_FIRST; k++) {
			unsigned char b = (unsigned char)bytes[i + k];

			groups &= b < 128 ? anchors->low[k][b & 15] & anchors->high[k][b >> 4] : 0;
		}
		bits.alnum |= (uint64_t)(tables.of[c] & 1) << i;
		bits.token |= (uint64_t)(tables.of[c] >> 1) << i;
		bits.backslash |= (uint64_t)(c == '\\') << i;
		bits.percent |= (uint64_t)(c == '%') << i;
		bits.anchor |= (uint64_t)(groups != 0) << i;
	}
	*ret_bits = bits;
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i twice(const uint8_t *table)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
}

AVX2 static inline __m256i bytes_at(const char *at)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

AVX2 static inline __m256i upper_of(__m256i c)
{
	return _mm256_and_si256(_mm256_srli_epi16(c, 4), _mm256_set1_epi8(15));
}

AVX2 static inline uint64_t is_nonzero(__m256i v)
{
	return (uint32_t)~_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256()));
}

AVX2 static inline uint64_t is_char(__m256i c, char wanted)
{
	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(c, _mm256_set1_epi8(wanted)));
}

/* A byte of 128 or more has its highest bit set, which makes each look-up of its lower half 0. */
AVX2 static void classify_avx2(const struct rf_charmap_anchors *anchors, const char *bytes,
			       size_t count, struct bits *ret_bits)
{
	static const uint8_t row_bits[16] = { 0, 0, 4, 8, 16, 32, 64, 128 };
	const __m256i rows = twice(row_bits), alnum = twice(tables.alnum),
		      token = twice(tables.token);
	__m256i low[RF_CHARMAP_FIRST], high[RF_CHARMAP_FIRST];

	for (size_t k = 0; k < RF_CHARMAP_FIRST; k++) {
		low[k] = twice(anchors->low[k]);
		high[k] = twice(anchors->high[k]);
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t out[2][5];

		for (size_t half = 0; half < 2; half++) {
			const char *at = bytes + WIDE * i + 32 * half;
			__m256i c = bytes_at(at), upper = upper_of(c);
			__m256i row = _mm256_shuffle_epi8(rows, upper);
			__m256i group = _mm256_and_si256(_mm256_shuffle_epi8(low[0], c),
							 _mm256_shuffle_epi8(high[0], upper));

			for (size_t k = 1; k < RF_CHARMAP_FIRST; k++) {
				__m256i b = bytes_at(at + k);

				group = _mm256_and_si256(group, _mm256_shuffle_epi8(low[k], b));
				group = _mm256_and_si256(group,
							 _mm256_shuffle_epi8(high[k], upper_of(b)));
			}
			out[half][0] =
				is_nonzero(_mm256_and_si256(_mm256_shuffle_epi8(alnum, c), row));
			out[half][1] =
				is_nonzero(_mm256_and_si256(_mm256_shuffle_epi8(token, c), row));
			out[half][2] = is_char(c, '\\');
			out[half][3] = is_char(c, '%');
			out[half][4] = is_nonzero(group);
		}
		ret_bits[i] = (struct bits){
			out[1][0] << 32 | out[0][0], out[1][1] << 32 | out[0][1],
			out[1][2] << 32 | out[0][2], out[1][3] << 32 | out[0][3],
			out[1][4] << 32 | out[0][4],
		};
	}
}
#endif

static void classify(const struct rf_charmap *map, const char *bytes, size_t count,
		     struct bits *ret_bits)
{
#if defined(__x86_64__)
	if (tables.has_avx2 && !map->is_plain) {
		classify_avx2(map->anchors, bytes, count, ret_bits);
		return;
	}
#endif
	for (size_t i = 0; i < count; i++)
		classify_plain(map->anchors, bytes + i * WIDE, &ret_bits[i]);
}

/* The bits of `count` blocks at `at`; what is behind the end is no character of any class. */
static void look(const struct rf_charmap *map, size_t at, size_t count, struct bits *ret_bits)
{
	size_t left = at < map->len ? map->len - at : 0;
	size_t whole = left > RF_CHARMAP_FIRST ? (left - RF_CHARMAP_FIRST) / WIDE : 0;
	char last[WIDE + RF_CHARMAP_FIRST];

	whole = whole < count ? whole : count;
	classify(map, map->data + at, whole, ret_bits);
	for (size_t i = whole; i < count; i++) {
		size_t from = at + i * WIDE, size = from < map->len ? map->len - from : 0;

		size = size < sizeof(last) ? size : sizeof(last);
		memset(last, 0, sizeof(last));
		memcpy(last, map->data + (size ? from : 0), size);
		classify(map, last, 1, &ret_bits[i]);
	}
}

void rf_charmap_init(struct rf_charmap *map, const struct rf_charmap_anchors *anchors,
		     const char *data, size_t len, size_t from)
{
	if (!tables.is_ready)
		get_ready();
	map->anchors = anchors;
	map->data = data;
	map->len = len;
	map->next = from;
	map->count = 0;
	map->is_plain = false;
}

/* The bits of what stands before a place, as if they were the upper ones of 64 before it. */
static struct bits look_back(const struct rf_charmap *map, size_t at)
{
	struct bits bits = { 0 };

	for (size_t i = 1; i <= 3 && i <= at; i++) {
		char c = map->data[at - i];

		bits.alnum |= (uint64_t)is_alnum((unsigned char)c) << (64 - i);
		bits.backslash |= (uint64_t)(c == '\\') << (64 - i);
		bits.percent |= (uint64_t)(c == '%') << (64 - i);
	}
	return bits;
}

bool rf_charmap_next(struct rf_charmap *map)
{
	struct bits bits[RF_CHARMAP_BLOCKS + 1], before;
	size_t left = map->len - map->next;

	if (map->next >= map->len)
		return false;
	map->at = map->next;
	map->count = (left + WIDE - 1) / WIDE;
	map->count = map->count < RF_CHARMAP_BLOCKS ? map->count : RF_CHARMAP_BLOCKS;
	map->next = map->at + map->count * WIDE;
	look(map, map->at, map->count + 1, bits);
	before = look_back(map, map->at);
	for (size_t i = 0; i < map->count; i++) {
		const struct bits *now = &bits[i];
		unsigned __int128 run = (unsigned __int128)bits[i + 1].token << 64 | now->token;
		uint64_t starts = now->alnum & ~(now->alnum << 1 | before.alnum >> 63);

		run &= run >> 1;
		run &= run >> 2;
		run &= run >> 4;
		run &= run >> 4; /* twelve in a row */
		starts |= now->backslash << 2 | before.backslash >> 62;
		starts |= now->percent << 3 | before.percent >> 61;
		map->starts[i] = starts & now->alnum & now->anchor & (uint64_t)run;
		before = *now;
	}
	return true;
}
