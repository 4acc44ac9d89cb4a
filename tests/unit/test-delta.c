/* What changes from one stack of layers to another: src/workspace/delta.c. */
#include <errno.h>
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
#include "workspace/delta.h"

static char top[] = "/tmp/ringfort-delta-XXXXXX";
static struct rf_stack before, after;

static void begin(void)
{
	RF_REQUIRE(mkdtemp(top) && chdir(top) == 0, "no folder");
	for (const char *name = "abcd"; *name; name++) {
		const char folder[] = { *name, '\0' };

		RF_REQUIRE(mkdir(folder, 0755) == 0, "no layer");
	}
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	RF_REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "can't write %s", path);
}

static void whiteout(const char *path)
{
	RF_REQUIRE(mknod(path, S_IFCHR, makedev(0, 0)) == 0, "no whiteout: %s", strerror(errno));
}

static void opaque(const char *path)
{
	RF_REQUIRE(setxattr(path, "user.overlay.opaque", "y", 1, 0) == 0, "no attribute: %s",
		   strerror(errno));
}

/* A stack of folders by their letters, from the top down. */
static void open_stack(const char *letters, struct rf_stack *stack)
{
	struct rf_err err;

	*stack = (struct rf_stack){ 0 };
	for (; *letters; letters++) {
		const char folder[] = { *letters, '\0' };

		RF_REQUIRE(rf_stack_add(stack, open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
					(uint64_t)*letters, &err) == 0,
			   "no stack");
	}
}

/* Compares the two, and writes each change as "kind path;". */
static const char *compare(const char *old, const char *new)
{
	static char text[4096];
	struct rf_err err = RF_ERR_INIT;
	struct rf_delta delta;
	int len = 0;

	open_stack(old, &before);
	open_stack(new, &after);
	text[0] = '\0';
	if (rf_delta_find(&before, &after, &delta, &err) < 0)
		len = snprintf(text, sizeof(text), "failed: %s;", err.msg);
	for (size_t i = 0; i < delta.count; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s %s;",
				rf_change_name(delta.changes[i].kind), delta.changes[i].path);
	rf_delta_done(&delta);
	rf_stack_done(&before);
	rf_stack_done(&after);
	return text;
}

static void end(void)
{
	RF_CHECK(chdir("/") == 0 && rf_clear(AT_FDCWD, top) == 0, "%s stays", top);
}

static void expect(const char *old, const char *new, const char *changes)
{
	const char *found = compare(old, new);

	RF_CHECK(strcmp(found, changes) == 0, "from %s to %s: %s", old, new, found);
}

RF_TEST(names_that_come_and_go)
{
	begin();
	put("a/same", "x");
	put("a/gone", "x");
	put("a/other", "x");
	put("b/new", "y");
	put("b/other", "y");
	whiteout("b/gone");
	whiteout("b/never");
	expect("a", "ba", "deleted gone;added new;changed other;");
	expect("ba", "a", "added gone;deleted new;changed other;");
	expect("ba", "ba", "");
	end();
}

RF_TEST(what_was_taken_up_and_left_as_it_was_is_no_change)
{
	begin();
	put("a/file", "the same");
	put("b/file", "the same");
	RF_REQUIRE(symlink("there", "a/link") == 0 && symlink("there", "b/link") == 0, "no link");
	expect("a", "ba", "");
	RF_REQUIRE(chmod("b/file", 0600) == 0 && unlink("b/link") == 0 &&
			   symlink("elsewhere", "b/link") == 0,
		   "no change");
	expect("a", "ba", "mode file;changed link;");
	end();
}

RF_TEST(an_opaque_folder_hides_what_lies_beneath)
{
	begin();
	RF_REQUIRE(mkdir("a/d", 0755) == 0 && mkdir("a/d/e", 0755) == 0 &&
			   mkdir("b/d", 0755) == 0 && mkdir("c/d", 0755) == 0,
		   "no folder");
	put("a/d/e/f", "x");
	put("a/d/stays", "x");
	put("b/d/more", "x");
	put("c/d/stays", "x");
	opaque("c/d");
	expect("a", "ba", "added d/more;");
	expect("a", "cba", "deleted d/e;deleted d/e/f;");
	expect("ba", "cba", "deleted d/e;deleted d/e/f;deleted d/more;");
	end();
}

RF_TEST(a_whiteout_in_the_middle_hides_what_lies_beneath)
{
	begin();
	RF_REQUIRE(mkdir("a/d", 0755) == 0 && mkdir("c/d", 0755) == 0, "no folder");
	put("a/d/old", "x");
	whiteout("b/d");
	put("c/d/new", "x");
	expect("a", "ba", "deleted d;deleted d/old;");
	expect("a", "cba", "added d/new;deleted d/old;");
	end();
}

RF_TEST(a_folder_where_a_file_was_and_the_other_way_round)
{
	begin();
	RF_REQUIRE(mkdir("a/folder", 0755) == 0 && mkdir("b/file", 0755) == 0, "no folder");
	put("a/folder/in", "x");
	put("a/file", "x");
	put("b/folder", "x");
	put("b/file/in", "x");
	expect("a", "ba", "type file;added file/in;type folder;deleted folder/in;");
	end();
}

RF_TEST(points_of_two_branches_are_compared)
{
	begin();
	put("a/file", "base");
	put("b/file", "shared");
	put("c/one", "x");
	put("d/two", "x");
	whiteout("d/file");
	expect("cba", "dba", "deleted file;deleted one;added two;");
	end();
}

RF_TEST(links_are_not_followed)
{
	begin();
	RF_REQUIRE(mkdir("a/d", 0755) == 0, "no folder");
	put("a/d/file", "x");
	RF_REQUIRE(symlink("/etc", "b/d") == 0 && symlink("/etc/passwd", "b/l") == 0, "no link");
	expect("a", "ba", "type d;deleted d/file;added l;");
	end();
}

RF_TEST(what_lies_deeper_than_a_path_can_name_ends_the_walk_there_and_not_elsewhere)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_delta delta;
	char name[201];

	begin();
	memset(name, 'x', 200);
	name[200] = '\0';
	RF_REQUIRE(chdir("b") == 0, "no layer");
	for (int i = 0; i < 30; i++)
		RF_REQUIRE(mkdir(name, 0755) == 0 && chdir(name) == 0, "no folder");
	RF_REQUIRE(chdir(top) == 0, "no way back");
	put("b/z", "x");
	open_stack("a", &before);
	open_stack("ba", &after);
	RF_REQUIRE(rf_delta_find(&before, &after, &delta, &err) == 0, "%s", err.msg);
	RF_CHECK(delta.count > 2 && strcmp(delta.changes[delta.count - 1].path, "z") == 0,
		 "the rest was not listed");
	RF_CHECK(delta.count > 2 && delta.changes[delta.count - 2].is_end &&
			 !delta.changes[delta.count - 3].is_end,
		 "the last folder that can be named is no end");
	rf_delta_done(&delta);
	rf_stack_done(&before);
	rf_stack_done(&after);
	end();
}
