/* SHA-256: src/base/sha256.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "harness.h"

static void hash(const void *data, size_t len, size_t step, char hex[65])
{
	struct rf_sha256 sha;
	uint8_t bytes[RF_SHA256_BYTES];

	rf_sha256_init(&sha);
	for (size_t at = 0; at < len; at += step)
		rf_sha256_add(&sha, (const char *)data + at, len - at < step ? len - at : step);
	rf_sha256_end(&sha, bytes);
	for (int i = 0; i < RF_SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

RF_TEST(it_gives_what_the_standard_says)
{
	/* clang-format off */
	static const struct { const char *text, *hex; } cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	/* clang-format on */
	char hex[65];

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		hash(cases[i].text, strlen(cases[i].text), 1000, hex);
		RF_CHECK(strcmp(hex, cases[i].hex) == 0, "%s: %s", cases[i].text, hex);
	}
}

RF_TEST(a_million_letters_in_pieces_of_any_size)
{
	static const size_t steps[] = { 1, 3, 55, 56, 63, 64, 65, 1000000 };
	char *text = malloc(1000000), hex[65];

	RF_REQUIRE(text, "memory");
	memset(text, 'a', 1000000);
	for (size_t i = 0; i < RF_LEN(steps); i++) {
		hash(text, 1000000, steps[i], hex);
		RF_CHECK(strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67"
				     "f1809a48a497200e046d39ccc7112cd0") == 0,
			 "%zu: %s", steps[i], hex);
	}
	free(text);
}
