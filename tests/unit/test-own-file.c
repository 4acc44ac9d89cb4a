/* Whose files are trusted: src/cli/own-file.c, slurp.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own-file.h"
#include "base/slurp.h"
#include "harness.h"

#define OTHER_UID 12346

static char top[64]; /* a fresh folder of ours below /tmp */

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
	RF_AUTO_FD int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	RF_REQUIRE(fd >= 0 && rf_fd_write(fd, text, strlen(text)) == 0, "%s", name);
	RF_REQUIRE(fchmod(fd, mode) == 0, "%s", name);
}

static void make_folder(const char *name, mode_t mode)
{
	RF_REQUIRE(mkdir(at(name), 0700) == 0 && chmod(at(name), mode) == 0, "%s", name);
}

/* Folders and files as people have them, and as others would like them to be. */
static void set_scene(void)
{
	snprintf(top, sizeof(top), "/tmp/rf-own-XXXXXX");
	RF_REQUIRE(mkdtemp(top), "no folder in /tmp");
	umask(0);
	make_folder("safe", 0755);
	make_folder("group", 0775);
	make_folder("world", 0777);
	make_folder("sticky", 01777);
	put("safe/file", "mine", 0644);
	put("safe/open", "mine", 0664);
	put("safe/wide", "mine", 0646);
	put("safe/empty", "", 0600);
	put("safe/big", "0123456789abcdef0", 0600);
	put("group/file", "mine", 0644);
	put("world/file", "mine", 0644);
	put("sticky/file", "mine", 0644);
	RF_REQUIRE(mkfifo(at("safe/fifo"), 0600) == 0, "fifo");
	RF_REQUIRE(symlink("file", at("safe/link")) == 0, "link");
	RF_REQUIRE(symlink("../group/file", at("safe/far")) == 0, "link");
	RF_REQUIRE(symlink("loop", at("safe/loop")) == 0, "link");
	RF_REQUIRE(symlink("nowhere", at("safe/dangling")) == 0, "link");
	RF_REQUIRE(symlink("safe", at("alias")) == 0, "link");
	RF_REQUIRE(symlink(top, at("safe/round")) == 0, "link");
}

static void clear_scene(void)
{
	static const char *const names[] = {
		"safe/file",  "safe/open",  "safe/wide",     "safe/empty", "safe/big",
		"group/file", "world/file", "sticky/file",   "safe/fifo",  "safe/link",
		"safe/far",   "safe/loop",  "safe/dangling", "alias",      "safe/round",
		"safe",       "group",      "world",         "sticky",     "",
	};

	for (size_t i = 0; i < RF_LEN(names); i++)
		if (unlink(at(names[i])) < 0)
			rmdir(at(names[i]));
}

static void check_read(const char *name, int code, const char *words, const char *hint)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };
	struct rf_err err = RF_ERR_INIT;
	int r = rf_own_file_read(at(name), 16, &text, &err);

	RF_CHECK(r == code, "%s: %d %s", name, r, err.msg);
	if (code == 0)
		RF_CHECK(text.data && strcmp(text.data, words) == 0, "%s: %s", name, text.data);
	else
		RF_CHECK(strstr(err.msg, words) && err.code == r, "%s: %s", name, err.msg);
	RF_CHECK(!hint || strstr(err.hint, hint), "%s: %s", name, err.hint);
}

static void check_scene(void)
{
	/* clang-format off */
	static const struct { const char *name; int code; const char *words, *hint; } cases[] = {
		{ "safe/file",           0,       "mine", NULL },
		{ "safe//./file",        0,       "mine", NULL },
		{ "safe/../safe/file",   0,       "mine", NULL },
		{ "safe/empty",          0,       "", NULL },
		{ "safe/link",           0,       "mine", NULL },
		{ "alias/link",          0,       "mine", NULL },
		{ "safe/round/safe/file", 0,      "mine", NULL },
		{ "sticky/file",         0,       "mine", NULL },
		{ "safe/nothing",        -ENOENT, "there is no", NULL },
		{ "nothing/file",        -ENOENT, "there is no", NULL },
		{ "safe/file/x",         -ENOENT, "there is no", NULL },
		{ "safe/dangling",       -ENOENT, "there is no", NULL },
		{ "safe/open",           -EPERM,  "/safe/open can be written by others (mode 0664)", "chmod go-w /tmp/" },
		{ "safe/wide",           -EPERM,  "(mode 0646)", "chmod go-w /tmp/" },
		{ "group/file",          -EPERM,  "/group can be written by others (mode 0775)", "/group" },
		{ "world/file",          -EPERM,  "/world can be written by others (mode 0777)", "/world" },
		{ "safe/far",            -EPERM,  "/group can be written by others", "/group" },
		{ "safe/loop",           -ELOOP,  "", NULL },
		{ "safe/fifo",           -EINVAL, "is not a plain file", "put a file there" },
		{ "safe",                -EISDIR, "is not a plain file", NULL },
		{ "safe/big",            -EFBIG,  "it is larger than 16 bytes", NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		check_read(cases[i].name, cases[i].code, cases[i].words, cases[i].hint);
}

RF_TEST(only_what_nobody_else_can_write_is_read)
{
	set_scene();
	check_scene();
	clear_scene();
}

RF_TEST(the_same_holds_for_an_ordinary_user)
{
	if (geteuid() == 0)
		RF_REQUIRE(setgid(OTHER_UID) == 0 && setuid(OTHER_UID) == 0, "drop");
	set_scene();
	check_scene();
	clear_scene();
}

RF_TEST(what_belongs_to_another_is_refused_wherever_it_stands_on_the_way)
{
	/* clang-format off */
	static const struct { const char *foreign, *read, *words; } cases[] = {
		{ "safe/file",   "safe/file",   "/safe/file belongs to uid 12346" },
		{ "safe",        "safe/file",   "/safe belongs to uid 12346" },
		{ "safe/link",   "safe/link",   "/safe/link belongs to uid 12346" },
		{ "safe/file",   "safe/link",   "/safe/file belongs to uid 12346" },
		{ "alias",       "alias/file",  "/alias belongs to uid 12346" },
		{ "sticky/file", "sticky/file", "/sticky/file belongs to uid 12346" },
		{ "sticky",      "sticky/file", "/sticky belongs to uid 12346" },
	};
	/* clang-format on */

	if (geteuid() != 0)
		RF_SKIP("only root can give a file away");
	set_scene();
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_REQUIRE(lchown(at(cases[i].foreign), OTHER_UID, OTHER_UID) == 0, "chown");
		check_read(cases[i].read, -EPERM, cases[i].words, "chown 0 /tmp/");
		RF_REQUIRE(lchown(at(cases[i].foreign), 0, 0) == 0, "chown");
	}
	clear_scene();
}

RF_TEST(a_file_of_roots_is_trusted_by_everyone)
{
	if (geteuid() != 0)
		RF_SKIP("needs a file of root's");
	set_scene();
	RF_REQUIRE(chmod(top, 0755) == 0, "chmod");
	RF_REQUIRE(seteuid(OTHER_UID) == 0, "drop");
	check_read("safe/file", 0, "mine", NULL);
	check_read("safe/empty", -EACCES, "can't read", NULL);
	check_read("group/file", -EPERM, "/group can be written by others", NULL);
	RF_REQUIRE(seteuid(0) == 0, "return");
	clear_scene();
}

RF_TEST(a_relative_path_is_refused)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };
	struct rf_err err = RF_ERR_INIT;

	RF_CHECK(rf_own_file_read("x", 16, &text, &err) == -EINVAL, "%s", err.msg);
	RF_CHECK(rf_own_file_read("", 16, &text, &err) == -EINVAL, "%s", err.msg);
}

RF_TEST(a_file_that_was_named_is_read_whoever_owns_it)
{
	RF_AUTO_BUF struct rf_buf text = { 0 };
	struct rf_err err = RF_ERR_INIT;

	set_scene();
	RF_CHECK(rf_slurp(at("world/file"), 4, &text, &err) == 0, "%s", err.msg);
	RF_CHECK(text.len == 4 && strcmp(text.data, "mine") == 0, "%s", text.data);
	rf_buf_done(&text);
	RF_CHECK(rf_slurp(at("world/file"), 3, &text, &err) == -EFBIG, "%s", err.msg);
	rf_buf_done(&text);
	RF_CHECK(rf_slurp(at("safe"), 3, &text, &err) == -EISDIR, "%s", err.msg);
	RF_CHECK(rf_slurp(at("safe/nothing"), 3, &text, &err) == -ENOENT, "%s", err.msg);
	RF_CHECK(rf_slurp(at("safe/fifo"), 3, &text, &err) == 0, "%s", err.msg);
	rf_buf_done(&text);
	clear_scene();
}
