/* What is in a file, whatever its holes: src/workspace/content.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/content.h"

#define SIZE ((off_t)3 << 20)

/* A file of this size without a name. */
static int make(off_t size)
{
	char path[] = "/tmp/ringfort-content-XXXXXX";
	int file = mkostemp(path, O_CLOEXEC);

	RF_REQUIRE(file >= 0 && unlink(path) == 0 && ftruncate(file, size) == 0, "no file: %s",
		   strerror(errno));
	return file;
}

static void put(int file, const void *data, size_t len, off_t at)
{
	RF_REQUIRE(pwrite(file, data, len, at) == (ssize_t)len, "can't write: %s", strerror(errno));
}

/* Both ways of comparing have to agree. */
static void expect(int one, int two, bool is_same, const char *what)
{
	uint8_t a[RF_SHA256_BYTES], b[RF_SHA256_BYTES];

	RF_REQUIRE(rf_content_hash(one, a) == 0 && rf_content_hash(two, b) == 0, "no hash");
	RF_CHECK((memcmp(a, b, sizeof(a)) == 0) == is_same, "by hash: %s", what);
	RF_CHECK(rf_content_is_same(one, two) == is_same, "by bytes: %s", what);
	RF_CHECK(rf_content_is_same(two, one) == is_same, "by bytes, the other way: %s", what);
}

RF_TEST(a_hole_and_zeros_that_were_written_are_the_same)
{
	static const char zeros[1 << 20];
	RF_AUTO_FD int holes = make(SIZE);
	RF_AUTO_FD int written = make(SIZE);

	expect(holes, written, true, "two holes");
	put(written, zeros, sizeof(zeros), 5000);
	expect(holes, written, true, "zeros in the middle");
	put(written, "x", 1, 2000000);
	expect(holes, written, false, "a letter");
	put(holes, "x", 1, 2000000);
	expect(holes, written, true, "the same letter");
	put(holes, "", 1, 2000000);
	put(holes, "x", 1, 2000000 + 8192);
	expect(holes, written, false, "the letter elsewhere");
}

RF_TEST(the_size_counts)
{
	RF_AUTO_FD int small = make(SIZE);
	RF_AUTO_FD int large = make(SIZE + 1);
	RF_AUTO_FD int empty = make(0);
	RF_AUTO_FD int other = make(0);

	expect(small, large, false, "one byte more");
	expect(empty, small, false, "empty");
	expect(empty, other, true, "both empty");
}

RF_TEST(a_tail_that_fills_no_block_counts)
{
	RF_AUTO_FD int one = make(0);
	RF_AUTO_FD int two = make(0);

	put(one, "0123456789", 10, 300000);
	put(two, "0123456789", 10, 300000);
	expect(one, two, true, "the same tail");
	put(two, "!", 1, 300009);
	expect(one, two, false, "another last letter");
}

RF_TEST(what_is_nearly_all_hole_is_read_at_once)
{
	RF_AUTO_FD int one = make((off_t)1 << 42);
	RF_AUTO_FD int two = make((off_t)1 << 42);

	alarm(20);
	put(one, "x", 1, (off_t)1 << 41);
	put(two, "x", 1, (off_t)1 << 41);
	expect(one, two, true, "four terabytes");
}
