/* Base64 and SHA-1: src/base/base64.c, src/base/sha1.c. */
#include "base/base64.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/sha1.h"
#include "harness.h"

RF_TEST(bytes_are_written_and_read_as_rfc_4648_has_them)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xff\xfe\xfb", "//77" },
	};

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf out;
		char back[16];
		ssize_t n;

		rf_buf_init(&out, 100);
		rf_base64_encode(cases[i][0], strlen(cases[i][0]), &out);
		RF_CHECK(out.len == strlen(cases[i][1]) &&
				 (out.len == 0 || !memcmp(out.data, cases[i][1], out.len)),
			 "%s", cases[i][1]);
		n = rf_base64_decode(cases[i][1], strlen(cases[i][1]), back);
		RF_CHECK(n == (ssize_t)strlen(cases[i][0]) && !memcmp(back, cases[i][0], (size_t)n),
			 "%s: %zd", cases[i][1], n);
	}
}

RF_TEST(what_is_no_base64_is_refused)
{
	static const char *const bad[] = { "A",    "AA",    "AAA",     "AA=A", "=AAA",
					   "A===", "AAAA=", "AA==A",   "AB==", "AAB=",
					   "A A=", "AA-_",  "Zg==Zg==" };
	char back[16];

	for (size_t i = 0; i < RF_LEN(bad); i++)
		RF_CHECK(rf_base64_decode(bad[i], strlen(bad[i]), back) == -EINVAL, "%s", bad[i]);
	RF_CHECK(rf_base64_decode("Zm\r\n9v\n", 7, back) == 3, "line breaks");
}

RF_TEST(what_is_written_is_read_wherever_lines_break)
{
	uint8_t bytes[200], back[300];
	char broken[600];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 89 + 7);
	for (size_t len = 0; len <= sizeof(bytes); len += 7)
		for (size_t width = 1; width < 80; width++) {
			RF_AUTO_BUF struct rf_buf out;
			size_t n = 0;

			rf_buf_init(&out, 1000);
			rf_base64_encode(bytes, len, &out);
			for (size_t i = 0; i < out.len; i++) {
				broken[n++] = out.data[i];
				if (i % width == width - 1)
					broken[n++] = '\n';
			}
			RF_CHECK(rf_base64_decode(broken, n, back) == (ssize_t)len &&
					 memcmp(back, bytes, len) == 0,
				 "%zu bytes in lines of %zu", len, width);
			/* In place, too. */
			RF_CHECK(rf_base64_decode(broken, n, broken) == (ssize_t)len &&
					 memcmp(broken, bytes, len) == 0,
				 "%zu bytes in lines of %zu, in place", len, width);
		}
}

RF_TEST(sums_are_those_of_fips_180)
{
	static const struct {
		const char *text;
		int times;
		const char *sum;
	} cases[] = {
		{ "", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
		{ "abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		  "84983e441c3bd26ebaae4aa1f95129e5e54670f1" },
		{ "aaaaaaaaaa", 100000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f" },
	};

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		uint8_t sum[RF_SHA1_SIZE];
		char text[2 * RF_SHA1_SIZE + 1];
		struct rf_sha1 sha;

		rf_sha1_init(&sha);
		for (int j = 0; j < cases[i].times; j++)
			rf_sha1_add(&sha, cases[i].text, strlen(cases[i].text));
		rf_sha1_end(&sha, sum);
		for (size_t j = 0; j < sizeof(sum); j++)
			snprintf(text + 2 * j, 3, "%02x", sum[j]);
		RF_CHECK(strcmp(text, cases[i].sum) == 0, "case %zu: %s", i, text);
	}
}
