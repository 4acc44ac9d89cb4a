/* The programs that a box may run: src/jail/program.c, on a tree of files made for it. */
#include "jail/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

/* The box shows a fresh folder of the host at /t; what is in it is the test's. */
static char folder[] = "/tmp/rf-program-XXXXXX";
static struct rf_place place = { RF_PLACE_HOST, "/t", folder, RF_RIGHT_READ, false, "", "" };
static char *commands[4], *argv[2], *env[] = { (char[]){ "PATH=/t/bin:/t" }, NULL };
static struct rf_plan plan = { .places = &place,
			       .place_count = 1,
			       .commands = commands,
			       .argv = argv,
			       .env = env,
			       .workdir = "/t" };

static void make_tree(void)
{
	RF_REQUIRE(mkdtemp(folder) && chdir(folder) == 0 && mkdir("bin", 0755) == 0, "a folder");
}

static void make_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	RF_REQUIRE(fd >= 0 && rf_fd_write(fd, text, strlen(text)) == 0 && fchmod(fd, mode) == 0,
		   "%s", name);
	close(fd);
}

static void make_link(const char *target, const char *name)
{
	RF_REQUIRE(symlink(target, name) == 0, "%s", name);
}

static void done(void)
{
	char line[128];

	snprintf(line, sizeof(line), "rm -r %s", folder);
	RF_CHECK(system(line) == 0, "%s", line);
}

static int find(const char *name, struct rf_program_set **ret_set, struct rf_err *err)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s", name);
	commands[0] = text;
	return rf_program_find(&plan, ret_set, err);
}

static const char *why(const struct rf_program_set *set, const char *path)
{
	for (size_t i = 0; i < set->program_count; i++)
		if (strcmp(set->programs[i].path, path) == 0)
			return set->programs[i].why;
	return "absent";
}

static bool has_link(const struct rf_program_set *set, const char *path, const char *target)
{
	for (size_t i = 0; i < set->link_count; i++)
		if (strcmp(set->links[i].path, path) == 0 &&
		    strcmp(set->links[i].target, target) == 0)
			return true;
	return false;
}

RF_TEST(links_lead_to_one_file_and_are_kept)
{
	struct rf_program_set *set = NULL;
	struct rf_err err = RF_ERR_INIT;

	make_tree();
	make_file("bin/prog-1.2", "x", 0755);
	make_link("prog-1.2", "bin/prog");
	make_link("/t/bin/prog", "absolute");
	make_link("./bin/../absolute", "way");
	RF_REQUIRE(find("/t/way", &set, &err) == 0, "%s", err.msg);
	RF_CHECK(set->program_count == 1 && strcmp(why(set, "/t/bin/prog-1.2"), "named") == 0, "%s",
		 set->programs[0].path);
	RF_CHECK(has_link(set, "/t/way", "./bin/../absolute") &&
			 has_link(set, "/t/absolute", "/t/bin/prog") &&
			 has_link(set, "/t/bin/prog", "prog-1.2") && set->link_count == 3,
		 "%zu links", set->link_count);
	rf_program_free(set);
	done();
}

RF_TEST(what_starts_a_script_comes_along)
{
	struct rf_program_set *set = NULL;
	struct rf_err err = RF_ERR_INIT;

	make_tree();
	make_file("bin/inner", "x", 0755);
	make_link("inner", "bin/runs");
	make_file("bin/outer", "#!/t/bin/runs -x\n", 0755);
	make_file("script", "#!/t/bin/outer\n", 0755);
	RF_REQUIRE(find("/t/script", &set, &err) == 0, "%s", err.msg);
	RF_CHECK(strcmp(why(set, "/t/script"), "named") == 0 &&
			 strcmp(why(set, "/t/bin/outer"), "interpreter of script") == 0 &&
			 strcmp(why(set, "/t/bin/inner"), "interpreter of outer") == 0,
		 "%s, %s", why(set, "/t/bin/outer"), why(set, "/t/bin/inner"));
	rf_program_free(set);
	done();
}

RF_TEST(scripts_that_start_each_other_are_survived)
{
	struct rf_program_set *set = NULL;
	struct rf_err err = RF_ERR_INIT;

	make_tree();
	make_file("a", "#!/t/b\n", 0755);
	make_file("b", "#!/t/a\n", 0755);
	make_file("self", "#!/t/self\n", 0755);
	make_link("loop", "loop");
	RF_CHECK(find("/t/a", &set, &err) == 0 && set->program_count == 2, "%s", err.msg);
	rf_program_free(set);
	RF_CHECK(find("/t/self", &set, &err) == 0 && set->program_count == 1, "%s", err.msg);
	rf_program_free(set);
	RF_CHECK(find("/t/loop", &set, &err) == -ELOOP, "%s", err.msg);
	done();
}

RF_TEST(what_is_no_program_is_refused)
{
	/* clang-format off */
	static const struct { const char *name; int code; const char *msg; } cases[] = {
		{ "/t/none",       -ENOENT, "commands: there is no program `/t/none` for the box" },
		{ "/t/plain/none", -ENOENT, "commands: there is no program `/t/plain/none` for the box" },
		{ "/t/plain",      -EACCES, "commands: /t/plain is not a program" },
		{ "/t/bin",        -EACCES, "commands: /t/bin is not a program" },
		{ "/t/pipe",       -EACCES, "commands: /t/pipe is not a program" },
		{ "/etc/passwd",   -ENOENT, "commands: there is no program `/etc/passwd` for the box" },
		{ "/t/out",        -ENOENT, "commands: there is no program `/t/out` for the box" },
	};
	/* clang-format on */

	make_tree();
	make_file("plain", "x", 0644);
	make_link("/bin/sh", "out"); /* of the host, which this box does not show */
	RF_REQUIRE(mkfifo("pipe", 0777) == 0, "a pipe");
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_program_set *set = NULL;
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(find(cases[i].name, &set, &err) == cases[i].code &&
				 strcmp(err.msg, cases[i].msg) == 0 && err.hint[0],
			 "%s: %d, %s", cases[i].name, err.code, err.msg);
	}
	done();
}

RF_TEST(only_a_named_program_is_admitted)
{
	/* clang-format off */
	static const struct { const char *program; int code; } cases[] = {
		{ "/t/bin/good",  0 },      { "good",      0 },      { "./bin/good",      0 },
		{ "bin/../bin/good", 0 },   { "/t/nick",   0 },      { "nick",            0 },
		{ "/t/bin/sh",    -EPERM }, { "sh",        -EPERM }, { "bin/sh",          -EPERM },
		{ "/t/other",     -EPERM }, { "none",      0 /* pid 1 says so */ },
	};
	/* clang-format on */
	struct rf_program_set *set = NULL;
	struct rf_err err = RF_ERR_INIT;

	make_tree();
	make_file("bin/sh", "x", 0755);
	make_file("bin/good", "#!/t/bin/sh\n", 0755);
	make_file("other", "x", 0755);
	make_link("bin/good", "nick");
	RF_REQUIRE(find("/t/bin/good", &set, &err) == 0, "%s", err.msg);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char program[64];

		snprintf(program, sizeof(program), "%s", cases[i].program);
		argv[0] = program;
		RF_CHECK(rf_program_admit(set, &plan, &err) == cases[i].code, "%s: %s", program,
			 err.msg);
	}
	RF_CHECK(has_link(set, "/t/nick", "bin/good"), "the way to it is not kept");
	rf_program_free(set);
	done();
}
