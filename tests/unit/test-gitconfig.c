/* What git reads about a repository: src/policy/gitconfig.c. */
#include "policy/gitconfig.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

/* Writes each setting as "section.name=value;", and "!" where the text is refused. */
static const char *read_all(const char *text)
{
	static char out[4096];
	char scratch[4096];
	struct rf_gitconfig config;
	size_t len = 0;
	int got;

	out[0] = '\0';
	rf_gitconfig_init(&config, text, strlen(text), scratch);
	while ((got = rf_gitconfig_next(&config)) > 0)
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s.%s=%s;", config.section,
					config.name, config.value);
	if (got < 0)
		snprintf(out + len, sizeof(out) - len, "!");
	return out;
}

RF_TEST(settings_are_read_as_git_reads_them)
{
	/* clang-format off */
	static const struct { const char *text, *settings; } cases[] = {
		{ "",                                             "" },
		{ "[core]\n\thooksPath = gh\n",                   "core.hookspath=gh;" },
		{ "[CORE]HooksPath=gh",                           "core.hookspath=gh;" },
		{ "\xef\xbb\xbf[core]\r\n a = b\r\n c\r\n",       "core.a=b;core.c=;" },
		{ "# x\n; y\n[a] b = c # d\n e = f;g\n",          "a.b=c;a.e=f;" },
		{ "[a \"b\\\"] c = d\"]\n e = f\n",               "a.e=f;" },
		{ "[a.b]\nc = d\n",                               "a.c=d;" },
		{ "[a] b = \" c # ; \" d  \n",                    "a.b= c # ;  d;" },
		{ "[a] b = c \\\n  d\n",                          "a.b=c   d;" },
		{ "[a] b = \"x\\\"y\\\\z\\t\"\n",                 "a.b=x\"y\\z\t;" },
		{ "[a]\nb\nc # d\n",                              "a.b=;a.c=;" },
		{ "[a] b = c ",                                   "a.b=c;" },
		{ "[a-section-whose-name-is-too-long-for-us] b = c", ".b=c;" },
		{ "[a] b = \"open\n",                             "!" },
		{ "[a] b = \\q\n",                                "!" },
		{ "[a\nb = c\n",                                  "!" },
		{ "[a] b = c\n= d\n",                             "a.b=c;!" },
		{ "[a \"b\nc\"]\n",                               "!" },
		{ "[a] b c\n",                                    "!" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *found = read_all(cases[i].text);

		RF_CHECK(strcmp(found, cases[i].settings) == 0, "%zu: %s", i, found);
	}
}

RF_TEST(what_names_files_is_told_from_what_does_not)
{
	/* clang-format off */
	static const struct { const char *text; enum rf_gitconfig_role role; } cases[] = {
		{ "[include] path = x",                RF_GITCONFIG_INCLUDE },
		{ "[includeIf \"gitdir:~/a\"] path=x", RF_GITCONFIG_INCLUDE },
		{ "[core] HooksPath = x",              RF_GITCONFIG_HOOKS },
		{ "[core] hooksPath =",                RF_GITCONFIG_OTHER },
		{ "[core] attributesfile = x",         RF_GITCONFIG_ATTRIBUTES },
		{ "[core] worktree = ..",              RF_GITCONFIG_WORKTREE },
		{ "[init] templateDir = x",            RF_GITCONFIG_TEMPLATE },
		{ "[filter \"x\"] smudge = ./x",       RF_GITCONFIG_COMMAND },
		{ "[alias] a = !./x",                  RF_GITCONFIG_COMMAND },
		{ "[alias] a = log --oneline",         RF_GITCONFIG_OTHER },
		{ "[remote \"o\"] url = ../x",         RF_GITCONFIG_OTHER },
		{ "[core] excludesFile = x",           RF_GITCONFIG_OTHER },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char scratch[128];
		struct rf_gitconfig config;

		rf_gitconfig_init(&config, cases[i].text, strlen(cases[i].text), scratch);
		RF_REQUIRE(rf_gitconfig_next(&config) == 1, "%s", cases[i].text);
		RF_CHECK(rf_gitconfig_role(&config) == cases[i].role, "%s", cases[i].text);
	}
}

RF_TEST(files_that_lead_elsewhere)
{
	char path[PATH_MAX], large[PATH_MAX + 16];
	static const char nul[] = "gitdir: a\0b";

	RF_CHECK(rf_gitconfig_read_link("gitdir: ../x y\r\n\n", 17, path) &&
			 strcmp(path, "../x y") == 0,
		 "a path");
	RF_CHECK(!rf_gitconfig_read_link("gitdir:x", 8, path), "no space");
	RF_CHECK(!rf_gitconfig_read_link("gitdir: \n", 9, path), "no path");
	RF_CHECK(!rf_gitconfig_read_link(nul, sizeof(nul) - 1, path), "a NUL");
	RF_CHECK(rf_gitconfig_read_path("../..\n", 6, path) && strcmp(path, "../..") == 0, "plain");
	memset(large, 'x', sizeof(large));
	RF_CHECK(!rf_gitconfig_read_path(large, sizeof(large), path), "too long");
}

RF_TEST(words_of_a_command_that_may_be_files)
{
	const char *command = "!f() { python3 tools/clean.py --to=./out 'a.b'; }; f";
	static const char *const words[] = { "tools/clean.py", "./out", "a.b" };
	char word[PATH_MAX];

	for (size_t i = 0; i < RF_LEN(words); i++)
		RF_CHECK(rf_gitconfig_next_file(&command, word) && strcmp(word, words[i]) == 0,
			 "%zu: %s", i, word);
	RF_CHECK(!rf_gitconfig_next_file(&command, word), "one more: %s", word);
}
