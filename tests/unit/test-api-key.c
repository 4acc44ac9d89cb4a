/* API keys: src/server/api-key.c. */
#include "server/api-key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

static struct rf_api_key full(void)
{
	struct rf_api_key key = {
		.id = "0123456789ab",
		.scopes = RF_SCOPE_RUN | RF_SCOPE_READ,
		.tenant = "acme",
		.name = "ci",
		.ceiling = strdup("version: 1\n"),
		.boxes = 3,
		.rate = 60,
		.created = 1700000000,
	};

	for (size_t i = 0; i < sizeof(key.hash); i++)
		key.hash[i] = (uint8_t)(i * 7);
	return key;
}

RF_TEST(a_token_has_one_spelling)
{
	uint8_t secret[RF_API_KEY_SECRET], got[RF_API_KEY_SECRET];
	char token[RF_API_KEY_TOKEN], id[RF_API_KEY_ID], odd[RF_API_KEY_TOKEN + 1];

	for (size_t i = 0; i < sizeof(secret); i++)
		secret[i] = (uint8_t)(255 - i);
	rf_api_key_put_token("0123456789ab", secret, token);
	RF_REQUIRE(rf_api_key_take_token(token, strlen(token), id, got), "%s", token);
	RF_CHECK(strcmp(id, "0123456789ab") == 0 && memcmp(got, secret, sizeof(got)) == 0, "%s",
		 id);
	RF_CHECK(!rf_api_key_take_token(token, strlen(token) - 1, id, got), "one that is cut");
	for (size_t i = 0; i < strlen(token); i++) { /* no other letter stands anywhere */
		static const char letters[] = "G \xff_/";

		for (const char *letter = letters; *letter; letter++) {
			if (token[i] == *letter)
				continue;
			memcpy(odd, token, sizeof(token));
			odd[i] = *letter;
			RF_CHECK(!rf_api_key_take_token(odd, strlen(token), id, got), "%zu: %c", i,
				 *letter);
		}
	}
}

RF_TEST(a_secret_proves_its_own_key)
{
	uint8_t secret[RF_API_KEY_SECRET] = { 1, 2, 3 };
	struct rf_api_key key = full();

	RF_CHECK(!rf_api_key_is_proven(&key, secret), "another's");
	rf_api_key_hash(secret, key.hash);
	RF_CHECK(rf_api_key_is_proven(&key, secret), "its own");
	for (size_t i = 0; i < sizeof(secret); i++) {
		secret[i] ^= 0x10;
		RF_CHECK(!rf_api_key_is_proven(&key, secret), "byte %zu", i);
		secret[i] ^= 0x10;
	}
	rf_api_key_done(&key);
}

RF_TEST(a_key_is_read_as_it_was_written)
{
	struct rf_api_key key = full(), got;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf text;
	RF_AUTO_BUF struct rf_buf again;

	rf_buf_init(&text, RF_API_KEY_BYTES);
	rf_buf_init(&again, RF_API_KEY_BYTES);
	key.sums = (struct rf_terms_sums){ 1 << 30, 400, 2, 3, 4 };
	rf_api_key_format(&key, true, &text);
	RF_REQUIRE(rf_api_key_read(text.data, text.len, &got, &err) == 0, "%s", err.msg);
	RF_CHECK(memcmp(&got.sums, &key.sums, sizeof(key.sums)) == 0, "all of its sums");
	rf_api_key_format(&got, true, &again);
	RF_CHECK(strcmp(text.data, again.data) == 0, "%s", again.data);
	rf_api_key_done(&got);
	rf_buf_clear(&text);
	rf_api_key_format(&key, false, &text);
	RF_CHECK(!strstr(text.data, "sha256"), "who lists them sees no hash");
	RF_CHECK(rf_api_key_read(text.data, text.len, &got, &err) < 0 && err.hint[0],
		 "and one without a hash is none");
	rf_api_key_done(&key);
}

RF_TEST(a_key_that_is_none_is_refused)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "acme", "ac/me" },
		{ "\"boxes\": 3", "\"boxes\": 0" },
		{ "\"boxes\": 3", "\"boxes\": -3" },
		{ "run,read", "run,all" },
		{ "run,read", "" },
		{ "0123456789ab", "0123456789AB" },
		{ "\"rate\"", "\"speed\"" },
		{ "00070e15", "0007" },
		{ "\"ceiling\": \"", "\"ceiling\": 1, \"x\": \"" },
	};
	struct rf_api_key key = full(), got;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_API_KEY_BYTES);
	rf_api_key_format(&key, true, &text);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *at = strstr(text.data, cases[i].from);
		struct rf_err err = RF_ERR_INIT;
		RF_AUTO_BUF struct rf_buf odd;

		RF_REQUIRE(at, "case %zu: %s", i, text.data);
		rf_buf_init(&odd, RF_API_KEY_BYTES);
		rf_buf_add(&odd, text.data, (size_t)(at - text.data));
		rf_buf_puts(&odd, cases[i].to);
		rf_buf_puts(&odd, at + strlen(cases[i].from));
		RF_CHECK(rf_api_key_read(odd.data, odd.len, &got, &err) < 0 && err.msg[0],
			 "case %zu", i);
	}
	rf_api_key_done(&key);
}

RF_TEST(scopes_are_words)
{
	struct rf_err err = RF_ERR_INIT;
	unsigned scopes = 0;
	char text[32];

	RF_CHECK(rf_api_key_parse_scopes("read,run", &scopes, &err) == 0 &&
			 scopes == (RF_SCOPE_READ | RF_SCOPE_RUN),
		 "%u", scopes);
	RF_CHECK(strcmp(rf_api_key_format_scopes(7, text), "run,read,admin") == 0, "%s", text);
	RF_CHECK(rf_api_key_parse_scopes("read,", &scopes, &err) == 0, "a comma at the end");
	RF_CHECK(rf_api_key_parse_scopes("", &scopes, &err) < 0, "none");
	RF_CHECK(rf_api_key_parse_scopes("write", &scopes, &err) < 0 && err.hint[0], "another");
}
