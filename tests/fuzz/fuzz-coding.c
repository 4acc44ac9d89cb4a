/* Bodies in a coding that may be none: bounded, and never read past their end.  The first byte is which coding, and how it is cut. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter-stream.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct rf_sieve_set *make_set(void)
{
	const struct rf_sieve_config config = { .has_rules = true };
	struct rf_sieve_set *set = NULL;
	struct rf_err err = RF_ERR_INIT;
	unsigned skipped;

	require(rf_sieve_set_new(&config, &set, &skipped, &err) == 0);
	return set;
}

RF_FUZZ(data, size)
{
	struct rf_sieve_set *set;
	struct rf_filter_stream *stream = NULL;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out = { 0 };
	const char *at = (const char *)data + 1;
	size_t piece, total = 0;
	ssize_t taken = 0;

	if (size < 2)
		return 0;
	set = make_set();
	piece = (size_t)(data[0] >> 3) + 1;
	rf_buf_init(&out, 4 * 1024 * 1024);
	require(rf_filter_stream_new(set, (enum rf_coding)(data[0] % 5), 16 * 1024 * 1024, false,
				     &stream, &err) == 0);
	for (size--; taken >= 0;) {
		size_t given = piece < size ? piece : size;

		rf_buf_clear(&out);
		taken = rf_filter_stream_feed(stream, at, given, &out, 4096);
		require(!out.has_failed && taken <= (ssize_t)given);
		require(out.len <= 4096 + 256 * 1024);
		total += out.len;
		require(total <= 16 * 1024 * 1024);
		if (taken == 0 && out.len == 0)
			break;
		at += taken > 0 ? taken : 0;
		size -= taken > 0 ? (size_t)taken : 0;
	}
	rf_buf_clear(&out);
	if (taken >= 0)
		rf_filter_stream_finish(stream, &out);
	rf_filter_stream_free(stream);
	rf_sieve_set_free(set);
	return 0;
}
