/* Files that look like credentials: see canary.h. */
#include "policy/canary.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

/* Letters and digits from a hash; a little uneven, which no reader of one value can see. */
static void spell(const uint8_t seed[RF_CANARY_SEED], size_t number, uint8_t part, char *text,
		  size_t len)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	const uint64_t which = number;
	uint8_t hash[32];
	struct rf_sha256 sha;

	for (size_t i = 0; i < len; i++) {
		if (i % sizeof(hash) == 0) {
			const uint8_t block[] = { part, (uint8_t)(i / sizeof(hash)) };

			rf_sha256_init(&sha);
			rf_sha256_add(&sha, seed, RF_CANARY_SEED);
			rf_sha256_add(&sha, &which, sizeof(which));
			rf_sha256_add(&sha, block, sizeof(block));
			rf_sha256_end(&sha, hash);
		}
		text[i] = letters[hash[i % sizeof(hash)] % (sizeof(letters) - 1)];
	}
	text[len] = '\0';
}

void rf_canary_value(const uint8_t seed[RF_CANARY_SEED], size_t number, char value[RF_CANARY_VALUE])
{
	spell(seed, number, 0, value, RF_CANARY_VALUE - 1);
}

static bool ends_with(const char *path, const char *end)
{
	size_t len = strlen(path), end_len = strlen(end);

	return len >= end_len && strcmp(path + len - end_len, end) == 0;
}

void rf_canary_text(const uint8_t seed[RF_CANARY_SEED], size_t number, const char *path,
		    char text[RF_CANARY_TEXT])
{
	char value[RF_CANARY_VALUE], id[17];

	rf_canary_value(seed, number, value);
	spell(seed, number, 1, id, sizeof(id) - 1);
	for (char *at = id; *at; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	if (ends_with(path, "/.aws/credentials"))
		snprintf(text, RF_CANARY_TEXT,
			 "[default]\naws_access_key_id = AKIA%s\naws_secret_access_key = %s\n", id,
			 value);
	else if (ends_with(path, "/.netrc") || ends_with(path, "/.git-credentials"))
		snprintf(text, RF_CANARY_TEXT, "machine github.com login deploy password %s\n",
			 value);
	else
		snprintf(text, RF_CANARY_TEXT, "API_KEY=%s\n", value);
}
