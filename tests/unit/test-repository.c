/* What git repositories point to: src/workspace/repository.c, on paths as src/workspace/spot.c shows them. */
#include "workspace/repository.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "workspace/clear.h"

static char top[] = "/tmp/ringfort-repository-XXXXXX";

static void put(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a file, with the folders on the way. */
static void put(const char *path, const char *format, ...)
{
	char folder[256];
	va_list words;
	FILE *file;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		mkdir(folder, 0755);
	}
	file = fopen(path, "w");
	RF_REQUIRE(file, "can't write %s", path);
	va_start(words, format);
	vfprintf(file, format, words);
	va_end(words);
	fclose(file);
}

/* Two layers: `a` is the directory, `b` what a box wrote. */
static void begin(void)
{
	RF_REQUIRE(mkdtemp(top) && chdir(top) == 0, "no folder");
	RF_REQUIRE(mkdir("a", 0755) == 0 && mkdir("b", 0755) == 0, "no layers");
	setenv("HOME", top, 1);
	unsetenv("XDG_CONFIG_HOME");
}

static void end(void)
{
	RF_CHECK(chdir("/") == 0 && rf_clear(AT_FDCWD, top) == 0, "%s stays", top);
}

static void add_layer(struct rf_stack *stack, const char *name)
{
	struct rf_err err;

	RF_REQUIRE(rf_stack_add(stack, open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				(uint64_t)name[0], &err) == 0,
		   "no stack");
}

/* Compares the directory with what became of it; each change as "path: what;" if it acts. */
static const char *find(void)
{
	static char text[4096];
	struct rf_stack before = { 0 }, after = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct rf_delta delta;
	int len = 0;

	add_layer(&before, "a");
	add_layer(&after, "b");
	add_layer(&after, "a");
	text[0] = '\0';
	RF_REQUIRE(rf_delta_find(&before, &after, &delta, &err) == 0, "%s", err.msg);
	for (size_t i = 0; i < delta.count; i++)
		if (delta.changes[i].protects)
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s: %s;",
					delta.changes[i].path, delta.changes[i].protects);
	rf_delta_done(&delta);
	rf_stack_done(&before);
	rf_stack_done(&after);
	return text;
}

static void expect(const char *changes)
{
	const char *found = find();

	RF_CHECK(strcmp(found, changes) == 0, "%s", found);
}

RF_TEST(a_repository_is_known_by_what_it_is)
{
	begin();
	put("a/x/HEAD", "ref: refs/heads/main\n");
	put("b/x/config", "[core]\n");
	put("b/x/modules/m/hooks/update", "#!/bin/sh\n");
	put("b/x/description", "text\n");
	put("b/y/config", "text\n");
	expect("x/config: git settings;x/modules/m/hooks/update: git hook;");
	end();
}

RF_TEST(a_way_leads_out_of_the_directory_and_in_again)
{
	begin();
	put("a/.git", "gitdir: %s/store/worktrees/w\n", top);
	put("store/worktrees/w/commondir", "../..\n");
	put("store/config", "[core] hooksPath = gh\n[include] path = %s/a/inc\n", top);
	put(".gitconfig", "[core] attributesFile = ~/a/attrs\n");
	put("b/gh/pre-commit", "x");
	put("b/inc", "x");
	put("b/attrs", "x");
	put("b/other", "x");
	expect("attrs: git settings;gh/pre-commit: git hook;inc: git settings;");
	end();
}

RF_TEST(what_a_box_says_leads_nowhere_outside)
{
	begin();
	put("store/HEAD", "ref: refs/heads/main\n");
	put("store/config", "[core] hooksPath = gh\n");
	put("b/.git", "gitdir: %s/store\n", top);
	put("b/gh/pre-commit", "x");
	expect(".git: link to a git repository;");
	end();
}

RF_TEST(links_on_the_way_count_and_have_an_end)
{
	begin();
	put("a/.git/config", "[core] hooksPath = one/hooks\n[include] path = ../loop/x\n");
	RF_REQUIRE(symlink("two", "a/one") == 0 && symlink("loop", "a/loop") == 0, "no links");
	put("b/two/hooks/pre-push", "x");
	put("b/two/x", "x");
	expect("two/hooks/pre-push: git hook;");
	end();
}

RF_TEST(settings_that_include_themselves_have_an_end)
{
	begin();
	put("a/.git/config",
	    "[include] path = ../more\n path = config\n path = config\n path = config\n");
	put("b/file", "x");
	put("b/more", "x");
	expect("file: perhaps git's: not all its settings were read;"
	       "more: git settings;");
	end();
}

RF_TEST(the_whole_directory_may_be_a_repository_or_hooks)
{
	begin();
	put("a/HEAD", "ref: refs/heads/main\n");
	put("b/config", "x");
	put("b/hooks/update", "x");
	put("b/refs/heads/main", "x");
	expect("config: git settings;hooks/update: git hook;");
	RF_REQUIRE(unlink("a/HEAD") == 0, "HEAD stays");
	put(".gitconfig", "[core] hooksPath = ~/a\n");
	expect("config: git hook;hooks/update: git hook;refs/heads/main: git hook;");
	end();
}
