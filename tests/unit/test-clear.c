/* Trees that somebody else filled are taken away: src/workspace/clear.c. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "workspace/clear.h"

static char top[] = "/tmp/ringfort-clear-XXXXXX";

static void begin(void)
{
	RF_REQUIRE(mkdtemp(top) && chdir(top) == 0 && mkdir("tree", 0755) == 0, "no folder");
}

static void end(void)
{
	RF_CHECK(access("tree", F_OK) < 0, "it stays");
	RF_CHECK(chdir("/") == 0 && rf_clear(AT_FDCWD, top) == 0, "%s stays", top);
}

RF_TEST(a_tree_far_deeper_than_a_path_goes)
{
	begin();
	RF_REQUIRE(chdir("tree") == 0, "no tree");
	for (int i = 0; i < 3000; i++)
		RF_REQUIRE(mkdir("down", 0755) == 0 && chdir("down") == 0, "no folder");
	RF_REQUIRE(chdir(top) == 0, "no way back");
	RF_CHECK(rf_clear(AT_FDCWD, "tree") == 0, "it was not cleared");
	end();
}

RF_TEST(a_folder_without_permission_goes)
{
	begin();
	RF_REQUIRE(mkdir("tree/closed", 0755) == 0 && mkdir("tree/closed/in", 0755) == 0,
		   "no folder");
	RF_REQUIRE(chmod("tree/closed/in", 0) == 0 && chmod("tree/closed", 0) == 0, "no mode");
	/* Root could enter it anyway. */
	if (geteuid() == 0)
		RF_REQUIRE(chown(top, 12345, 12345) == 0 && chown("tree", 12345, 12345) == 0 &&
				   lchown("tree/closed", 12345, 12345) == 0 &&
				   lchown("tree/closed/in", 12345, 12345) == 0 &&
				   seteuid(12345) == 0,
			   "can't be another");
	RF_CHECK(rf_clear(AT_FDCWD, "tree") == 0, "it was not cleared");
	if (getuid() == 0)
		RF_REQUIRE(seteuid(0) == 0, "no way back");
	end();
}

RF_TEST(what_a_link_leads_to_stays)
{
	begin();
	RF_REQUIRE(mkdir("outside", 0755) == 0 &&
			   close(open("outside/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) == 0,
		   "no file");
	RF_REQUIRE(symlink("../outside", "tree/link") == 0 && symlink("outside", "alone") == 0,
		   "no link");
	RF_CHECK(rf_clear(AT_FDCWD, "tree") == 0 && rf_clear(AT_FDCWD, "alone") == 0,
		 "it was not cleared");
	RF_CHECK(access("outside/file", F_OK) == 0, "what the link leads to is gone");
	end();
}

RF_TEST(odd_names_go)
{
	begin();
	RF_REQUIRE(mkdir("tree/.deep-0", 0755) == 0 && mkdir("tree/\xff\xfe\n", 0755) == 0 &&
			   close(open("tree/.deep-0/-rf *", O_WRONLY | O_CREAT | O_CLOEXEC, 0)) ==
				   0 &&
			   mkfifo("tree/pipe", 0600) == 0,
		   "no files");
	RF_CHECK(rf_clear(AT_FDCWD, "tree") == 0, "it was not cleared");
	end();
}

RF_TEST(what_is_not_there_is_said)
{
	begin();
	RF_CHECK(rf_clear(AT_FDCWD, "none") < 0, "it was there");
	RF_CHECK(rf_clear(AT_FDCWD, "tree") == 0, "it was not cleared");
	end();
}
