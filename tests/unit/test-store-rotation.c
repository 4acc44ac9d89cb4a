/*
 * A rotation of the audit log in which a call fails, each one in turn: src/audit/store.c,
 * store-old.c, segment.c.
 *
 * Whatever fails, the log is whole afterwards, has every record that was acknowledged, and goes on;
 * or the store says that it is dead, and the log that lies there is whole all the same.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/digest.h"
#include "audit/sign.h"
#include "base/fd.h"
#include "harness.h"
#include "log-maker.h"

/* The call that fails: counted while `is_counting`; 0: none. */
static unsigned calls, fails_at;
static bool is_counting, fails_on; /* and so does each one behind it */

static bool does_fail(void)
{
	if (!is_counting)
		return false;
	calls++;
	if (fails_at == 0 || calls < fails_at || (calls > fails_at && !fails_on))
		return false;
	errno = EIO;
	return true;
}

/* A disk that is full takes a part. */
static int write_part(int fd, const void *data, size_t len)
{
	if (!does_fail())
		return rf_fd_write(fd, data, len);
	rf_fd_write(fd, data, len / 2);
	return -ENOSPC;
}

static int fail_sign(struct rf_err *err)
{
	return rf_fail_say(err, -EIO, "no signature");
}

#define openat(...)    (does_fail() ? -1 : openat(__VA_ARGS__))
#define unlinkat(...)  (does_fail() ? -1 : unlinkat(__VA_ARGS__))
#define ftruncate(...) (does_fail() ? -1 : ftruncate(__VA_ARGS__))
#define lseek(...)     (does_fail() ? -1 : lseek(__VA_ARGS__))
#define fdatasync(fd)  (does_fail() ? -1 : fdatasync(fd))
#define fsync(fd)      (does_fail() ? -1 : fsync(fd))
#define fstat(...)     (does_fail() ? -1 : fstat(__VA_ARGS__))
#define fstatat(...)   (does_fail() ? -1 : fstatat(__VA_ARGS__))
#define mmap(...)      (does_fail() ? MAP_FAILED : mmap(__VA_ARGS__))
#define fdopendir(fd)  (does_fail() ? NULL : fdopendir(fd))
#define realloc(...)   (does_fail() ? NULL : realloc(__VA_ARGS__))
#define rf_fd_write    write_part
#define rf_digest(...) (does_fail() ? -1 : rf_digest(__VA_ARGS__))
#define rf_sign(key, head, signature, err)                                                         \
	(does_fail() ? fail_sign(err) : rf_sign(key, head, signature, err))
#include "audit/segment.c"
#include "audit/store-old.c"
#include "audit/store.c"
#undef openat

#define SMALL 2048

static struct rf_store *open_store(int dir)
{
	const struct rf_store_options options = { .dir = dir,
						  .segment_bytes = SMALL,
						  .keep_bytes = 3ull * SMALL };
	struct rf_err err = RF_ERR_INIT;
	struct rf_store *store = NULL;

	RF_REQUIRE(rf_store_open(&options, &store, &err) == 0, "%s", err.msg);
	return store;
}

/* Records until the next look at the log begins a file; the number of the last one. */
static uint64_t fill(struct rf_store *store)
{
	uint64_t seq = 0;

	while (store->size < SMALL)
		seq = log_add(store, 1);
	return seq;
}

static void check_log(int dir, uint64_t last, const char *when)
{
	struct rf_verify verify = log_verify(dir, NULL);

	RF_CHECK(verify.is_good, "call %u fails, %s: %s", fails_at, when, verify.what);
	RF_CHECK(verify.last_seq >= last, "call %u fails, %s: %llu of %llu records", fails_at, when,
		 (unsigned long long)verify.last_seq, (unsigned long long)last);
}

/* A store that lives goes on by itself, also over the next files; a dead one says so. */
static uint64_t go_further(struct rf_store *store, uint64_t last)
{
	struct rf_err err = RF_ERR_INIT;
	uint64_t seq;

	if (store->is_dead) {
		RF_CHECK(rf_store_add(store, "x", 1, &seq, &err) == -EIO &&
				 strstr(err.msg, "any more") && err.hint[0],
			 "call %u fails: %s", fails_at, err.msg);
		RF_CHECK(rf_store_tend(store, &err) == -EIO, "call %u fails: no word", fails_at);
		RF_CHECK(rf_store_sign(store, &err) == -EIO, "call %u fails: no word", fails_at);
		return last;
	}
	for (int i = 0; i < 3; i++) {
		last = log_add(store, 2);
		last = store->size < SMALL ? fill(store) : last;
		RF_CHECK(rf_store_tend(store, &err) == 0, "call %u fails, later: %s", fails_at,
			 err.msg);
	}
	return last;
}

/* True if there was such a call. */
static bool rotate_with_fault(unsigned number, bool are_all_behind, unsigned *dead)
{
	int dir = log_folder();
	struct rf_store *store = open_store(dir);
	struct rf_err err = RF_ERR_INIT;
	uint64_t last;
	bool has_failed, was_dead;

	for (int i = 0; i < 4; i++) { /* so that there are old files which have to go */
		fill(store);
		RF_REQUIRE(rf_store_tend(store, &err) == 0, "%s", err.msg);
	}
	last = fill(store);
	fails_at = number;
	fails_on = are_all_behind;
	calls = 0;
	is_counting = true;
	rf_store_tend(store, &err);
	is_counting = false;
	has_failed = calls >= number;
	was_dead = store->is_dead;
	*dead += was_dead;
	check_log(dir, last, "at once");
	last = go_further(store, last);
	check_log(dir, last, "later");
	rf_store_close(store, "test");
	check_log(dir, last, "closed");
	store = open_store(dir); /* as a watcher that is started anew does */
	/* What a dead one left of a batch is cut off then. */
	RF_CHECK(was_dead || !rf_store_found(store)[0], "call %u fails: %s", fails_at,
		 rf_store_found(store));
	last = go_further(store, last);
	rf_store_close(store, "test");
	check_log(dir, last, "anew");
	close(dir);
	return has_failed;
}

RF_TEST(a_rotation_in_which_one_call_fails_leaves_the_log_whole)
{
	unsigned number = 1, dead = 0;

	while (number < 200 && rotate_with_fault(number, false, &dead))
		number++;
	RF_CHECK(number > 20 && number < 200, "%u calls", number);
	RF_CHECK(dead == 0, "%u times it was given up", dead);
}

RF_TEST(one_in_which_all_that_follows_fails_too_is_whole_or_dead)
{
	unsigned number = 1, dead = 0;

	while (number < 200 && rotate_with_fault(number, true, &dead))
		number++;
	RF_CHECK(number > 20 && number < 200, "%u calls", number);
	RF_CHECK(dead > 0, "a file that can't be removed is not noticed");
}
