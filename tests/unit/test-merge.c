/* Several layers made into one: src/workspace/merge.c. */
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
#include "workspace/merge.h"

static char top[] = "/tmp/ringfort-merge-XXXXXX";
static char id[RF_LAYER_ID];

/* Layers a, b and c from the top down, and the directory d. */
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

static void folder(const char *path)
{
	RF_REQUIRE(mkdir(path, 0755) == 0, "no folder: %s", strerror(errno));
}

static void whiteout(const char *path)
{
	RF_REQUIRE(mknod(path, S_IFCHR, makedev(0, 0)) == 0, "no whiteout: %s", strerror(errno));
}

static void add(struct rf_stack *stack, const char *path, uint64_t number)
{
	struct rf_err err;

	RF_REQUIRE(rf_stack_add(stack, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), number,
				&err) == 0,
		   "no stack");
}

/* Merges the first `count` layers, and expects that the whole shows the same. */
static void merge(size_t count)
{
	struct rf_stack before = { 0 }, after = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct rf_delta delta;
	char path[64];
	RF_AUTO_FD int pool = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RF_AUTO_FD int held = -1;

	for (size_t i = 0; i < 4; i++)
		add(&before, (const char *[]){ "a", "b", "c", "d" }[i], i + 1);
	held = rf_merge_layers(pool, &before, count, id, &err);
	RF_REQUIRE(held >= 0, "%s", err.msg);
	snprintf(path, sizeof(path), "%s/up", id);
	add(&after, path, 9);
	for (size_t i = count; i < 4; i++)
		add(&after, (const char *[]){ "a", "b", "c", "d" }[i], i + 1);
	RF_REQUIRE(rf_delta_find(&before, &after, &delta, &err) == 0, "%s", err.msg);
	RF_CHECK(delta.count == 0, "%s is another one", delta.count ? delta.changes[0].path : "");
	rf_delta_done(&delta);
	rf_stack_done(&before);
	rf_stack_done(&after);
}

static void end(void)
{
	RF_CHECK(chdir("/") == 0 && rf_clear(AT_FDCWD, top) == 0, "%s stays", top);
}

/* What the merged layer has at a path: its type and mark, or '-'. */
static char found(const char *name)
{
	char path[128], mark[2];
	struct stat st;

	snprintf(path, sizeof(path), "%s/up/%s", id, name);
	if (lstat(path, &st) < 0)
		return '-';
	if (S_ISDIR(st.st_mode))
		return getxattr(path, "user.overlay.opaque", mark, sizeof(mark)) == 1 ? 'o' : 'd';
	return S_ISCHR(st.st_mode) ? 'w' : S_ISLNK(st.st_mode) ? 'l' : 'f';
}

RF_TEST(the_topmost_has_a_name_and_what_was_deleted_stays_so)
{
	begin();
	put("d/kept", "d");
	put("d/gone", "d");
	put("d/again", "d");
	put("b/file", "b");
	put("a/file", "a");
	whiteout("b/gone");
	whiteout("b/again");
	put("a/again", "a");
	put("c/short", "c");
	whiteout("a/short");
	RF_REQUIRE(symlink("kept", "c/link") == 0, "no link");
	merge(3);
	RF_CHECK(found("file") == 'f' && found("gone") == 'w' && found("again") == 'f' &&
			 found("link") == 'l' && found("kept") == '-',
		 "another form");
	end();
}

RF_TEST(a_folder_that_took_the_place_of_something_hides_it)
{
	begin();
	folder("d/was");
	put("d/was/old", "d");
	whiteout("b/was");
	folder("a/was");
	put("a/was/new", "a");
	merge(2);
	RF_CHECK(found("was") == 'o' && found("was/new") == 'f', "%c", found("was"));
	end();
}

RF_TEST(a_folder_that_nothing_beneath_has_lists_no_whiteout)
{
	begin();
	folder("b/new");
	put("b/new/x", "b");
	folder("b/new/deep");
	put("b/new/deep/x", "b");
	folder("a/new");
	whiteout("a/new/x");
	folder("a/new/deep");
	whiteout("a/new/deep/x");
	merge(2);
	RF_CHECK(found("new") == 'o' && found("new/x") == '-' && found("new/deep/x") == '-',
		 "%c %c", found("new"), found("new/x"));
	end();
}

RF_TEST(a_folder_that_is_beneath_goes_on_to_show_it)
{
	begin();
	folder("d/both");
	put("d/both/x", "d");
	put("d/both/y", "d");
	folder("b/both");
	whiteout("b/both/x");
	folder("a/both");
	put("a/both/z", "a");
	merge(2);
	RF_CHECK(found("both") == 'd' && found("both/x") == 'w' && found("both/z") == 'f', "%c %c",
		 found("both"), found("both/x"));
	end();
}

RF_TEST(folders_that_deny_writing_are_put_together)
{
	struct stat st;
	char path[64];

	begin();
	folder("b/closed");
	put("b/closed/x", "b");
	folder("a/closed");
	put("a/closed/y", "a");
	RF_REQUIRE(chmod("a/closed", 0555) == 0 && chmod("b/closed", 0755) == 0, "no mode");
	merge(2);
	snprintf(path, sizeof(path), "%s/up/closed", id);
	RF_CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0555, "%o", st.st_mode);
	RF_CHECK(found("closed/x") == 'f' && found("closed/y") == 'f', "a file is missing");
	end();
}
