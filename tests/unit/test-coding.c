/* Bodies in a coding: read in pieces, bounded, masked, cut last. */
#include <brotli/encode.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "filter/filter-stream.h"
#include "harness.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define SECRET     "correct-horse-battery"

/* --- what servers do, by the libraries that they do it with --- */

static size_t deflate_to(char *out, size_t room, const char *text, size_t len, int bits, int flush)
{
	z_stream zlib = { 0 };

	RF_REQUIRE(deflateInit2(&zlib, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
	zlib.next_in = (Bytef *)(uintptr_t)text;
	zlib.avail_in = (uInt)len;
	zlib.next_out = (Bytef *)out;
	zlib.avail_out = (uInt)room;
	deflate(&zlib, flush);
	deflateEnd(&zlib);
	return room - zlib.avail_out;
}

static size_t encode(enum rf_coding coding, bool is_raw, char *out, size_t room, const char *text,
		     size_t len)
{
	size_t size = room;

	switch (coding) {
	case RF_CODING_GZIP:
		return deflate_to(out, room, text, len, MAX_WBITS + 16, Z_FINISH);
	case RF_CODING_DEFLATE:
		return deflate_to(out, room, text, len, is_raw ? -MAX_WBITS : MAX_WBITS, Z_FINISH);
	case RF_CODING_BR:
		RF_REQUIRE(BrotliEncoderCompress(5, 22, BROTLI_MODE_GENERIC, len,
						 (const uint8_t *)text, &size, (uint8_t *)out),
			   "brotli");
		return size;
	case RF_CODING_ZSTD:
		return ZSTD_compress(out, room, text, len, 3);
	default:
		memcpy(out, text, len);
		return len;
	}
}

/* clang-format off */
static const struct { enum rf_coding coding; bool is_raw; } all[] = {
	{ RF_CODING_IDENTITY, false }, { RF_CODING_GZIP, false }, { RF_CODING_DEFLATE, false },
	{ RF_CODING_DEFLATE, true },   { RF_CODING_BR, false },   { RF_CODING_ZSTD, false },
};
/* clang-format on */

static struct rf_sieve_set *make_set(void)
{
	static const struct rf_sieve_secret secret = { SECRET, sizeof(SECRET) - 1 };
	struct rf_sieve_config config = { .secrets = &secret,
					  .secret_count = 1,
					  .has_rules = true };
	struct rf_sieve_set *set = NULL;
	struct rf_err err = RF_ERR_INIT;
	unsigned skipped;

	RF_REQUIRE(rf_sieve_set_new(&config, &set, &skipped, &err) == 0, "%s", err.msg);
	return set;
}

static struct rf_filter_stream *open_stream(const struct rf_sieve_set *set, enum rf_coding coding,
					    uint64_t limit)
{
	struct rf_filter_stream *stream = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_filter_stream_new(set, coding, limit, false, &stream, &err) == 0, "%s",
		   err.msg);
	return stream;
}

/* Feeds all of it, with little room at a time. */
static int feed_all(struct rf_filter_stream *stream, const char *data, size_t len,
		    struct rf_buf *out, size_t room)
{
	for (;;) {
		size_t before = out->len;
		ssize_t taken = rf_filter_stream_feed(stream, data, len, out, room);

		if (taken < 0)
			return (int)taken;
		data += taken;
		len -= (size_t)taken;
		if (!len && out->len == before)
			return 0;
	}
}

static char *make_text(size_t times, size_t *ret_len)
{
	char *text = malloc(times * 64 + 1);
	size_t len = 0;

	for (size_t i = 0; i < times; i++)
		len += (size_t)sprintf(text + len, "%zu: %s, said %zu.\n", i,
				       i % 10 == 3 ? SECRET : "a line", i * 7919);
	*ret_len = len;
	return text;
}

RF_TEST(a_body_is_masked_in_every_coding_and_in_pieces_of_every_size)
{
	struct rf_sieve_set *set = make_set();
	size_t len;
	char *text = make_text(2000, &len);
	char *coded = malloc(len + 4096);

	for (size_t i = 0; i < LEN(all); i++) {
		size_t size = encode(all[i].coding, all[i].is_raw, coded, len + 4096, text, len);

		for (size_t piece = 1; piece < 2 * size; piece = piece * 5 + 2) {
			struct rf_filter_stream *stream = open_stream(set, all[i].coding, 0);
			RF_AUTO_BUF struct rf_buf out = { 0 };

			rf_buf_init(&out, 16 * len);
			for (size_t at = 0; at < size; at += piece)
				RF_REQUIRE(feed_all(stream, coded + at,
						    piece < size - at ? piece : size - at, &out,
						    1000) == 0,
					   "%s at %zu", rf_coding_name(all[i].coding), at);
			RF_CHECK(rf_filter_stream_finish(stream, &out) == 0, "%s ends",
				 rf_coding_name(all[i].coding));
			RF_CHECK(out.len == len && !memmem(out.data, out.len, "horse", 5) &&
					 rf_filter_stream_counted(stream)->secrets == 200,
				 "%s in pieces of %zu: %zu bytes of %zu, %lu masked",
				 rf_coding_name(all[i].coding), piece, out.len, len,
				 (unsigned long)rf_filter_stream_counted(stream)->secrets);
			rf_filter_stream_free(stream);
		}
	}
	free(coded);
	free(text);
	rf_sieve_set_free(set);
}

RF_TEST(an_event_passes_when_its_sender_has_flushed_it)
{
	static const char event[] = "data: {\"text\": \"hello\"}\n\n";
	struct rf_sieve_set *set = make_set();
	struct rf_filter_stream *stream = open_stream(set, RF_CODING_GZIP, 0);
	RF_AUTO_BUF struct rf_buf out = { 0 };
	char coded[512];
	z_stream zlib = { 0 };

	rf_buf_init(&out, 4096);
	RF_REQUIRE(deflateInit2(&zlib, 6, Z_DEFLATED, MAX_WBITS + 16, 8, 0) == Z_OK, "zlib");
	for (size_t i = 1; i <= 20; i++) {
		zlib.next_in = (Bytef *)(uintptr_t)event;
		zlib.avail_in = sizeof(event) - 1;
		zlib.next_out = (Bytef *)coded;
		zlib.avail_out = sizeof(coded);
		deflate(&zlib, Z_SYNC_FLUSH);
		RF_CHECK(feed_all(stream, coded, sizeof(coded) - zlib.avail_out, &out, 65536) == 0,
			 "event %zu", i);
		RF_CHECK(out.len == i * (sizeof(event) - 1), "event %zu: %zu bytes", i, out.len);
		RF_CHECK(rf_filter_stream_held(stream) == 0, "event %zu: nothing is held", i);
	}
	deflateEnd(&zlib);
	rf_filter_stream_free(stream);
	rf_sieve_set_free(set);
}

RF_TEST(a_bomb_is_refused_before_it_goes_off)
{
	struct rf_sieve_set *set = make_set();
	size_t len = 64 * 1024 * 1024;
	char *text = calloc(1, len), *coded = malloc(len);

	for (size_t i = 1; i < LEN(all); i++) {
		struct rf_filter_stream *stream = open_stream(set, all[i].coding, 0);
		size_t size = encode(all[i].coding, all[i].is_raw, coded, len, text, len);
		RF_AUTO_BUF struct rf_buf out = { 0 };
		const char *at = coded;
		uint64_t passed = 0;
		ssize_t taken = 0;

		rf_buf_init(&out, 1024 * 1024);
		while (taken >= 0 && passed < len) {
			rf_buf_clear(&out);
			taken = rf_filter_stream_feed(stream, at, size, &out, 65536);
			RF_CHECK(out.len < 256 * 1024, "little at a time: %zu", out.len);
			passed += out.len;
			at += taken > 0 ? taken : 0;
			size -= taken > 0 ? (size_t)taken : 0;
		}
		RF_CHECK(taken == -E2BIG && passed <= (uint64_t)RF_CODING_FREE + 65536,
			 "%s: %zd after %lu", rf_coding_name(all[i].coding), taken,
			 (unsigned long)passed);
		rf_filter_stream_free(stream);
	}
	free(coded);
	free(text);
	rf_sieve_set_free(set);
}

RF_TEST(what_is_broken_or_unfinished_is_an_error)
{
	struct rf_sieve_set *set = make_set();
	size_t len;
	char *text = make_text(50, &len);
	char coded[8192];

	for (size_t i = 1; i < LEN(all); i++) {
		size_t size =
			encode(all[i].coding, all[i].is_raw, coded, sizeof(coded) - 64, text, len);
		const char *name = rf_coding_name(all[i].coding);
		struct rf_filter_stream *stream = open_stream(set, all[i].coding, 0);
		RF_AUTO_BUF struct rf_buf out = { 0 };

		rf_buf_init(&out, 65536);
		RF_CHECK(feed_all(stream, coded, size - 1, &out, 65536) == 0 &&
				 rf_filter_stream_finish(stream, &out) == -EBADMSG,
			 "%s without its last byte", name);
		rf_filter_stream_free(stream);

		stream = open_stream(set, all[i].coding, 0);
		memset(coded + size, 'x', 64);
		RF_CHECK(feed_all(stream, coded, size + 64, &out, 65536) == -EBADMSG,
			 "%s with something behind it", name);
		rf_filter_stream_free(stream);

		stream = open_stream(set, all[i].coding, 0);
		RF_CHECK(feed_all(stream, "\xff\xff\xff\xffplain text", 14, &out, 65536) ==
				 -EBADMSG,
			 "%s that is none", name);
		rf_filter_stream_free(stream);
	}
	free(text);
	rf_sieve_set_free(set);
}

RF_TEST(several_members_are_one_body)
{
	struct rf_sieve_set *set = make_set();
	char coded[1024];

	for (size_t i = 0; i < LEN(all); i++) {
		struct rf_filter_stream *stream;
		RF_AUTO_BUF struct rf_buf out = { 0 };
		size_t size;

		if (all[i].coding != RF_CODING_GZIP && all[i].coding != RF_CODING_ZSTD)
			continue;
		/* The secret lies across the two. */
		size = encode(all[i].coding, false, coded, 512, "say correct-ho", 14);
		size += encode(all[i].coding, false, coded + size, 512, "rse-battery now", 15);
		stream = open_stream(set, all[i].coding, 0);
		rf_buf_init(&out, 1024);
		RF_CHECK(feed_all(stream, coded, size, &out, 1024) == 0 &&
				 rf_filter_stream_finish(stream, &out) == 0,
			 "both are read");
		RF_CHECK(out.len == 29 && !memcmp(out.data, "say ********************* now", 29),
			 "%.*s", (int)out.len, out.data);
		rf_filter_stream_free(stream);
	}
	rf_sieve_set_free(set);
}

RF_TEST(a_size_cuts_after_the_masks_are_on)
{
	static const char text[] = "abc correct-horse-battery xyz";
	struct rf_sieve_set *set = make_set();

	for (size_t limit = 1; limit <= sizeof(text); limit++)
		for (size_t piece = 1; piece < sizeof(text); piece++) {
			struct rf_filter_stream *stream =
				open_stream(set, RF_CODING_IDENTITY, limit);
			RF_AUTO_BUF struct rf_buf out = { 0 };
			size_t len = sizeof(text) - 1, wanted = limit < len ? limit : len;

			rf_buf_init(&out, 1024);
			for (size_t at = 0; at < len; at += piece)
				feed_all(stream, text + at, piece < len - at ? piece : len - at,
					 &out, 1024);
			rf_filter_stream_finish(stream, &out);
			RF_CHECK(out.len == wanted &&
					 !memcmp(out.data, "abc ********************* xyz", wanted),
				 "%zu: %.*s", limit, (int)out.len, out.data);
			RF_CHECK(rf_filter_stream_is_cut(stream) == (limit < len), "%zu", limit);
			rf_filter_stream_free(stream);
		}
	rf_sieve_set_free(set);
}

RF_TEST(a_field_names_one_coding_or_none)
{
	/* clang-format off */
	static const struct { const char *value; enum rf_coding coding; } cases[] = {
		{ "",               RF_CODING_IDENTITY },
		{ "identity",       RF_CODING_IDENTITY },
		{ "gzip",           RF_CODING_GZIP },
		{ " GZip ",         RF_CODING_GZIP },
		{ "x-gzip",         RF_CODING_GZIP },
		{ "deflate",        RF_CODING_DEFLATE },
		{ "br",             RF_CODING_BR },
		{ "zstd",           RF_CODING_ZSTD },
		{ "gzip, br",       RF_CODING_UNKNOWN },
		{ "dcb",            RF_CODING_UNKNOWN },
		{ "gzipx",          RF_CODING_UNKNOWN },
	};
	/* clang-format on */
	struct rf_sieve_set *set = make_set();
	struct rf_filter_stream *stream = NULL;
	struct rf_err err = RF_ERR_INIT;

	for (size_t i = 0; i < LEN(cases); i++)
		RF_CHECK(rf_coding_parse(cases[i].value, strlen(cases[i].value)) == cases[i].coding,
			 "'%s'", cases[i].value);
	RF_CHECK(rf_filter_stream_new(set, RF_CODING_UNKNOWN, 0, false, &stream, &err) == -ENOTSUP,
		 "refused");
	RF_CHECK(rf_filter_stream_new(set, RF_CODING_UNKNOWN, 0, true, &stream, &err) == 0,
		 "allowed");
	rf_filter_stream_free(stream);
	rf_sieve_set_free(set);
}
