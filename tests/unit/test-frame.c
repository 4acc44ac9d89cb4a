/* Records of the audit log: src/audit/frame.c, digest.c, sign.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/digest.h"
#include "audit/frame.h"
#include "audit/sign.h"
#include "base/fd.h"
#include "harness.h"
#include "log-maker.h"

static const uint8_t prev[RF_AUDIT_HASH] = { 1, 2, 3 };

RF_TEST(a_record_is_read_as_it_was_written)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_frame frame;

	rf_buf_init(&out, 4096);
	RF_REQUIRE(rf_frame_put(&out, RF_FRAME_EVENT, 7, 99, prev, "hello", 5), "no room");
	RF_REQUIRE(rf_frame_parse((uint8_t *)out.data, out.len, &frame) == RF_FRAME_WHOLE, "whole");
	RF_CHECK(frame.length == out.len && frame.seq == 7 && frame.time_ns == 99 &&
			 frame.type == RF_FRAME_EVENT && frame.payload_len == 5,
		 "its head");
	RF_CHECK(memcmp(frame.prev, prev, sizeof(prev)) == 0, "prev");
	RF_CHECK(memcmp(frame.payload, "hello", 5) == 0, "payload");
	for (size_t len = 0; len < out.len; len++)
		RF_CHECK(rf_frame_parse((uint8_t *)out.data, len, &frame) == RF_FRAME_SHORT,
			 "%zu bytes of it", len);
}

RF_TEST(heads_that_lie_are_malformed)
{
	/* clang-format off */
	static const struct { const char *what; size_t at; uint8_t byte; } cases[] = {
		{ "no length",       0, 0 },
		{ "too short",       0, RF_FRAME_HEAD + RF_AUDIT_HASH },
		{ "too long",        2, 1 },
		{ "another version", 4, 2 },
		{ "no type",         6, 0 },
		{ "unknown type",    6, 9 },
		{ "a segment of another length", 6, RF_FRAME_SEGMENT },
		{ "a signature of another length", 6, RF_FRAME_SIGNATURE },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf out;
		struct rf_frame frame;

		rf_buf_init(&out, 4096);
		RF_REQUIRE(rf_frame_put(&out, RF_FRAME_EVENT, 7, 99, prev, "hello", 5), "no room");
		out.data[cases[i].at] = (char)cases[i].byte;
		RF_CHECK(rf_frame_parse((uint8_t *)out.data, out.len, &frame) == RF_FRAME_MALFORMED,
			 "%s", cases[i].what);
	}
}

RF_TEST(the_digest_is_sha_256)
{
	/* FIPS 180-2, appendix B.1 */
	static const char abc[] =
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	struct rf_digest *digest;
	struct rf_err err = RF_ERR_INIT;
	uint8_t hash[RF_AUDIT_HASH], back[RF_AUDIT_HASH];
	char hex[RF_DIGEST_HEX];

	RF_REQUIRE(rf_digest_new(&digest, &err) == 0, "%s", err.msg);
	for (int i = 0; i < 2; i++) {
		RF_CHECK(rf_digest(digest, "abc", 3, hash) == 0, "hash");
		rf_digest_hex(hash, sizeof(hash), hex);
		RF_CHECK(strcmp(hex, abc) == 0, "%s", hex);
	}
	RF_CHECK(rf_digest_unhex(hex, back, sizeof(back)) && memcmp(back, hash, 32) == 0, "back");
	hex[5] = 'G';
	RF_CHECK(!rf_digest_unhex(hex, back, sizeof(back)), "no digit");
	rf_digest_free(digest);
}

RF_TEST(a_signature_is_about_one_head_and_of_one_key)
{
	int dir = log_folder(), elsewhere = log_folder();
	struct rf_sign *key, *again, *other, *public;
	struct rf_err err = RF_ERR_INIT;
	struct rf_sign_head head = { .seq = 5 };
	uint8_t signature[RF_FRAME_SIGNED], known[RF_FRAME_KEY];
	struct stat st;

	RF_REQUIRE(rf_sign_open(dir, &key, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_sign_open(dir, &again, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_sign_open(elsewhere, &other, &err) == 0, "%s", err.msg);
	RF_CHECK(memcmp(rf_sign_key(key), rf_sign_key(again), RF_FRAME_KEY) == 0, "it stays");
	RF_CHECK(memcmp(rf_sign_key(key), rf_sign_key(other), RF_FRAME_KEY) != 0, "it is new");
	RF_REQUIRE(rf_sign_read_public(dir, known, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_sign_public(known, &public, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_sign(key, &head, signature, &err) == 0, "%s", err.msg);
	RF_CHECK(rf_sign_is_good(public, &head, signature), "good");
	RF_CHECK(!rf_sign_is_good(other, &head, signature), "another key");
	head.seq = 6;
	RF_CHECK(!rf_sign_is_good(public, &head, signature), "another number");
	head.seq = 5;
	head.chain[0] = 1;
	RF_CHECK(!rf_sign_is_good(public, &head, signature), "another chain");
	RF_CHECK(fstatat(dir, RF_SIGN_FILE, &st, 0) == 0 && (st.st_mode & 0777) == 0600, "0600");
	rf_sign_free(key);
	rf_sign_free(again);
	rf_sign_free(other);
	rf_sign_free(public);
}

RF_TEST(a_key_that_others_can_read_is_not_used)
{
	int dir = log_folder();
	struct rf_err err = RF_ERR_INIT;
	struct rf_sign *key;

	RF_REQUIRE(rf_sign_open(dir, &key, &err) == 0, "%s", err.msg);
	rf_sign_free(key);
	RF_REQUIRE(fchmodat(dir, RF_SIGN_FILE, 0640, 0) == 0, "chmod");
	RF_CHECK(rf_sign_open(dir, &key, &err) == -EPERM, "%s", err.msg);
}
