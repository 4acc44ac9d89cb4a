/* Every way to tamper with a log, and that it is found: src/audit/verify.c, link.c. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/frame.h"
#include "harness.h"
#include "log-maker.h"

#define SMALL 2048 /* bytes of a file: some ten records */

static void tell_file(void *data, const struct rf_anchor_line *line)
{
	RF_CHECK(rf_anchor_tell(data, line) == 0, "the anchor");
}

/* A log whose heads go to a file in the same folder. */
static void make_anchored(int dir, const char *anchor, unsigned events)
{
	struct rf_store_options options = { .dir = dir, .segment_bytes = SMALL };
	struct rf_err err = RF_ERR_INIT;
	struct rf_store *store;

	options.on_head = tell_file;
	options.data = (void *)(uintptr_t)anchor;
	RF_REQUIRE(rf_store_open(&options, &store, &err) == 0, "%s", err.msg);
	for (unsigned i = 0; i < events; i++) {
		log_add(store, i);
		RF_REQUIRE(rf_store_tend(store, &err) == 0, "%s", err.msg);
	}
	rf_store_close(store, "test");
}

RF_TEST(a_log_that_nobody_touched_is_good)
{
	int dir = log_folder();
	struct rf_verify verify;

	log_make(dir, 50, SMALL);
	verify = log_verify(dir, NULL);
	RF_CHECK(verify.is_good, "%s", verify.what);
	RF_CHECK(verify.files > 3 && verify.first_seq == 1 && verify.events >= 52 &&
			 verify.last_seq == verify.records && verify.is_closed,
		 "%llu events in %llu files", (unsigned long long)verify.events,
		 (unsigned long long)verify.files);
	RF_CHECK(verify.signatures >= verify.files && verify.signed_seq + 1 == verify.last_seq,
		 "signed to its end");
	RF_CHECK(!verify.has_anchor && verify.unfinished == 0, "no anchor");
}

static void change_every_bit(const char *arg)
{
	int dir = log_folder();
	size_t len, at = 0, end;
	uint8_t *data;

	log_make(dir, 5, 0);
	data = log_read(dir, 1, &len);
	len = log_offset(data, len, log_count(data, len) - (arg ? 2 : 0)); /* not closed */
	for (unsigned index = 0; at < len; index++) {
		end = log_offset(data, len, index + 1);
		for (; at < end; at++)
			for (int bit = 0; bit < 8; bit++) {
				struct rf_verify verify;

				data[at] ^= (uint8_t)(1 << bit);
				log_write(dir, 1, data, len);
				verify = log_verify(dir, NULL);
				RF_REQUIRE(!verify.is_good && verify.bad_seq == index + 1,
					   "byte %zu, bit %d: %s", at, bit, verify.what);
				data[at] ^= (uint8_t)(1 << bit);
			}
	}
	log_write(dir, 1, data, len);
	RF_CHECK(log_verify(dir, NULL).is_good, "as it was");
	free(data);
}

RF_TEST(every_bit_that_is_changed_is_found_and_its_record_named)
{
	change_every_bit(NULL);
}

RF_TEST(every_bit_that_is_changed_is_found_in_a_log_that_ended_with_a_crash)
{
	change_every_bit("crash");
}

/* The file without, or with another order of, its records. */
static void rebuild(int dir, const uint8_t *data, size_t len, const unsigned *order, size_t count)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	for (size_t i = 0; i < count; i++) {
		size_t at = log_offset(data, len, order[i]);

		rf_buf_add(&out, data + at, log_offset(data, len, order[i] + 1) - at);
	}
	log_write(dir, 1, out.data, out.len);
}

RF_TEST(a_record_that_is_deleted_is_missed)
{
	int dir = log_folder();
	unsigned order[64], count;
	uint8_t *data;
	size_t len;

	log_make(dir, 8, 0);
	data = log_read(dir, 1, &len);
	count = log_count(data, len);
	for (unsigned gone = 0; gone + 1 < count; gone++) {
		struct rf_verify verify;
		size_t n = 0;

		for (unsigned i = 0; i < count; i++)
			if (i != gone)
				order[n++] = i;
		rebuild(dir, data, len, order, n);
		verify = log_verify(dir, NULL);
		RF_CHECK(!verify.is_good && verify.bad_seq == gone + 1, "record %u: %s", gone + 1,
			 verify.what);
	}
	free(data);
}

RF_TEST(records_in_another_order_or_twice_are_found)
{
	int dir = log_folder();
	unsigned order[64], count;
	uint8_t *data;
	size_t len;

	log_make(dir, 8, 0);
	data = log_read(dir, 1, &len);
	count = log_count(data, len);
	for (unsigned a = 0; a < count; a++)
		for (unsigned b = a + 1; b < count; b++) {
			struct rf_verify verify;

			for (unsigned i = 0; i < count; i++)
				order[i] = i == a ? b : i == b ? a : i;
			rebuild(dir, data, len, order, count);
			verify = log_verify(dir, NULL);
			RF_CHECK(!verify.is_good && verify.bad_seq == a + 1, "%u and %u: %s", a, b,
				 verify.what);
		}
	for (unsigned twice = 0; twice < count; twice++) {
		struct rf_verify verify;

		for (unsigned i = 0; i <= count; i++)
			order[i] = i <= twice ? i : i - 1;
		rebuild(dir, data, len, order, count + 1);
		verify = log_verify(dir, NULL);
		RF_CHECK(!verify.is_good && verify.bad_seq == twice + 2, "%u twice: %s", twice,
			 verify.what);
	}
	free(data);
}

RF_TEST(a_file_of_another_log_is_found)
{
	int dir = log_folder(), other = log_folder();
	struct rf_verify verify;
	uint8_t *foreign, *own;
	size_t foreign_len, own_len;

	log_make(dir, 40, SMALL);
	log_make(other, 40, SMALL);
	foreign = log_read(other, 2, &foreign_len);
	own = log_read(dir, 2, &own_len);
	log_write(dir, 2, foreign, foreign_len);
	verify = log_verify(dir, NULL);
	RF_CHECK(!verify.is_good && verify.bad_segment == 2 && verify.bad_offset == 0, "%s",
		 verify.what);
	log_write(dir, 2, own, own_len);
	RF_CHECK(log_verify(dir, NULL).is_good, "as it was");
	free(foreign);
	free(own);
	/* The whole log, its key's public half and all: whoever knows the key sees it. */
	foreign = log_read(other, 1, &foreign_len);
	log_write(dir, 1, foreign, foreign_len);
	verify = log_verify(dir, NULL);
	RF_CHECK(!verify.is_good && strstr(verify.what, "another key"), "%s", verify.what);
	free(foreign);
}

RF_TEST(files_that_are_deleted_swapped_or_renamed_are_found)
{
	int dir = log_folder();
	struct rf_verify verify;
	uint8_t *two, *three, *one;
	size_t one_len, two_len, three_len;

	log_make(dir, 60, SMALL);
	one = log_read(dir, 1, &one_len);
	two = log_read(dir, 2, &two_len);
	three = log_read(dir, 3, &three_len);
	log_write(dir, 2, three, three_len);
	log_write(dir, 3, two, two_len);
	verify = log_verify(dir, NULL);
	RF_CHECK(!verify.is_good && verify.bad_segment == 2, "swapped: %s", verify.what);
	log_write(dir, 2, two, two_len);
	log_write(dir, 3, three, three_len);
	unlinkat(dir, "000000000002.log", 0);
	verify = log_verify(dir, NULL);
	RF_CHECK(!verify.is_good && verify.bad_segment == 3, "the second: %s", verify.what);
	log_write(dir, 2, two, two_len);
	unlinkat(dir, "000000000001.log", 0);
	verify = log_verify(dir, NULL);
	RF_CHECK(!verify.is_good && verify.bad_seq == 1, "the first: %s", verify.what);
	log_write(dir, 2, "", 0);
	log_write(dir, 1, one, one_len);
	verify = log_verify(dir, NULL);
	RF_CHECK(!verify.is_good && verify.bad_segment == 2, "emptied: %s", verify.what);
	free(one);
	free(two);
	free(three);
}

RF_TEST(an_end_that_is_cut_off_is_proved_by_an_anchor_only)
{
	int dir = log_folder(), elsewhere = log_folder();
	const char *anchor = log_path(elsewhere, "heads");
	struct rf_verify verify;
	unsigned count;
	uint8_t *data;
	size_t len;

	make_anchored(dir, anchor, 6);
	verify = log_verify(dir, anchor);
	RF_CHECK(verify.is_good && verify.anchored_seq + 1 == verify.last_seq && verify.anchors > 0,
		 "%s", verify.what);
	data = log_read(dir, 1, &len);
	count = log_count(data, len);
	for (unsigned keep = 1; keep + 1 < count; keep++) {
		log_write(dir, 1, data, log_offset(data, len, keep));
		verify = log_verify(dir, NULL);
		RF_CHECK(verify.is_good && !verify.has_anchor && !verify.is_closed,
			 "a chain all the same: %s", verify.what);
		verify = log_verify(dir, anchor);
		RF_CHECK(!verify.is_good && verify.bad_seq == keep + 1 &&
				 strstr(verify.what, "cut off"),
			 "%u records: %s", keep, verify.what);
	}
	free(data);
}

RF_TEST(a_log_that_was_written_anew_with_its_own_key_is_found_by_an_anchor)
{
	int dir = log_folder(), elsewhere = log_folder();
	const char *anchor = log_path(elsewhere, "heads");
	struct rf_verify verify;

	make_anchored(dir, anchor, 6);
	unlinkat(dir, "000000000001.log", 0);
	log_make(dir, 6, 0);
	verify = log_verify(dir, NULL);
	RF_CHECK(verify.is_good, "who has the key can write a log: %s", verify.what);
	verify = log_verify(dir, anchor);
	RF_CHECK(!verify.is_good && strstr(verify.what, "another log"), "%s", verify.what);
}

RF_TEST(lines_that_the_key_did_not_sign_prove_nothing)
{
	int dir = log_folder(), elsewhere = log_folder();
	const char *anchor = log_path(elsewhere, "heads");
	struct rf_anchor_line line = { .head = { .seq = 1000000 } };
	struct rf_verify verify;

	make_anchored(dir, anchor, 6);
	verify = log_verify(dir, anchor);
	memcpy(line.head.chain, verify.chain, RF_AUDIT_HASH);
	{
		struct rf_err err = RF_ERR_INIT;

		RF_REQUIRE(rf_sign_read_public(dir, line.key, &err) == 0, "%s", err.msg);
	}
	RF_REQUIRE(rf_anchor_tell(anchor, &line) == 0, "write a forged line");
	verify = log_verify(dir, anchor);
	RF_CHECK(verify.is_good && verify.forged == 1, "%s", verify.what);
}
