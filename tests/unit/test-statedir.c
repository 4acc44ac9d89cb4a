/* $STATE: src/base/statedir.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/statedir.h"
#include "harness.h"

/* Where XDG_STATE_HOME counts: an ordinary user's. */
static void be_a_user(char *top)
{
	RF_REQUIRE(mkdtemp(top), "a folder");
	if (geteuid() == 0)
		RF_REQUIRE(chown(top, 12345, 12345) == 0 && setegid(12345) == 0 &&
				   seteuid(12345) == 0,
			   "be a user");
	setenv("XDG_STATE_HOME", top, 1);
}

/* The sanitizer's last look needs what the process began with. */
static void be_oneself(void)
{
	if (getuid() == 0)
		RF_CHECK(seteuid(0) == 0 && setegid(0) == 0, "be root again");
	prctl(PR_SET_DUMPABLE, 1);
}

RF_TEST(it_is_made_for_its_owner_alone)
{
	char top[] = "/tmp/ringfort-state-XXXXXX", path[4096], expected[4096];
	RF_AUTO_FD int in = -1, again = -1;
	struct stat st;

	be_a_user(top);
	RF_REQUIRE(rf_statedir_path(path, sizeof(path)), "a path");
	snprintf(expected, sizeof(expected), "%s/ringfort", top);
	RF_CHECK(strcmp(path, expected) == 0, "%s", path);
	RF_CHECK(rf_statedir_open(false) == -ENOENT, "it is not there yet");
	in = rf_statedir_open_in("audit", true);
	RF_REQUIRE(in >= 0 && fstat(in, &st) == 0, "%s", strerror(-in));
	RF_CHECK((st.st_mode & 0777) == 0700, "%o", st.st_mode);
	again = rf_statedir_open_in("audit", false);
	RF_CHECK(again >= 0, "it stays");
	RF_CHECK(chmod(path, 0750) == 0 && rf_statedir_open(false) == -EPERM, "others may look");
	chmod(path, 0700);
	snprintf(expected, sizeof(expected), "%s/audit", path);
	rmdir(expected);
	rmdir(path);
	RF_CHECK(symlink("/tmp", path) == 0 && rf_statedir_open(true) < 0, "a link");
	unlink(path);
	be_oneself();
	rmdir(top);
}

RF_TEST(a_relative_path_is_ignored)
{
	char path[4096];

	if (geteuid() == 0)
		RF_REQUIRE(seteuid(12345) == 0, "be a user");
	setenv("XDG_STATE_HOME", "relative", 1);
	RF_CHECK(!rf_statedir_path(path, sizeof(path)) || path[0] == '/', "%s", path);
	be_oneself();
}
