/* A key as it lies in a file, or as a stranger shows it: refused, or written as it was read. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/api-key.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	uint8_t secret[RF_API_KEY_SECRET];
	char id[RF_API_KEY_ID], token[RF_API_KEY_TOKEN];
	struct rf_api_key key, again;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_API_KEY_BYTES);
	if (rf_api_key_take_token((const char *)data, size, id, secret)) {
		rf_api_key_put_token(id, secret, token);
		require(size == strlen(token) && memcmp(data, token, size) == 0);
	}
	if (rf_api_key_read((const char *)data, size, &key, &err) < 0) {
		require(err.msg[0]);
		return 0;
	}
	rf_api_key_format(&key, true, &text);
	require(rf_api_key_read(text.data, text.len, &again, &err) == 0 &&
		again.boxes == key.boxes && again.scopes == key.scopes &&
		strcmp(again.ceiling, key.ceiling) == 0);
	rf_api_key_done(&key);
	rf_api_key_done(&again);
	return 0;
}
