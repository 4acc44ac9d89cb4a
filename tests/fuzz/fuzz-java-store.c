/*
 * Certificates in PEM, as Java keeps them: what is written has as many entries as it says, each with its length, and a sum behind them.  And bytes as base64
 * come back as they were.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "policy/java-store.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint32_t number_at(const struct rf_buf *store, size_t *at)
{
	uint32_t number = 0;

	require(*at + 4 <= store->len);
	for (int i = 0; i < 4; i++)
		number = number << 8 | (uint8_t)store->data[(*at)++];
	return number;
}

static void pass_string(const struct rf_buf *store, size_t *at)
{
	require(*at + 2 <= store->len);
	*at += 2u + ((size_t)(uint8_t)store->data[*at] << 8 | (uint8_t)store->data[*at + 1]);
	require(*at <= store->len);
}

static void read_store(const struct rf_buf *store, int count)
{
	size_t at = 0;

	require(number_at(store, &at) == 0xfeedfeed && number_at(store, &at) == 2);
	require(number_at(store, &at) == (uint32_t)count);
	for (int i = 0; i < count; i++) {
		require(number_at(store, &at) == 2);
		pass_string(store, &at);
		at += 8;
		pass_string(store, &at);
		at += number_at(store, &at);
	}
	require(at + 20 == store->len);
}

static void go_around(const uint8_t *data, size_t size)
{
	RF_AUTO_BUF struct rf_buf text;
	char *back = malloc(size + 4);

	rf_buf_init(&text, 2 * size + 8);
	rf_base64_encode(data, size, &text);
	require(back && !text.has_failed);
	require(rf_base64_decode(text.data ? text.data : "", text.len, back) == (ssize_t)size);
	require(size == 0 || memcmp(back, data, size) == 0);
	free(back);
}

RF_FUZZ(data, size)
{
	char *pem = calloc(1, size + 1);
	struct rf_buf store;
	int count;

	require(pem);
	if (size > 0)
		memcpy(pem, data, size);
	rf_buf_init(&store, 4 * size + 4096);
	count = rf_java_store_format(pem, &store);
	if (count >= 0)
		read_store(&store, count);
	rf_buf_done(&store);
	free(pem);
	go_around(data, size);
	return 0;
}
