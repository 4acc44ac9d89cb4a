/* Base64: see base64.h. */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void rf_base64_encode(const void *data, size_t len, struct rf_buf *out)
{
	const uint8_t *at = data;
	size_t need = (len + 2) / 3 * 4;
	char *to = rf_buf_reserve(out, need);

	if (!to)
		return;
	for (; len > 0; len -= len < 3 ? len : 3, at += 3, to += 4) {
		uint32_t bits = (uint32_t)at[0] << 16 | (len > 1 ? (uint32_t)at[1] << 8 : 0) |
				(len > 2 ? at[2] : 0);

		to[0] = letters[bits >> 18];
		to[1] = letters[bits >> 12 & 63];
		to[2] = len > 1 ? letters[bits >> 6 & 63] : '=';
		to[3] = len > 2 ? letters[bits & 63] : '=';
	}
	rf_buf_grew(out, need);
}

/* clang-format off */
/* What a letter stands for, and one more; 0: it is none. */
static const uint8_t values[256] = {
	['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7, ['H'] = 8,
	['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
	['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
	['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
	['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
	['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
	['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
	['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};
/* clang-format on */

#define NONE 0x80 /* set in no value: four of them are looked at together */

static uint8_t value_of(uint8_t c)
{
	return (uint8_t)(values[c] - 1);
}

/* Four letters at a time, as long as nothing else comes between.  The number of letters that were read. */
static size_t read_fours(const uint8_t *at, size_t len, uint8_t *to)
{
	size_t used = 0;

	for (; len - used >= 4; used += 4, to += 3) {
		uint8_t a = value_of(at[used]), b = value_of(at[used + 1]);
		uint8_t c = value_of(at[used + 2]), d = value_of(at[used + 3]);

		if ((a | b | c | d) & NONE)
			break;
		to[0] = (uint8_t)(a << 2 | b >> 4);
		to[1] = (uint8_t)(b << 4 | c >> 2);
		to[2] = (uint8_t)(c << 6 | d);
	}
	return used;
}

ssize_t rf_base64_decode(const char *text, size_t len, void *data)
{
	const uint8_t *from = (const uint8_t *)text;
	uint8_t *to = data;
	uint32_t bits = 0;
	unsigned count = 0, padding = 0;
	size_t at = 0, written = 0, used;

	while (at < len) {
		uint8_t c = from[at], value = value_of(c);

		if (count % 4 == 0 && !padding &&
		    (used = read_fours(from + at, len - at, to + written))) {
			at += used;
			written += used / 4 * 3;
			continue;
		}
		at++;
		if (c == '\n' || c == '\r')
			continue;
		if (c == '=' && count % 4 >= 2) {
			padding++;
			value = 0;
		} else if (value & NONE || padding) {
			return -EINVAL;
		}
		bits = bits << 6 | value;
		if (++count % 4)
			continue;
		for (unsigned j = 0; j < 3 - padding; j++)
			to[written++] = (uint8_t)(bits >> (16 - 8 * j));
		/* What padding leaves over must be nothing, or two texts would be the same bytes. */
		if (padding && bits << (32 - 8 * padding) >> 8)
			return -EINVAL;
		bits = 0;
	}
	return count % 4 ? -EINVAL : (ssize_t)written;
}
