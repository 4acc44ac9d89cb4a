/* The log's index, and looking things up by it: src/audit/index.c, tile.c, lookup.c. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/digest.h"
#include "audit/index.h"
#include "audit/lookup.h"
#include "base/fd.h"
#include "harness.h"
#include "log-maker.h"

#define EVENTS  7000
#define SEGMENT (300u << 10)

/* What a question came to. */
struct answer {
	uint64_t seqs[EVENTS + 100];
	size_t count;
	uint64_t changed, tiles;
	bool is_index_wrong;
};

/* Runs of seven agents, of which one had a single one, long ago. */
static void add_events(struct rf_store *store, unsigned from, unsigned to)
{
	static const char *const verdicts[] = { "ok", "ok", "failed", "ok", "timeout" };
	struct rf_err err = RF_ERR_INIT;

	for (unsigned i = from; i < to; i++) {
		struct rf_audit_event event;
		char box[24], agent[24];
		uint64_t seq;

		snprintf(box, sizeof(box), "box-%u", i / 2);
		snprintf(agent, sizeof(agent), "agent%u", i == 1500 ? 99 : i / 2 % 7);
		rf_audit_event_init(&event, i % 2 ? RF_AUDIT_RUN_ENDED : RF_AUDIT_RUN_STARTED);
		rf_audit_event_text(&event, RF_AUDIT_BOX, box);
		rf_audit_event_text(&event, RF_AUDIT_AGENT, agent);
		rf_audit_event_text(&event, RF_AUDIT_PROGRAM, "python3");
		rf_audit_event_number(&event, RF_AUDIT_USER, i);
		if (i % 2)
			rf_audit_event_text(&event, RF_AUDIT_VERDICT, verdicts[i / 2 % 5]);
		RF_REQUIRE(rf_store_event(store, &event, &seq, &err) == 0, "%s", err.msg);
		if (i % 100 == 0)
			RF_REQUIRE(rf_store_commit(store, &err) == 0 &&
					   rf_store_tend(store, &err) == 0,
				   "%s", err.msg);
	}
	RF_REQUIRE(rf_store_commit(store, &err) == 0, "%s", err.msg);
}

static int make_log(void)
{
	int dir = log_folder();
	struct rf_store *store = log_open(dir, SEGMENT);

	add_events(store, 0, EVENTS);
	rf_store_close(store, "test");
	return dir;
}

static int on_event(void *data, const struct rf_audit_event *event, struct rf_err *err)
{
	struct answer *answer = data;

	(void)err;
	RF_REQUIRE(answer->count < RF_LEN(answer->seqs), "no event is invented");
	answer->seqs[answer->count++] = event->seq;
	return 0;
}

static void ask(int dir, const struct rf_index *index, const struct rf_pick *pick, uint64_t limit,
		struct answer *answer)
{
	struct rf_lookup lookup = { .dir = dir,
				    .pick = pick,
				    .index = index,
				    .limit = limit,
				    .on_event = on_event,
				    .data = answer };
	struct rf_err err = RF_ERR_INIT;
	struct rf_reader reader;

	*answer = (struct answer){ 0 };
	RF_REQUIRE(rf_digest_new(&lookup.digest, &err) == 0, "%s", err.msg);
	rf_reader_init(&reader, dir);
	RF_CHECK(rf_lookup(&lookup, &reader, &err) == 0, "%s", err.msg);
	rf_reader_done(&reader);
	rf_digest_free(lookup.digest);
	answer->changed = lookup.changed;
	answer->tiles = lookup.tiles_read;
	answer->is_index_wrong = lookup.is_index_wrong;
}

/* The questions that are asked each time. */
static const struct question {
	struct rf_pick pick;
	uint64_t limit;
	size_t count; /* of the whole log */
} questions[] = {
	{ { .agent = "agent99" }, 0, 1 },
	{ { .agent = "agent3" }, 20, 20 },
	{ { .agent = "agent3" }, 0, 1000 },
	{ { .agent = "nobody" }, 0, 0 },
	{ { .agent = "nobody" }, 5, 0 },
	{ { .box = "box-17" }, 0, 2 },
	{ { .box = "box-3400" }, 1, 1 },
	{ { .verdict = "timeout" }, 3, 3 },
	{ { .kinds = 1ull << RF_AUDIT_CHAIN_STARTED }, 0, 1 },
	{ { .until_ns = 1 }, 0, 0 },
	{ { .agent = "agent3", .verdict = "ok" }, 7, 7 },
	{ { 0 }, 1, 1 },
};

/* With this index, whatever it is, the answers are those of the log. */
static void compare(int dir, const struct rf_index *index, const char *what)
{
	static struct answer with, without;

	for (size_t i = 0; i < RF_LEN(questions); i++) {
		ask(dir, index, &questions[i].pick, questions[i].limit, &with);
		ask(dir, NULL, &questions[i].pick, questions[i].limit, &without);
		RF_CHECK(with.count == without.count && memcmp(with.seqs, without.seqs,
							       with.count * sizeof(uint64_t)) == 0,
			 "%s: question %zu: %zu and %zu", what, i, with.count, without.count);
	}
}

static struct rf_index *open_index(int dir, int folder)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_index *index = NULL;
	uint64_t records;

	RF_REQUIRE(rf_index_open(dir, folder, true, &index, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_index_update(index, &records, &err) == 0, "%s", err.msg);
	return index;
}

/* The name of the one file in there. */
static const char *name_of(int dir, int folder)
{
	struct rf_segment segment = { 0 };
	struct rf_frame_segment says;
	struct rf_frame frame;
	struct rf_err err = RF_ERR_INIT;
	uint64_t *numbers;
	size_t count;
	char hex[33], name[48];

	RF_REQUIRE(rf_segment_list(dir, &numbers, &count, &err) == 0 && count > 0, "%s", err.msg);
	RF_REQUIRE(rf_segment_map(dir, numbers[0], &segment, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_frame_parse(segment.data, segment.len, &frame) == RF_FRAME_WHOLE &&
			   rf_frame_segment(&frame, &says) == 0,
		   "a file");
	rf_digest_hex(says.chain, 16, hex);
	rf_segment_done(&segment);
	free(numbers);
	snprintf(name, sizeof(name), "%s.db", hex);
	return log_path(folder, name);
}

RF_TEST(answers_are_the_log_s_and_little_of_it_is_read)
{
	static struct answer answer;
	int dir = make_log(), folder = log_folder();
	struct rf_index *index = open_index(dir, folder);

	RF_CHECK(rf_index_count(index) >= 7, "%zu tiles", rf_index_count(index));
	compare(dir, index, "whole");
	for (size_t i = 0; i < RF_LEN(questions); i++) {
		ask(dir, index, &questions[i].pick, questions[i].limit, &answer);
		RF_CHECK(answer.count == questions[i].count, "question %zu: %zu", i, answer.count);
		RF_CHECK(!answer.is_index_wrong && answer.tiles <= 3,
			 "question %zu read %llu tiles", i, (unsigned long long)answer.tiles);
	}
	rf_index_free(index);
	index = NULL;
	RF_CHECK(rf_index_open(dir, folder, false, &index, &(struct rf_err){ 0 }) == 0,
		 "it is there for the next one, who need not write");
	compare(dir, index, "once more");
	rf_index_free(index);
}

RF_TEST(it_grows_with_the_log_and_forgets_what_went)
{
	int dir = log_folder(), folder = log_folder();
	struct rf_store *store = log_open(dir, SEGMENT);
	struct rf_index *index = NULL;
	size_t before = 0;

	for (unsigned i = 0; i < EVENTS; i += 500) {
		add_events(store, i, i + 500);
		rf_index_free(index);
		index = open_index(dir, folder);
		RF_CHECK(rf_index_count(index) >= before, "it grows");
		before = rf_index_count(index);
		if (i % 1000 == 0)
			compare(dir, index, "while it grows");
	}
	rf_store_close(store, NULL);
	rf_index_free(index);
	RF_REQUIRE(unlink(log_path(dir, "000000000001.log")) == 0, "the first file goes");
	index = open_index(dir, folder);
	RF_CHECK(rf_index_count(index) < before && rf_index_tile(index, 0)->segment == 2, "%zu",
		 rf_index_count(index));
	compare(dir, index, "without its first file");
	rf_index_free(index);
	RF_REQUIRE(unlink(log_path(dir, "000000000003.log")) == 0, "one in the middle goes");
	index = open_index(dir, folder);
	compare(dir, index, "without one in the middle");
	rf_index_free(index);
}

static uint8_t *read_file(const char *path, size_t *ret_len)
{
	RF_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data;

	RF_REQUIRE(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
	data = malloc((size_t)st.st_size);
	RF_REQUIRE(data && rf_fd_read(fd, data, (size_t)st.st_size) == st.st_size, "%s", path);
	*ret_len = (size_t)st.st_size;
	return data;
}

static void write_file(const char *path, const void *data, size_t len)
{
	RF_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	RF_REQUIRE(fd >= 0 && rf_fd_write(fd, data, len) == 0, "%s", path);
}

/* Opens what may be no index at all, as a reader does, and asks. */
static void survive(int dir, int folder, const char *what)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_index *index = NULL;
	uint64_t records;

	if (rf_index_open(dir, folder, false, &index, &err) == 0)
		compare(dir, index, what);
	rf_index_free(index);
	index = NULL;
	if (rf_index_open(dir, folder, true, &index, &err) == 0 &&
	    rf_index_update(index, &records, &err) == 0)
		compare(dir, index, what);
	rf_index_free(index);
}

RF_TEST(whatever_happens_to_its_file_the_answers_are_the_log_s)
{
	int dir = make_log(), folder = log_folder();
	uint64_t state = 88172645463325252u;
	const char *path = name_of(dir, folder);
	char name[256], what[64];
	uint8_t *good, *bad;
	size_t len;

	snprintf(name, sizeof(name), "%s", path);
	rf_index_free(open_index(dir, folder));
	good = read_file(name, &len);
	bad = malloc(len);
	RF_REQUIRE(bad, "memory");
	for (int round = 0; round < 40; round++) {
		size_t keep = len;

		memcpy(bad, good, len);
		for (int i = 0; i <= round % 4; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			bad[(state >> 20) % len] ^= (uint8_t)(1u << (state >> 60) % 8);
		}
		if (round % 5 == 0)
			keep = (size_t)(state >> 24) % len;
		if (round % 17 == 0)
			memset(bad + keep / 2, 0, keep - keep / 2);
		write_file(name, bad, keep);
		snprintf(what, sizeof(what), "round %d", round);
		survive(dir, folder, what);
	}
	write_file(name, "", 0);
	survive(dir, folder, "empty");
	write_file(name, "no database", 11);
	survive(dir, folder, "a text");
	free(good);
	free(bad);
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	RF_REQUIRE(sqlite3_open(path, &db) == SQLITE_OK, "%s", path);
	RF_CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
		 sqlite3_errmsg(db));
	sqlite3_close(db);
}

RF_TEST(rows_that_were_taken_moved_or_changed_are_no_index)
{
	static const char *const changes[] = {
		"DELETE FROM tile WHERE begin = (SELECT max(begin) FROM tile WHERE segment = 1)",
		"DELETE FROM tile WHERE segment = 1 AND begin = 0",
		"UPDATE tile SET words = zeroblob(length(words))",
		"UPDATE tile SET kinds = 2",
		"UPDATE tile SET until = 1, since = 1",
		"UPDATE tile SET segment = segment + 100",
		"UPDATE tile SET words = (SELECT words FROM tile LIMIT 1)",
		"UPDATE tile SET sum = 'x'",
		"DROP TABLE tile",
		"DROP TABLE tile; CREATE VIEW tile AS SELECT 1 AS segment",
		"PRAGMA user_version = 2",
	};
	int dir = make_log(), folder = log_folder();
	char name[256];

	snprintf(name, sizeof(name), "%s", name_of(dir, folder));
	for (size_t i = 0; i < RF_LEN(changes); i++) {
		struct rf_index *index = NULL;

		rf_index_free(open_index(dir, folder));
		run_sql(name, changes[i]);
		RF_CHECK(rf_index_open(dir, folder, false, &index, &(struct rf_err){ 0 }) < 0, "%s",
			 changes[i]);
		survive(dir, folder, changes[i]);
		index = open_index(dir, folder);
		RF_CHECK(rf_index_count(index) >= 7, "%s: it is made anew", changes[i]);
		rf_index_free(index);
	}
	/* The end of it missing is no damage: it is as if the log had grown. */
	run_sql(name, "DELETE FROM tile WHERE segment > 1");
	survive(dir, folder, "without its end");
}

RF_TEST(a_record_that_was_changed_is_not_shown_and_the_index_put_aside)
{
	static struct answer answer;
	int dir = make_log(), folder = log_folder();
	struct rf_index *index = open_index(dir, folder);
	const struct rf_pick pick = { .agent = "agent3" };
	uint8_t *data, *at;
	size_t len;

	data = log_read(dir, 1, &len);
	at = memmem(data, len, "agent3", 6);
	RF_REQUIRE(at, "an event of that agent");
	for (const uint8_t *next;
	     (next = memmem(at + 1, len - (size_t)(at + 1 - data), "agent3", 6)) &&
	     next < data + len / 2;)
		at += next - at;
	at[-30] ^= 1; /* in the record, wherever */
	log_write(dir, 1, data, len);
	ask(dir, index, &pick, 0, &answer);
	RF_CHECK(answer.count < 1000 && answer.count + answer.changed >= 999, "%zu shown, %llu not",
		 answer.count, (unsigned long long)answer.changed);
	compare(dir, index, "of a log that was changed");
	ask(dir, index, &(struct rf_pick){ .box = "box-17" }, 0, &answer);
	rf_index_free(index);
	free(data);
}

RF_TEST(a_link_in_its_place_is_not_followed)
{
	int dir = make_log(), folder = log_folder(), other = log_folder();
	char name[256], target[256];
	struct rf_index *index = NULL;
	struct stat st;

	snprintf(name, sizeof(name), "%s", name_of(dir, folder));
	snprintf(target, sizeof(target), "%s", log_path(other, "precious"));
	RF_REQUIRE(symlink(target, name) == 0, "a link");
	if (rf_index_open(dir, folder, true, &index, &(struct rf_err){ 0 }) == 0)
		compare(dir, index, "a link");
	rf_index_free(index);
	RF_CHECK(stat(target, &st) < 0, "nothing was made behind it");
	write_file(target, "precious", 8);
	unlink(name);
	RF_REQUIRE(symlink(target, name) == 0, "a link");
	survive(dir, folder, "a link to a file");
	RF_CHECK(stat(target, &st) == 0 && st.st_size == 8, "and nothing was written to it");
}
