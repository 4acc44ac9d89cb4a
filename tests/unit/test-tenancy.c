/* Where the workspaces of a server's tenants lie: src/wire/tenancy.c. */
#include "wire/tenancy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

RF_TEST(a_name_is_one_folder)
{
	/* clang-format off */
	static const struct { const char *name; bool is_one; } cases[] = {
		{ "a", true }, { "A-b_9", true }, { "", false }, { ".", false }, { "..", false }, { ".a", false },
		{ "a/b", false }, { "-a", false }, { "_a", false }, { "a.b", false }, { "\xc3\xa4", false }, { "a b", false },
		{ "0123456789012345678901234567890123456789012345678901234567890123", false },
		{ "012345678901234567890123456789012345678901234567890123456789012", true },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_tenancy_is_name(cases[i].name) == cases[i].is_one, "%s", cases[i].name);
}

RF_TEST(what_is_one_tenants_is_not_anothers)
{
	char folder[] = "/tmp/ringfort-tenancy-XXXXXX";
	struct rf_err err = RF_ERR_INIT;
	int all, one;

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
		RF_SKIP("root's state is not to be written by a test");
	RF_REQUIRE(mkdtemp(folder), "a folder");
	setenv("XDG_STATE_HOME", folder, 1);
	RF_CHECK(rf_tenancy_open("acme", "x", &err) == -ENOENT && err.hint[0], "%s", err.msg);
	all = rf_tenancy_open_all("acme", true);
	RF_REQUIRE(all >= 0 && mkdirat(all, "x", 0700) == 0, "a workspace");
	RF_CHECK(symlinkat("x", all, "link") == 0, "a link");
	one = rf_tenancy_open("acme", "x", &err);
	RF_CHECK(one >= 0, "%s", err.msg);
	RF_CHECK(rf_tenancy_open("acme", "link", &err) < 0, "a link is none");
	RF_CHECK(rf_tenancy_open("other", "x", &err) == -ENOENT, "another tenant");
	RF_CHECK(rf_tenancy_open("..", "x", &err) == -ENOENT, "a tenant is no path");
	RF_CHECK(rf_tenancy_open("a/../acme", "x", &err) < 0, "nor has one");
	RF_CHECK(rf_tenancy_open("acme", "../t-acme/x", &err) == -ENOENT, "a name is no path");
	unlinkat(all, "link", 0);
	unlinkat(all, "x", AT_REMOVEDIR);
	close(one);
	close(all);
	{
		char path[256];
		static const char *const left[] = { "/ringfort/tenants/t-acme", "/ringfort/tenants",
						    "/ringfort", "" };

		for (size_t i = 0; i < RF_LEN(left); i++) {
			snprintf(path, sizeof(path), "%s%s", folder, left[i]);
			rmdir(path);
		}
	}
}

/* Who asks is another process, which does nothing else. */
static pid_t ask_all_the_time(const char *path)
{
	pid_t child = fork();

	if (child == 0) {
		int folder = rf_fd_open(path, O_RDONLY | O_DIRECTORY);

		for (;;)
			rf_tenancy_is_held(folder);
	}
	return child;
}

RF_TEST(who_asks_whether_one_is_held_keeps_nobody_from_it)
{
	char path[] = "/tmp/rf-tenancy-XXXXXX";
	RF_AUTO_FD int other = -1;
	RF_AUTO_FD int late = -1;
	int refused = 0;
	pid_t child;

	RF_REQUIRE(mkdtemp(path), "a folder");
	other = rf_fd_open(path, O_RDONLY | O_DIRECTORY);
	RF_CHECK(!rf_tenancy_is_held(other), "nobody");
	child = ask_all_the_time(path);
	for (int i = 0; i < 100000; i++) {
		int folder = rf_fd_open(path, O_RDONLY | O_DIRECTORY);

		refused += rf_tenancy_hold(folder) < 0;
		RF_CHECK(i > 0 || rf_tenancy_is_held(other), "a box");
		close(folder);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	RF_CHECK(refused == 0, "%d times", refused);
	RF_CHECK(!rf_tenancy_is_held(other), "nobody any more");
	RF_REQUIRE(flock(other, LOCK_EX | LOCK_NB) == 0, "alone");
	late = rf_fd_open(path, O_RDONLY | O_DIRECTORY);
	RF_CHECK(rf_tenancy_hold(late) == -EBUSY, "it is being removed");
	rmdir(path);
}
