/* Base64: see base64.h. */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void rf_base64_encode(const void *data, size_t len, struct rf_buf *out)
{
	const uint8_t *at = data;

	for (; len > 0; len -= len < 3 ? len : 3, at += 3) {
		uint32_t bits = (uint32_t)at[0] << 16 | (len > 1 ? (uint32_t)at[1] << 8 : 0) |
				(len > 2 ? at[2] : 0);
		char four[4] = {
			letters[bits >> 18],
			letters[bits >> 12 & 63],
			len > 1 ? letters[bits >> 6 & 63] : '=',
			len > 2 ? letters[bits & 63] : '=',
		};

		rf_buf_add(out, four, sizeof(four));
	}
}

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '/')
		return c == '+' ? 62 : 63;
	return -1;
}

ssize_t rf_base64_decode(const char *text, size_t len, void *data)
{
	uint8_t *to = data;
	uint32_t bits = 0;
	unsigned count = 0, padding = 0;
	size_t written = 0;

	for (size_t i = 0; i < len; i++) {
		int value = value_of(text[i]);

		if (text[i] == '\n' || text[i] == '\r')
			continue;
		if (text[i] == '=' && count % 4 >= 2) {
			padding++;
			value = 0;
		} else if (value < 0 || padding) {
			return -EINVAL;
		}
		bits = bits << 6 | (uint32_t)value;
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
