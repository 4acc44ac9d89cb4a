/* The audit log's writer: src/audit/store.c, store-old.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/frame.h"
#include "base/fd.h"
#include "harness.h"
#include "log-maker.h"

#define SMALL 2048

/* How many events of a kind the log has. */
static unsigned count_kind(int dir, unsigned kind)
{
	uint64_t *numbers;
	size_t files;
	struct rf_err err = RF_ERR_INIT;
	unsigned count = 0;

	RF_REQUIRE(rf_segment_list(dir, &numbers, &files, &err) == 0, "%s", err.msg);
	for (size_t i = 0; i < files; i++) {
		struct rf_segment segment;
		struct rf_frame frame;

		RF_REQUIRE(rf_segment_map(dir, numbers[i], &segment, &err) == 0, "%s", err.msg);
		for (size_t at = 0;
		     rf_frame_parse(segment.data + at, segment.len - at, &frame) == RF_FRAME_WHOLE;
		     at += frame.length)
			count += frame.type == RF_FRAME_EVENT && frame.payload[2] == kind;
		rf_segment_done(&segment);
	}
	free(numbers);
	return count;
}

RF_TEST(a_log_goes_on_where_it_ended)
{
	int dir = log_folder();
	struct rf_verify verify;
	struct rf_store *store;

	for (int i = 0; i < 3; i++)
		log_make(dir, 7, SMALL);
	store = log_open(dir, SMALL);
	RF_CHECK(!rf_store_found(store)[0], "%s", rf_store_found(store));
	rf_store_close(store, NULL);
	verify = log_verify(dir, NULL);
	RF_CHECK(verify.is_good, "%s", verify.what);
	RF_CHECK(count_kind(dir, RF_AUDIT_RUN_STARTED) == 21 &&
			 count_kind(dir, RF_AUDIT_CHAIN_STARTED) == 1 &&
			 count_kind(dir, RF_AUDIT_CHAIN_CLOSED) == 3,
		 "all of it, in one chain");
}

/* As a launcher tells it before each run. */
static uint64_t tell_policy(struct rf_store *store, uint8_t which, uint64_t part)
{
	const uint8_t hash[RF_AUDIT_HASH] = { which };
	RF_AUTO_BUF struct rf_buf bytes;
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;
	uint64_t seq = 0;

	rf_buf_init(&bytes, RF_AUDIT_EVENT_MAX);
	rf_audit_event_init(&event, RF_AUDIT_POLICY_TEXT);
	rf_audit_event_digest(&event, RF_AUDIT_POLICY, hash);
	rf_audit_event_text(&event, RF_AUDIT_TEXT_PART, "limits: {time: 1s}\n");
	rf_audit_event_number(&event, RF_AUDIT_PART, part);
	rf_audit_event_number(&event, RF_AUDIT_COUNT, 2);
	RF_REQUIRE(rf_audit_event_encode(&event, &bytes, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_store_told(store, &event, bytes.data, bytes.len, &seq, &err) == 0, "%s",
		   err.msg);
	return seq;
}

RF_TEST(a_policy_is_written_once_in_each_file)
{
	int dir = log_folder();
	struct rf_store *store = log_open(dir, SMALL / 2);
	struct rf_err err = RF_ERR_INIT;

	for (int i = 0; i < 5; i++)
		for (uint8_t which = 1; which <= 3; which++)
			for (uint64_t part = 1; part <= 2; part++)
				tell_policy(store, which, part);
	RF_REQUIRE(rf_store_commit(store, &err) == 0, "%s", err.msg);
	RF_CHECK(count_kind(dir, RF_AUDIT_POLICY_TEXT) == 6, "each part of each, once");
	RF_CHECK(tell_policy(store, 1, 1) == rf_store_seq(store), "what is there is answered for");
	for (int i = 0; i < 2; i++)
		tell_policy(store, 1, 0);
	RF_REQUIRE(rf_store_commit(store, &err) == 0, "%s", err.msg);
	RF_CHECK(count_kind(dir, RF_AUDIT_POLICY_TEXT) == 8, "what is no part is an event");
	tell_policy(store, 9, 1);
	rf_store_forget(store);
	tell_policy(store, 9, 1);
	RF_REQUIRE(rf_store_commit(store, &err) == 0, "%s", err.msg);
	RF_CHECK(count_kind(dir, RF_AUDIT_POLICY_TEXT) == 9, "what was thrown away is not there");
	RF_REQUIRE(rf_store_tend(store, &err) == 0, "%s", err.msg);
	tell_policy(store, 9, 1);
	RF_REQUIRE(rf_store_commit(store, &err) == 0, "%s", err.msg);
	RF_CHECK(count_kind(dir, RF_AUDIT_POLICY_TEXT) == 10, "the next file has its own");
	rf_store_close(store, "test");
	RF_CHECK(log_verify(dir, NULL).is_good, "and all of it is proved");
}

RF_TEST(two_can_not_write_one_log)
{
	int dir = log_folder();
	struct rf_store_options options = { .dir = dir };
	struct rf_err err = RF_ERR_INIT;
	struct rf_store *store = log_open(dir, 0), *second;

	RF_CHECK(rf_store_open(&options, &second, &err) == -EBUSY, "%s", err.msg);
	rf_store_close(store, NULL);
	RF_CHECK(rf_store_open(&options, &second, &err) == 0, "%s", err.msg);
	rf_store_close(second, NULL);
}

RF_TEST(a_record_that_was_not_finished_is_cut_off_and_told_of)
{
	int dir = log_folder();
	uint8_t *data;
	size_t len, last;

	log_make(dir, 3, 0);
	data = log_read(dir, 1, &len);
	last = log_offset(data, len, log_count(data, len) - 1);
	for (size_t keep = last + 1; keep < len; keep++) {
		struct rf_verify verify;
		struct rf_store *store;

		log_write(dir, 1, data, keep);
		store = log_open(dir, 0);
		RF_CHECK(strstr(rf_store_found(store), "not finished"), "%s",
			 rf_store_found(store));
		rf_store_close(store, NULL);
		verify = log_verify(dir, NULL);
		RF_CHECK(verify.is_good && count_kind(dir, RF_AUDIT_CHAIN_CUT) == 1, "%zu: %s",
			 keep, verify.what);
	}
	free(data);
}

RF_TEST(an_end_of_zeros_is_what_a_loss_of_power_leaves)
{
	int dir = log_folder();
	struct rf_store *store;
	uint8_t *data, more[5000];
	size_t len;

	log_make(dir, 3, 0);
	data = log_read(dir, 1, &len);
	memset(more, 0, sizeof(more));
	memcpy(more, data, len);
	log_write(dir, 1, more, sizeof(more));
	store = log_open(dir, 0);
	RF_CHECK(strstr(rf_store_found(store), "not finished"), "%s", rf_store_found(store));
	rf_store_close(store, NULL);
	RF_CHECK(log_verify(dir, NULL).is_good, "good");
	free(data);
}

RF_TEST(a_file_that_was_not_begun_is_none)
{
	int dir = log_folder();
	struct rf_store *store;

	log_make(dir, 3, 0);
	log_write(dir, 2, "xyz", 3);
	store = log_open(dir, 0);
	log_add(store, 9);
	rf_store_close(store, NULL);
	RF_CHECK(faccessat(dir, "000000000002.log", F_OK, 0) < 0, "it is gone");
	RF_CHECK(log_verify(dir, NULL).is_good && count_kind(dir, RF_AUDIT_CHAIN_CUT) == 1, "good");
}

RF_TEST(a_damaged_log_is_put_aside_and_a_new_chain_names_its_head)
{
	int dir = log_folder();
	struct rf_verify verify;
	struct rf_store *store;
	uint8_t *data;
	size_t len;
	char aside[128] = "";

	log_make(dir, 9, 0);
	data = log_read(dir, 1, &len);
	data[log_offset(data, len, 5) + RF_FRAME_HEAD + 10] ^= 1;
	log_write(dir, 1, data, len);
	store = log_open(dir, 0);
	RF_CHECK(strstr(rf_store_found(store), "record 6: its bytes"), "%s", rf_store_found(store));
	snprintf(aside, sizeof(aside), "%s/000000000001.log",
		 strstr(rf_store_found(store), "broken-"));
	rf_store_close(store, NULL);
	verify = log_verify(dir, NULL);
	RF_CHECK(verify.is_good && verify.first_seq == 1, "%s", verify.what);
	RF_CHECK(count_kind(dir, RF_AUDIT_ALARM) == 1 &&
			 count_kind(dir, RF_AUDIT_CHAIN_STARTED) == 1,
		 "an alarm");
	RF_CHECK(faccessat(dir, aside, F_OK, 0) == 0, "%s", aside);
	free(data);
}

RF_TEST(where_the_disk_is_full_no_part_of_a_batch_stays)
{
	int dir = log_folder();
	struct rf_store *store = log_open(dir, 0);
	struct rf_err err = RF_ERR_INIT;
	struct rf_audit_event event;
	struct rlimit before, full;
	struct stat st;
	uint64_t seq, last;

	signal(SIGXFSZ, SIG_IGN);
	last = log_add(store, 1);
	RF_REQUIRE(fstatat(dir, "000000000001.log", &st, 0) == 0 &&
			   getrlimit(RLIMIT_FSIZE, &before) == 0,
		   "its size");
	rf_audit_event_init(&event, RF_AUDIT_CHAIN_CLOSED);
	rf_audit_event_text(&event, RF_AUDIT_REASON, "a batch");
	for (int i = 0; i < 10; i++)
		RF_REQUIRE(rf_store_event(store, &event, &seq, &err) == 0, "%s", err.msg);
	full = before;
	full.rlim_cur = (rlim_t)st.st_size + 300; /* the batch fits in part */
	RF_REQUIRE(setrlimit(RLIMIT_FSIZE, &full) == 0, "a limit");
	RF_CHECK(rf_store_commit(store, &err) == -EFBIG, "%s", err.msg);
	RF_REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0, "no limit");
	RF_CHECK(rf_store_seq(store) == last, "none of it");
	RF_CHECK(log_add(store, 2) == last + 1, "and it goes on");
	rf_store_close(store, NULL);
	RF_CHECK(log_verify(dir, NULL).is_good, "good");
	RF_CHECK(count_kind(dir, RF_AUDIT_RUN_STARTED) == 2 &&
			 count_kind(dir, RF_AUDIT_CHAIN_CLOSED) == 0,
		 "no part of the batch");
}

RF_TEST(old_files_go_and_the_log_proves_that_it_was_by_the_rules)
{
	int dir = log_folder();
	struct rf_store_options options = { .dir = dir,
					    .segment_bytes = SMALL,
					    .keep_bytes = 3 * SMALL };
	struct rf_err err = RF_ERR_INIT;
	struct rf_verify verify;
	struct rf_store *store;

	RF_REQUIRE(rf_store_open(&options, &store, &err) == 0, "%s", err.msg);
	for (unsigned i = 0; i < 100; i++) {
		log_add(store, i);
		RF_REQUIRE(rf_store_tend(store, &err) == 0, "%s", err.msg);
	}
	rf_store_close(store, "test");
	verify = log_verify(dir, NULL);
	RF_CHECK(verify.is_good && verify.is_retired && verify.first_seq > 1, "%s", verify.what);
	RF_CHECK(verify.bytes < 6 * SMALL, "%llu bytes", (unsigned long long)verify.bytes);
	/* One more file than the rules took: it was deleted. */
	{
		uint64_t *numbers;
		size_t count;
		char name[RF_SEGMENT_NAME];

		RF_REQUIRE(rf_segment_list(dir, &numbers, &count, &err) == 0, "%s", err.msg);
		rf_segment_name(numbers[0], name);
		unlinkat(dir, name, 0);
		free(numbers);
	}
	verify = log_verify(dir, NULL);
	RF_CHECK(!verify.is_good && strstr(verify.what, "deleted"), "%s", verify.what);
}

/* Writes until it is killed; says after each commit how far it is. */
static void write_for_ever(int dir, int out)
{
	struct rf_store *store = log_open(dir, 16384);
	struct rf_err err = RF_ERR_INIT;

	for (unsigned i = 0;; i++) {
		uint64_t seq = log_add(store, i);

		if (write(out, &seq, sizeof(seq)) != sizeof(seq) ||
		    rf_store_tend(store, &err) < 0 ||
		    (i % 16 == 0 && rf_store_sign(store, &err) < 0))
			_exit(1);
	}
}

RF_TEST(kill_9_loses_nothing_that_was_acknowledged)
{
	int dir = log_folder();

	srandom(7);
	for (int round = 0; round < 60; round++) {
		uint64_t acknowledged = 0, seq;
		struct rf_verify verify;
		int pipes[2];
		pid_t pid;

		RF_REQUIRE(pipe2(pipes, O_CLOEXEC) == 0, "a pipe");
		pid = fork();
		RF_REQUIRE(pid >= 0, "a process");
		if (pid == 0)
			write_for_ever(dir, pipes[1]);
		close(pipes[1]);
		usleep((useconds_t)(random() % 12000));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(pipes[0], &seq, sizeof(seq)) == sizeof(seq))
			acknowledged = seq;
		close(pipes[0]);
		rf_store_close(log_open(dir, 0), NULL);
		verify = log_verify(dir, NULL);
		RF_REQUIRE(verify.is_good && verify.last_seq >= acknowledged,
			   "round %d: acknowledged %llu, has %llu: %s", round,
			   (unsigned long long)acknowledged, (unsigned long long)verify.last_seq,
			   verify.what);
	}
}
