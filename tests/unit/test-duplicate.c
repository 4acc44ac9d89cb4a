/* A layer copied as it is: src/workspace/duplicate.c. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/clear.h"
#include "workspace/duplicate.h"

static char top[] = "/var/tmp/ringfort-duplicate-XXXXXX";

static void begin(void)
{
	RF_REQUIRE(mkdtemp(top) && chdir(top) == 0, "no folder");
	if (geteuid() == 0) /* who could enter everything */
		RF_REQUIRE(chown(top, 12345, 12345) == 0 && seteuid(12345) == 0,
			   "can't be another");
	RF_REQUIRE(mkdir("from", 0755) == 0 && mkdir("to", 0755) == 0, "no folders");
}

static void end(void)
{
	RF_CHECK(chdir("/") == 0 && (getuid() != 0 || seteuid(0) == 0), "no way back");
	RF_CHECK(rf_clear(AT_FDCWD, top) == 0, "%s stays", top);
}

static void write_file(const char *path, mode_t mode)
{
	RF_AUTO_FD int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	RF_REQUIRE(file >= 0 && rf_fd_write(file, "text\n", 5) == 0 && fchmod(file, mode) == 0,
		   "no %s", path);
}

static int duplicate(bool with_sockets)
{
	RF_AUTO_FD int from = rf_fd_open("from", O_RDONLY | O_DIRECTORY);
	RF_AUTO_FD int to = rf_fd_open("to", O_RDONLY | O_DIRECTORY);

	return rf_duplicate(from, to, with_sockets);
}

RF_TEST(names_of_one_file_stay_that)
{
	struct stat one, other;

	begin();
	write_file("from/one", 0644);
	RF_REQUIRE(mkdir("from/in", 0755) == 0 && link("from/one", "from/in/other") == 0,
		   "no link");
	RF_CHECK(duplicate(false) == 0, "not copied");
	RF_CHECK(stat("to/one", &one) == 0 && stat("to/in/other", &other) == 0 &&
			 one.st_ino == other.st_ino && one.st_nlink == 2,
		 "they are two files");
	end();
}

RF_TEST(what_is_closed_is_copied_and_stays_closed)
{
	static const char *const paths[] = { "from/shut", "to/shut" };
	struct stat st;

	begin();
	RF_REQUIRE(mkdir("from/shut", 0755) == 0, "no folder");
	write_file("from/shut/file", 0);
	RF_REQUIRE(chmod("from/shut", 0) == 0, "no mode");
	RF_CHECK(duplicate(false) == 0, "not copied");
	for (size_t i = 0; i < RF_LEN(paths); i++)
		RF_CHECK(stat(paths[i], &st) == 0 && (st.st_mode & 07777) == 0, "%s is open",
			 paths[i]);
	RF_REQUIRE(chmod("to/shut", 0700) == 0 && chmod("from/shut", 0700) == 0, "no mode");
	RF_CHECK(stat("to/shut/file", &st) == 0 && (st.st_mode & 07777) == 0 && st.st_size == 5,
		 "the file is another");
	RF_CHECK(stat("from/shut/file", &st) == 0 && (st.st_mode & 07777) == 0, "it is open now");
	end();
}

RF_TEST(overlayfs_finds_its_notes)
{
	struct stat st;
	char mark[2];

	begin();
	RF_REQUIRE(mkdir("from/hides", 0755) == 0 &&
			   setxattr("from/hides", "user.overlay.opaque", "y", 1, 0) == 0 &&
			   mknod("from/gone", S_IFCHR | 0600, makedev(0, 0)) == 0,
		   "no notes");
	RF_REQUIRE(mknod("from/socket", S_IFSOCK | 0600, 0) == 0, "no socket");
	RF_CHECK(duplicate(false) == 0, "not copied");
	RF_CHECK(getxattr("to/hides", "user.overlay.opaque", mark, sizeof(mark)) == 1 &&
			 mark[0] == 'y',
		 "the folder hides nothing");
	RF_CHECK(stat("to/gone", &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == 0,
		 "the whiteout is none");
	RF_CHECK(access("to/socket", F_OK) < 0, "a socket that was not wanted");
	end();
}

RF_TEST(a_tree_deeper_than_a_path_and_than_descriptors_is_copied)
{
	begin();
	RF_REQUIRE(chdir("from") == 0, "no tree");
	for (int i = 0; i < 3000; i++)
		RF_REQUIRE(mkdir("down", 0755) == 0 && chdir("down") == 0, "no folder");
	write_file("bottom", 0644);
	RF_REQUIRE(chdir(top) == 0 && duplicate(true) == 0 && chdir("to") == 0, "not copied");
	for (int i = 0; i < 3000; i++)
		RF_REQUIRE(chdir("down") == 0, "it ends after %d", i);
	RF_CHECK(access("bottom", R_OK) == 0, "the file is not there");
	RF_REQUIRE(chdir(top) == 0, "no way back");
	end();
}

RF_TEST(a_folder_keeps_its_times)
{
	const struct timespec times[2] = { { 1, 0 }, { 981173106, 123456789 } };
	struct stat st;

	begin();
	RF_REQUIRE(mkdir("from/old", 0755) == 0, "no folder");
	write_file("from/old/file", 0644);
	RF_REQUIRE(utimensat(AT_FDCWD, "from/old", times, 0) == 0, "no time");
	RF_CHECK(duplicate(false) == 0, "not copied");
	RF_CHECK(stat("to/old", &st) == 0 && st.st_mtim.tv_sec == 981173106, "its time is %lld",
		 (long long)st.st_mtim.tv_sec);
	end();
}
