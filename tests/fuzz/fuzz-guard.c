/*
 * Bytes from a box on their way to a terminal: however they are cut the same comes out, in place or
 * not; what came out once passes again unchanged; and plain text holds no control at all.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "jail/guard.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* In one piece; gives the bytes with those of the end, NUL-ended. */
static char *pass_whole(enum rf_guard_mode mode, const char *in, size_t len, size_t *ret_len)
{
	char *out = calloc(1, len + RF_GUARD_SLACK + RF_GUARD_END + 1);
	struct rf_guard guard;

	require(out);
	rf_guard_init(&guard, mode, false);
	*ret_len = rf_guard_pass(&guard, in, len, out);
	require(*ret_len <= len + RF_GUARD_SLACK);
	*ret_len += rf_guard_end(&guard, out + *ret_len);
	out[*ret_len] = '\0';
	return out;
}

/* In pieces of `step` bytes, in place. */
static void pass_in_pieces(enum rf_guard_mode mode, const char *in, size_t len, size_t step,
			   const char *want, size_t want_len)
{
	char memory[RF_GUARD_SLACK + 16], end[RF_GUARD_END];
	struct rf_guard guard;
	size_t done = 0, n;

	rf_guard_init(&guard, mode, false);
	for (size_t at = 0; at < len; at += step) {
		size_t part = len - at < step ? len - at : step;

		memcpy(memory + RF_GUARD_SLACK, in + at, part);
		n = rf_guard_pass(&guard, memory + RF_GUARD_SLACK, part, memory);
		require(done + n <= want_len && memcmp(memory, want + done, n) == 0);
		done += n;
	}
	n = rf_guard_end(&guard, end);
	require(done + n == want_len && memcmp(end, want + done, n) == 0);
}

static bool has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f)
			return true;
		if (c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0)
			return true;
	}
	return false;
}

RF_FUZZ(data, size)
{
	const char *in = (const char *)data;

	for (int mode = RF_GUARD_SCREEN; mode <= RF_GUARD_TEXT; mode++) {
		size_t len, again_len;
		char *out = pass_whole((enum rf_guard_mode)mode, in, size, &len), *again;

		pass_in_pieces((enum rf_guard_mode)mode, in, size, 1, out, len);
		pass_in_pieces((enum rf_guard_mode)mode, in, size, 7, out, len);
		require(rf_json_is_utf8(out, len));
		require(mode != RF_GUARD_TEXT || !has_control(out, len));
		if (mode != RF_GUARD_DIALOG) { /* which keeps a title each time */
			again = pass_whole((enum rf_guard_mode)mode, out, len, &again_len);
			require(again_len == len && memcmp(again, out, len) == 0);
			free(again);
		}
		free(out);
	}
	return 0;
}
