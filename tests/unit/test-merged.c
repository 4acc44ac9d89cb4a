/* The tree that a stack of layers shows: src/workspace/merged.c. */
#include "workspace/merged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/clear.h"

static char top[] = "/tmp/ringfort-merged-XXXXXX";
static struct rf_stack stack;

static void put(const char *path)
{
	FILE *file = fopen(path, "w");

	RF_REQUIRE(file && fputs(path, file) >= 0 && fclose(file) == 0, "can't write %s", path);
}

/* Three layers: `a` over `b` over `c`. */
static void begin(void)
{
	static const char *const folders[] = { "a",   "b",      "c",      "a/d",    "b/d",
					       "c/d", "c/gone", "a/wall", "b/wall", "c/wall" };
	struct rf_err err;

	RF_REQUIRE(mkdtemp(top) && chdir(top) == 0, "no folder");
	for (size_t i = 0; i < RF_LEN(folders); i++)
		RF_REQUIRE(mkdir(folders[i], 0755) == 0, "no folder %s", folders[i]);
	put("a/d/one");
	put("b/d/one");
	put("b/d/two");
	put("c/d/three");
	put("c/gone/file");
	put("b/wall/shown");
	put("c/wall/hidden");
	RF_REQUIRE(mknod("b/gone", S_IFCHR, makedev(0, 0)) == 0 &&
			   mknod("a/d/two", S_IFCHR, makedev(0, 0)) == 0,
		   "no whiteout: %s", strerror(errno));
	RF_REQUIRE(symlink("/etc", "b/link") == 0, "no link");
	if (setxattr("b/wall", "user.overlay.opaque", "y", 1, 0) < 0)
		RF_SKIP("no user attributes in /tmp: %s", strerror(errno));
	for (const char *name = "abc"; *name; name++) {
		const char folder[] = { *name, '\0' };

		RF_REQUIRE(rf_stack_add(&stack, open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
					(uint64_t)*name, &err) == 0,
			   "no stack");
	}
}

static void end(void)
{
	rf_stack_done(&stack);
	RF_CHECK(chdir("/") == 0 && rf_clear(AT_FDCWD, top) == 0, "%s stays", top);
}

/* The names in a folder with a blank behind each, or the error. */
static const char *names_in(const char *path)
{
	static char text[256];
	struct rf_merged above = { 0 }, folder = { 0 };
	struct rf_merged_names names = { 0 };
	char name[NAME_MAX + 1];
	int code = rf_merged_find(&stack, path, &above, name), len = 0;

	if (code == 0 && name[0])
		code = rf_merged_enter(&above, name, &folder);
	if (code == 0)
		code = rf_merged_list(name[0] ? &folder : &above, &names);
	text[0] = '\0';
	for (size_t i = 0; i < names.count; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s ", names.items[i]);
	if (code < 0)
		snprintf(text, sizeof(text), "%s", rf_err_name(code));
	rf_merged_names_done(&names);
	rf_merged_done(&folder);
	rf_merged_done(&above);
	return text;
}

RF_TEST(folders_show_what_overlayfs_would)
{
	/* clang-format off */
	static const struct { const char *path, *names; } cases[] = {
		{ "", "d link wall " },       { ".", "d link wall " },      { "./", "d link wall " },
		{ "d", "one three " },        { "d/", "one three " },       { ".//d/.", "one three " },
		{ "wall", "shown " },         { "gone", "ENOENT" },         { "gone/file", "ENOENT" },
		{ "link", "ELOOP" },          { "link/ssh", "ELOOP" },      { "d/one", "ENOTDIR" },
		{ "d/one/x", "ENOTDIR" },     { "/etc", "EINVAL" },         { "..", "EINVAL" },
		{ "d/..", "EINVAL" },         { "d/../d", "EINVAL" },       { "none/x", "ENOENT" },
		{ "...", "ENOENT" },
	};
	/* clang-format on */

	begin();
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *found = names_in(cases[i].path);

		RF_CHECK(strcmp(found, cases[i].names) == 0, "`%s`: %s", cases[i].path, found);
	}
	end();
}

/* What the file of this path holds, or the error. */
static const char *content_of(const char *path)
{
	static char text[64];
	struct rf_merged folder = { 0 };
	char name[NAME_MAX + 1];
	int code = rf_merged_find(&stack, path, &folder, name);
	RF_AUTO_FD int file = code == 0 ? rf_merged_open(&folder, name) : code;
	ssize_t len = file < 0 ? 0 : rf_fd_read(file, text, sizeof(text) - 1);

	text[len > 0 ? len : 0] = '\0';
	if (file < 0)
		snprintf(text, sizeof(text), "%s", rf_err_name(file));
	rf_merged_done(&folder);
	return text;
}

RF_TEST(files_are_those_of_the_topmost_layer)
{
	/* clang-format off */
	static const struct { const char *path, *content; } cases[] = {
		{ "d/one", "a/d/one" },      { "d/two", "ENOENT" },      { "d/three", "c/d/three" },
		{ "wall/hidden", "ENOENT" }, { "wall/shown", "b/wall/shown" },
		{ "link", "EINVAL" },        { "d", "EINVAL" },          { "link/passwd", "ELOOP" },
	};
	/* clang-format on */

	begin();
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *found = content_of(cases[i].path);

		RF_CHECK(strcmp(found, cases[i].content) == 0, "`%s`: %s", cases[i].path, found);
	}
	end();
}

RF_TEST(a_name_that_no_file_can_have_is_refused)
{
	char path[NAME_MAX + 3];

	begin();
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	RF_CHECK(strcmp(names_in(path), "ENAMETOOLONG") == 0, "taken");
	path[NAME_MAX] = '\0';
	RF_CHECK(strcmp(names_in(path), "ENOENT") == 0, "not looked for");
	end();
}
