/* What the repository at the top of a folder points to: src/jail/pointed.c. */
#include "jail/pointed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/clear.h"

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	RF_REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "can't write %s", path);
}

RF_TEST(what_a_repository_points_to_is_known_by_the_name_it_stands_for)
{
	/* clang-format off */
	static const struct { const char *path, *what; } cases[] = {
		{ ".bare/config",          "git settings" },
		{ ".bare/hooks/pre-push",  "git hook" },
		{ ".bare/description",     NULL },
		{ "gh/pre-commit",         "git hook" },
		{ "gh",                    NULL },
		{ "ghost/pre-commit",      NULL },
		{ "team",                  "git settings" },
		{ "more",                  "git settings" },
		{ "out",                   NULL },
		{ "attrs",                 "git settings" },
		{ "config",                NULL },
	};
	/* clang-format on */
	char top[] = "/tmp/ringfort-pointed-XXXXXX", text[512];
	struct rf_pointed pointed;
	RF_AUTO_FD int dir = -1;

	RF_REQUIRE(mkdtemp(top) && chdir(top) == 0 && mkdir(".bare", 0755) == 0, "no folder");
	dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(".git", "gitdir: ./.bare\n");
	snprintf(text, sizeof(text),
		 "[core]\n\thooksPath = %s/gh\n\tattributesFile = x/../attrs\n"
		 "[include]\n\tpath = ../team\n\tpath = ../../out\n\tpath = ../loop\n",
		 top);
	put(".bare/config", text);
	put("team", "[include] path = ./more\n");
	RF_REQUIRE(symlink("loop", "loop") == 0, "no link");
	rf_pointed_find(dir, top, &pointed);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *what = rf_pointed_what(&pointed, cases[i].path);

		RF_CHECK(cases[i].what ? what && strcmp(what, cases[i].what) == 0 : !what, "%s: %s",
			 cases[i].path, what ? what : "nothing");
	}
	rf_pointed_done(&pointed);
	put("team", "[include] path = team\n");
	rf_pointed_find(dir, top, &pointed);
	RF_CHECK(pointed.count < RF_POINTED_MAX, "settings that include themselves have an end");
	rf_pointed_done(&pointed);
	RF_CHECK(chdir("/") == 0 && rf_clear(AT_FDCWD, top) == 0, "%s stays", top);
}
