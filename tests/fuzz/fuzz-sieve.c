/*
 * Secrets masked in a stream: the same length, the same bytes and the same counts wherever it is cut, and nothing of a known
 * secret in what came out.
 *
 * The first byte says how the rest is cut.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "filter/sieve.h"
#include "replay.h"

#define MAX (1024 * 1024)

static const char secret[] = "correct-horse-battery";

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct rf_sieve_set *make_set(void)
{
	static const struct rf_sieve_secret secrets[] = {
		{ secret, sizeof(secret) - 1 },
		{ "ababababab", 10 },
		{ "p/q+r=s \"t\"", 11 },
	};
	const struct rf_sieve_config config = {
		.secrets = secrets,
		.secret_count = sizeof(secrets) / sizeof(secrets[0]),
		.has_rules = true,
	};
	struct rf_sieve_set *set = NULL;
	struct rf_err err = RF_ERR_INIT;
	unsigned skipped;

	require(rf_sieve_set_new(&config, &set, &skipped, &err) == 0);
	return set;
}

static void pass(const struct rf_sieve_set *set, const char *data, size_t size, uint8_t how,
		 struct rf_buf *out, struct rf_sieve_counts *ret_counts)
{
	struct rf_sieve *sieve = NULL;
	struct rf_err err = RF_ERR_INIT;
	uint32_t state = how;

	require(rf_sieve_new(set, &sieve, &err) == 0);
	while (size) {
		size_t piece = size;

		if (how) {
			state = state * 1664525U + 1013904223U;
			piece = (state >> 24) % (how < 128 ? 4 : how) + 1;
			piece = piece < size ? piece : size;
		}
		require(rf_sieve_feed(sieve, data, piece, out) == 0);
		data += piece;
		size -= piece;
	}
	require(rf_sieve_finish(sieve, out) == 0);
	require(rf_sieve_held(sieve) == 0);
	*ret_counts = *rf_sieve_counted(sieve);
	rf_sieve_free(sieve);
}

RF_FUZZ(data, size)
{
	struct rf_sieve_set *set;
	struct rf_sieve_counts whole_counts, counts;
	RF_AUTO_BUF struct rf_buf whole = { 0 };
	RF_AUTO_BUF struct rf_buf cut = { 0 };

	if (size < 2 || size > MAX)
		return 0;
	set = make_set();
	rf_buf_init(&whole, MAX);
	rf_buf_init(&cut, MAX);
	pass(set, (const char *)data + 1, size - 1, 0, &whole, &whole_counts);
	pass(set, (const char *)data + 1, size - 1, data[0], &cut, &counts);
	require(whole.len == size - 1 && cut.len == size - 1);
	require(!memcmp(whole.data, cut.data, whole.len));
	require(!memcmp(&counts, &whole_counts, sizeof(counts)));
	require(!memmem(whole.data, whole.len, secret, sizeof(secret) - 1));
	for (size_t i = 0; i < whole.len; i++)
		require(whole.data[i] == (char)data[i + 1] || whole.data[i] == '*');
	rf_sieve_set_free(set);
	return 0;
}
