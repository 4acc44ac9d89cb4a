/* What an ordinary user closed to himself: src/workspace/closed.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/clear.h"
#include "workspace/closed.h"

static char top[] = "/var/tmp/ringfort-closed-XXXXXX";

/* As an ordinary user: a folder and a file that are closed, and one of somebody else's where there is one. */
static void begin(void)
{
	RF_REQUIRE(mkdtemp(top) && chdir(top) == 0, "no folder");
	if (geteuid() == 0) {
		RF_REQUIRE(mkdir("others", 0700) == 0 && chown(top, 12345, 12345) == 0 &&
				   setresgid(12345, 12345, 12345) == 0 &&
				   setresuid(12345, 12345, 12345) == 0 &&
				   prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0,
			   "can't be another");
	}
	RF_REQUIRE(mkdir("shut", 0700) == 0 && mkdir("shut/in", 0) == 0 && chmod("shut", 0) == 0,
		   "no closed folder");
	RF_REQUIRE(mkdir("listed", 0600) == 0, "no folder that can't be entered");
}

static void end(void)
{
	RF_CHECK(chdir("/") == 0 && rf_clear(AT_FDCWD, top) == 0, "%s stays", top);
}

RF_TEST(a_closed_folder_is_read_and_stays_as_it_is)
{
	RF_AUTO_FD int shut = -1, in = -1, listed = -1;
	struct stat st;

	begin();
	shut = rf_closed_open(AT_FDCWD, "shut", O_RDONLY | O_DIRECTORY);
	if (shut == -EACCES)
		RF_SKIP("no user namespaces here");
	RF_REQUIRE(shut >= 0, "%s", strerror(-shut));
	in = rf_closed_open(shut, "in", O_RDONLY | O_DIRECTORY);
	listed = rf_closed_open(AT_FDCWD, "listed", O_RDONLY | O_DIRECTORY);
	RF_CHECK(in >= 0 && listed >= 0, "one opened, and not the next");
	RF_CHECK(stat("shut", &st) == 0 && (st.st_mode & 07777) == 0, "its mode is %o",
		 st.st_mode & 07777u);
	RF_CHECK(st.st_uid == geteuid(), "it is somebody else's: %u", st.st_uid);
	end();
}

RF_TEST(what_could_not_be_written_to_still_can_not)
{
	RF_AUTO_FD int shut = -1;

	begin();
	shut = rf_closed_open(AT_FDCWD, "shut", O_RDONLY | O_DIRECTORY);
	if (shut == -EACCES)
		RF_SKIP("no user namespaces here");
	RF_CHECK(mkdirat(shut, "new", 0700) < 0 && errno == EACCES, "made: %s", strerror(errno));
	RF_CHECK(unlinkat(shut, "in", AT_REMOVEDIR) < 0 && errno == EACCES, "removed: %s",
		 strerror(errno));
	end();
}

RF_TEST(what_is_somebody_elses_stays_closed)
{
	RF_AUTO_FD int shut = -1;

	begin();
	if (access("others", F_OK) < 0)
		RF_SKIP("nobody else is here");
	RF_CHECK(rf_closed_open(AT_FDCWD, "others", O_RDONLY | O_DIRECTORY) == -EACCES, "opened");
	shut = rf_closed_open(AT_FDCWD, "shut", O_RDONLY | O_DIRECTORY);
	RF_CHECK(shut >= 0 || shut == -EACCES, "%s", strerror(-shut));
	RF_CHECK(rf_closed_open(AT_FDCWD, "others", O_RDONLY | O_DIRECTORY) == -EACCES,
		 "opened afterwards");
	RF_CHECK(rf_closed_open(AT_FDCWD, "none", O_RDONLY) == -ENOENT, "something is there");
	RF_CHECK(symlink("listed", "link") == 0 &&
			 rf_closed_open(AT_FDCWD, "link", O_RDONLY) == -ELOOP,
		 "a link is followed");
	end();
}

RF_TEST(modes_say_what_is_open)
{
	RF_CHECK(!rf_closed_is(S_IFREG | 0400) && rf_closed_is(S_IFREG | 0277), "files");
	RF_CHECK(!rf_closed_is(S_IFDIR | 0500) && rf_closed_is(S_IFDIR | 0600) &&
			 rf_closed_is(S_IFDIR | 0377),
		 "folders");
}
