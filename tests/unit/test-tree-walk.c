/* A walk through a tree: src/base/tree-walk.c. */
#include "base/tree-walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

static char top[] = "/tmp/rf-walk-XXXXXX";

static void make_file(int dir, const char *path)
{
	RF_AUTO_FD int fd = openat(dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	RF_REQUIRE(fd >= 0, "%s", path);
}

/* a/b/c, a/file, d/, link -> a, d/up -> .. */
static int make_tree(void)
{
	int dir;

	RF_REQUIRE(mkdtemp(top), "no folder");
	dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	RF_REQUIRE(dir >= 0 && mkdirat(dir, "a", 0755) == 0 && mkdirat(dir, "a/b", 0755) == 0 &&
			   mkdirat(dir, "d", 0755) == 0 && symlinkat("a", dir, "link") == 0 &&
			   symlinkat("..", dir, "d/up") == 0,
		   "no tree");
	make_file(dir, "a/file");
	make_file(dir, "a/b/c");
	return dir;
}

static void drop_tree(int dir)
{
	static const char *const files[] = { "a/file", "a/b/c", "link", "d/up" };
	static const char *const folders[] = { "a/b", "a", "d" };

	for (size_t i = 0; i < RF_LEN(files); i++)
		unlinkat(dir, files[i], 0);
	for (size_t i = 0; i < RF_LEN(folders); i++)
		unlinkat(dir, folders[i], AT_REMOVEDIR);
	close(dir);
	rmdir(top);
}

struct seen {
	char paths[16][32];
	size_t count;
	const char *const *only;
};

static int note(void *data, const struct rf_tree_walk_entry *entry, void *ret_tag)
{
	struct seen *seen = data;
	int depth;

	memcpy(&depth, entry->tag, sizeof(depth));
	depth++;
	memcpy(ret_tag, &depth, sizeof(depth));
	snprintf(seen->paths[seen->count++ % RF_LEN(seen->paths)], sizeof(seen->paths[0]),
		 "%d %s%s", depth, entry->path, entry->type == S_IFLNK ? " link" : "");
	return entry->type == S_IFDIR;
}

static int only(void *data, const char *path, const void *tag, size_t i, char *name)
{
	const struct seen *seen = data;

	(void)path;
	(void)tag;
	if (!seen->only[i])
		return 0;
	snprintf(name, NAME_MAX, "%s", seen->only[i]);
	return 1;
}

static bool has(const struct seen *seen, const char *what)
{
	for (size_t i = 0; i < seen->count && i < RF_LEN(seen->paths); i++)
		if (strcmp(seen->paths[i], what) == 0)
			return true;
	return false;
}

RF_TEST(every_entry_is_seen_once_and_no_link_is_followed)
{
	static const char *const want[] = { "1 a",      "1 d",     "1 link link", "2 a/b",
					    "2 a/file", "3 a/b/c", "2 d/up link" };
	struct seen seen = { 0 };
	int dir = make_tree(), depth = 0;
	struct rf_tree_walk walk = { .max = 100,
				     .tag_size = sizeof(depth),
				     .tag = &depth,
				     .data = &seen,
				     .on_entry = note };

	RF_CHECK(rf_tree_walk_run(&walk, dir) == 0, "walk");
	RF_CHECK(seen.count == RF_LEN(want) && walk.seen == RF_LEN(want), "%zu", seen.count);
	for (size_t i = 0; i < RF_LEN(want); i++)
		RF_CHECK(has(&seen, want[i]), "%s", want[i]);
	drop_tree(dir);
}

RF_TEST(a_walk_ends_at_its_limit_with_the_top_seen_first)
{
	struct seen seen = { 0 };
	int dir = make_tree(), depth = 0;
	struct rf_tree_walk walk = {
		.max = 3, .tag_size = sizeof(depth), .tag = &depth, .data = &seen, .on_entry = note
	};

	RF_CHECK(rf_tree_walk_run(&walk, dir) == -E2BIG, "not refused");
	RF_CHECK(seen.count == 3 && has(&seen, "1 a") && has(&seen, "1 d"), "%zu", seen.count);
	drop_tree(dir);
}

RF_TEST(where_only_a_few_names_matter_nothing_else_is_looked_at)
{
	static const char *const names[] = { "a", "file", "nowhere", NULL };
	struct seen seen = { .only = names };
	int dir = make_tree(), depth = 0;
	struct rf_tree_walk walk = { .max = 100,
				     .tag_size = sizeof(depth),
				     .tag = &depth,
				     .data = &seen,
				     .on_entry = note,
				     .only = only };

	RF_CHECK(rf_tree_walk_run(&walk, dir) == 0, "walk");
	RF_CHECK(seen.count == 2 && has(&seen, "1 a") && has(&seen, "2 a/file"), "%zu", seen.count);
	drop_tree(dir);
}
