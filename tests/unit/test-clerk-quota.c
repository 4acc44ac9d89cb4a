/* What lies in a tenant's folder, counted: src/server/clerk-quota.c. */
#include "server/clerk-quota.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/clear.h"

#define BLOCK (64 * 1024)

static int make_folder(char path[32])
{
	snprintf(path, 32, "/tmp/rf-quota-XXXXXX");
	RF_REQUIRE(mkdtemp(path), "a folder");
	return rf_fd_open(path, O_RDONLY | O_DIRECTORY);
}

static void take_away(const char *path)
{
	RF_AUTO_FD int tmp = rf_fd_open("/tmp", O_RDONLY | O_DIRECTORY);

	RF_CHECK(rf_clear(tmp, path + strlen("/tmp/")) == 0, "%s goes", path);
}

/* `len` bytes at the end of a file of `size`. */
static void write_file(int dir, const char *name, size_t len, off_t size)
{
	static const char bytes[BLOCK] = { 1 };
	RF_AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	RF_REQUIRE(fd >= 0 && ftruncate(fd, size) == 0, "%s", name);
	for (size_t at = 0; at < len; at += BLOCK)
		RF_REQUIRE(pwrite(fd, bytes, BLOCK, size - (off_t)len + (off_t)at) == BLOCK, "%s",
			   name);
}

static struct rf_tenancy_usage count(int dir)
{
	struct rf_tenancy_usage usage = { 0 };
	int code = rf_clerk_quota_count(dir, &usage);

	RF_CHECK(code == 0, "%s", strerror(-code));
	return usage;
}

RF_TEST(what_is_on_the_disk_counts_and_nothing_else)
{
	struct rf_tenancy_usage empty, usage;
	char path[32];
	RF_AUTO_FD int dir = make_folder(path);

	empty = count(dir);
	RF_CHECK(empty.files == 0, "%llu files", (unsigned long long)empty.files);
	write_file(dir, "holes", 0, 1L << 40);
	RF_CHECK(count(dir).bytes < BLOCK, "a hole takes nothing");
	write_file(dir, "tail", BLOCK, 1L << 40);
	usage = count(dir);
	RF_CHECK(usage.bytes >= BLOCK && usage.bytes < 3 * BLOCK, "its end does: %llu",
		 (unsigned long long)usage.bytes);
	RF_REQUIRE(mkdirat(dir, "links", 0700) == 0, "a folder");
	for (int i = 0; i < 3000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "links/%d", i);
		RF_REQUIRE(linkat(dir, "tail", dir, name, 0) == 0, "%s", name);
	}
	usage = count(dir);
	RF_CHECK(usage.files == 3003 && usage.bytes < 8 * BLOCK,
		 "one file of many names: %llu in %llu", (unsigned long long)usage.bytes,
		 (unsigned long long)usage.files);
	RF_REQUIRE(symlinkat("/", dir, "out") == 0, "a link");
	RF_CHECK(count(dir).files == 3004, "a link is followed nowhere");
	take_away(path);
}

RF_TEST(a_folder_that_is_shut_hides_nothing_and_stays_shut)
{
	struct stat st;
	char path[32];
	RF_AUTO_FD int dir = make_folder(path);

	RF_REQUIRE(mkdirat(dir, "shut", 0700) == 0 && mkdirat(dir, "shut/in", 0700) == 0,
		   "folders");
	write_file(dir, "shut/in/file", BLOCK, BLOCK);
	RF_REQUIRE(fchmodat(dir, "shut/in", 0, 0) == 0 && fchmodat(dir, "shut", 0400, 0) == 0,
		   "shut");
	RF_CHECK(count(dir).files == 3 && count(dir).bytes >= BLOCK, "it is counted");
	RF_CHECK(fstatat(dir, "shut", &st, 0) == 0 && (st.st_mode & 07777) == 0400, "%o",
		 st.st_mode);
	take_away(path);
}

/* A chain of folders, and a file at its end; gives what lies at `depth`. */
static int make_chain(int dir, int depth)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);

	for (int i = 0; i < depth; i++) {
		int next;

		RF_REQUIRE(mkdirat(at, "d", 0700) == 0, "folder %d", i);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		write_file(at, "e", 0, 0); /* beside it: what is above is gone back to */
		close(at);
		at = next;
	}
	RF_REQUIRE(at >= 0, "a chain");
	return at;
}

RF_TEST(how_deep_folders_are_nested_does_not_matter)
{
	struct rlimit few, before;
	char path[32];
	RF_AUTO_FD int dir = make_folder(path);
	RF_AUTO_FD int end = make_chain(dir, 3000);

	write_file(end, "file", BLOCK, BLOCK);
	RF_REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0, "a limit");
	few = (struct rlimit){ 128, before.rlim_max };
	RF_REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0, "few descriptors");
	RF_CHECK(count(dir).files == 6001, "%llu", (unsigned long long)count(dir).files);
	RF_CHECK(count(dir).bytes >= BLOCK, "the file at the end");
	setrlimit(RLIMIT_NOFILE, &before);
	take_away(path);
}

RF_TEST(a_deep_folder_that_is_shut_hides_nothing_and_stays_shut)
{
	struct stat st;
	char path[32];
	RF_AUTO_FD int dir = make_folder(path);
	RF_AUTO_FD int end = make_chain(dir, 200);
	RF_AUTO_FD int below = -1;

	RF_REQUIRE(mkdirat(end, "shut", 0700) == 0, "a folder");
	below = openat(end, "shut", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(make_chain(below, 3));
	RF_REQUIRE(fchmod(below, 0) == 0, "shut");
	RF_CHECK(count(dir).files == 407, "%llu", (unsigned long long)count(dir).files);
	RF_CHECK(fstat(below, &st) == 0 && (st.st_mode & 07777) == 0, "%o", st.st_mode);
	take_away(path);
}

/* Whether there is room for another workspace, by a count that is made now. */
static bool has_room(int all)
{
	const struct rf_clerk_asker who = { .sums = { .storage = 4 * BLOCK } };
	const struct timespec long_ago[2] = { { 1, 0 }, { 1, 0 } };
	struct rf_err err = RF_ERR_INIT;
	int code;

	utimensat(all, RF_TENANCY_USAGE, long_ago, 0);
	code = rf_clerk_quota_check(&who, all, &err);
	RF_CHECK(code == 0 || code == -EDQUOT, "%s", err.msg);
	return code == 0;
}

RF_TEST(less_counts_when_it_is_found_twice_while_a_box_is_at_work)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	struct rf_tenancy_usage freed = { 8 * BLOCK, 1 };
	char path[32];
	RF_AUTO_FD int all = make_folder(path);
	RF_AUTO_FD int used = rf_tenancy_open_used(all);

	RF_REQUIRE(used >= 0 && fcntl(used, F_OFD_SETLK, &lock) == 0, "a box");
	RF_CHECK(has_room(all), "there is nothing yet");
	write_file(all, "file", 8 * BLOCK, 8 * BLOCK);
	RF_CHECK(!has_room(all), "more counts at once");
	unlinkat(all, "file", 0);
	RF_CHECK(!has_room(all), "it may have been moved to where it was not seen");
	RF_CHECK(has_room(all), "twice");
	write_file(all, "file", 8 * BLOCK, 8 * BLOCK);
	RF_CHECK(!has_room(all), "more again");
	unlinkat(all, "file", 0);
	rf_clerk_quota_again(all, &freed);
	RF_CHECK(has_room(all), "what the clerk itself took away is known to be gone");
	write_file(all, "file", 8 * BLOCK, 8 * BLOCK);
	RF_CHECK(!has_room(all), "more once more");
	unlinkat(all, "file", 0);
	lock.l_type = F_UNLCK;
	RF_REQUIRE(fcntl(used, F_OFD_SETLK, &lock) == 0, "the box has gone");
	RF_CHECK(has_room(all), "and nobody moves anything");
	take_away(path);
}
