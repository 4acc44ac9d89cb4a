/* Protected names: src/policy/protected.c. */
#include "policy/protected.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

RF_TEST(what_acts_later_is_told_from_what_does_not)
{
	/* clang-format off */
	static const struct { const char *path, *what; } cases[] = {
		{ ".git/hooks/pre-commit",              "git hook" },
		{ "vendor/lib/.git/hooks/post-merge",   "git hook" },
		{ ".git/hooks/x/y",                     "git hook" },
		{ ".git/modules/a/b/hooks/update",      "git hook" },
		{ ".husky/pre-push",                    "git hook" },
		{ ".git/config",                        "git settings" },
		{ ".git/modules/sub/config",            "git settings" },
		{ ".git/modules/config",                "git settings" },
		{ ".git/worktrees/w/config.worktree",   "git settings" },
		{ ".git/worktrees/w/commondir",         "git settings" },
		{ ".git/rebase-merge/git-rebase-todo",  "git settings" },
		{ "mirror.git/config",                  "git settings" },
		{ "mirror.git/hooks/update",            "git hook" },
		{ "a/b/HEAD",                           "git repository" },
		{ ".GIT/hooks/pre-commit",              "git hook" },
		{ "a/.Git/Config",                      "git settings" },
		{ ".Github/Workflows/ci.yml",           "pipeline" },
		{ "claude.MD",                          "agent instructions" },
		{ ".git/logs/HEAD",                     NULL },
		{ ".git/modules/a/HEAD",                NULL },
		{ ".GIT/HEAD",                          NULL },
		{ "a/HEADER",                           NULL },
		{ "sub/.gitmodules",                    "git settings" },
		{ ".envrc",                             "shell start-up" },
		{ ".vscode/tasks.json",                 "editor settings" },
		{ "x.code-workspace",                   "editor settings" },
		{ ".idea/runConfigurations/a.xml",      "editor settings" },
		{ ".mcp.json",                          "agent settings" },
		{ ".claude/settings.local.json",        "agent settings" },
		{ "AGENTS.md",                          "agent instructions" },
		{ "docs/CLAUDE.md",                     "agent instructions" },
		{ ".github/workflows/ci.yml",           "pipeline" },
		{ ".github/copilot-instructions.md",    "agent instructions" },
		{ ".gitlab-ci.yml",                     "pipeline" },
		{ ".bashrc",                            "shell start-up" },
		{ ".config/systemd/user/x.service",     "start-up entry" },
		{ ".config/fish/conf.d/x.fish",         "shell start-up" },
		{ ".ssh/authorized_keys",               "ssh settings" },
		{ "backup/.bashrc",                     NULL },
		{ "x/.ssh/config",                      NULL },
		{ ".git/HEAD",                          NULL },
		{ ".git/modules/sub/index",             NULL },
		{ ".git/hooks",                         NULL },
		{ ".gitignore",                         NULL },
		{ ".vscode/notes.txt",                  NULL },
		{ ".github/CODEOWNERS",                 NULL },
		{ ".git/worktrees/w/gitdir",            "git settings" },
		{ ".git/remotes/origin",                "git settings" },
		{ "lefthook.yaml",                      "git hook" },
		{ ".lefthook.yml",                      "git hook" },
		{ "commitlint.config.js",               "git hook" },
		{ ".hg/hgrc",                           "tool settings" },
		{ ".jj/repo/config.toml",               "tool settings" },
		{ ".jj/repo",                           "tool settings" },
		{ ".mvn/jvm.config",                    "tool settings" },
		{ "gradle/wrapper/gradle-wrapper.jar",  "tool settings" },
		{ ".bundle/config",                     "tool settings" },
		{ "tests/conftest.py",                  "tool settings" },
		{ "Vagrantfile",                        "tool settings" },
		{ "web/.eslintrc.js",                   "tool settings" },
		{ "web/eslint.config.mjs",              "tool settings" },
		{ ".yarn/releases/yarn-4.cjs",          "tool settings" },
		{ "rust-toolchain.toml",                "tool settings" },
		{ "v/lib/python3/site-packages/x.pth",  "tool settings" },
		{ ".hg/store/data/x.i",                 NULL },
		{ ".jj/repo/store/type",                NULL },
		{ "models/weights.pth",                 NULL },
		{ ".bundle/cache/x",                    NULL },
		{ ".yarn/cache/x.zip",                  NULL },
		{ "gradle/libs.versions.toml",          NULL },
		{ "justfile",                           NULL },
		{ "Makefile",                           NULL },
		{ "package.json",                       NULL },
		{ "hooks/pre-commit",                   NULL },
		{ "xAGENTS.md",                         NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *what = rf_protected_what(cases[i].path);

		RF_CHECK(cases[i].what ? what && strcmp(what, cases[i].what) == 0 : !what, "%s: %s",
			 cases[i].path, what ? what : "ordinary");
	}
}

RF_TEST(a_folder_that_leads_to_what_acts_is_known)
{
	static const char *const lead[] = { ".git",           ".git/hooks",        "a/b/.git",
					    ".git/modules/x", ".vscode",           ".config",
					    ".github",        ".github/workflows", ".ssh",
					    ".claude",        ".local/share" };
	static const char *const none[] = { "src",       ".git/objects", ".config/other",
					    "a/.config", "hooks",        ".git/refs",
					    ".vscode/x", "a/.ssh",       ".gitignore",
					    ".github/x" };

	for (size_t i = 0; i < RF_LEN(lead); i++)
		RF_CHECK(rf_protected_beneath(lead[i]), "%s", lead[i]);
	for (size_t i = 0; i < RF_LEN(none); i++)
		RF_CHECK(!rf_protected_beneath(none[i]), "%s", none[i]);
}

RF_TEST(a_deep_path_takes_no_longer_than_its_end)
{
	char path[4096] = "";
	size_t len = 0;

	while (len + 32 < sizeof(path))
		len += (size_t)snprintf(path + len, sizeof(path) - len, ".git/modules/");
	snprintf(path + len, sizeof(path) - len, "x");
	for (size_t i = 0; i < 2000; i++) /* half a minute, if all folders were tried */
		RF_REQUIRE(!rf_protected_what(path), "%zu", i);
	snprintf(path + len, sizeof(path) - len, "hooks/x");
	RF_CHECK(rf_protected_what(path), "from the top");
	path[0] = 'g';
	snprintf(path + len, sizeof(path) - len, ".vscode/a.json");
	RF_CHECK(rf_protected_what(path), "at the end");
}

RF_TEST(each_name_at_the_top_comes_once_and_begins_something)
{
	char seen[256][64];
	size_t count = 0, len;
	const char *name;

	for (size_t i = 0; rf_protected_next("", i, &name, &len) > 0; i++) {
		if (len == 0)
			continue;
		RF_REQUIRE(count < RF_LEN(seen) && len < sizeof(seen[0]), "%s", name);
		memcpy(seen[count], name, len);
		seen[count][len] = '\0';
		for (size_t k = 0; k < count; k++)
			RF_CHECK(strcmp(seen[k], seen[count]) != 0, "%s twice", seen[count]);
		RF_CHECK(rf_protected_begins(seen[count]), "%s", seen[count]);
		RF_CHECK(rf_protected_what(seen[count]) || rf_protected_beneath(seen[count]), "%s",
			 seen[count]);
		count++;
	}
	RF_CHECK(count > 50, "%zu", count);
	RF_CHECK(!rf_protected_begins("Makefile") && rf_protected_begins("a.code-workspace"),
		 "begins");
}

RF_TEST(rows_of_ones_own_are_rows_of_names)
{
	/* clang-format off */
	static const struct { const char *row; bool is_row; } cases[] = {
		{ "Makefile", true }, { "deploy/*.sh", true }, { "infra/**", true }, { "**/x", false },
		{ "a/**/b/**", true }, { "*", true }, { ".", false }, { "..", false }, { "a/../b", false },
		{ "", false }, { "/etc", false }, { "a//b", false }, { "a/", false }, { "*.*", false },
		{ "**", false }, { "a**", false }, { "a/**/b/**/c", false }, { "./a", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_protected_is_row(cases[i].row) == cases[i].is_row, "%s", cases[i].row);
}

RF_TEST(the_owner_adds_rows_and_takes_others_out)
{
	static const char *const own[] = { "Makefile", "deploy/*.sh", "a/**/secret", NULL };
	static const char *const ordinary[] = { ".github/workflows/**", "deploy/safe.sh", NULL };
	/* clang-format off */
	static const struct { const char *path, *what; } cases[] = {
		{ "Makefile",                 "protected by your settings" },
		{ "sub/makefile",             "protected by your settings" },
		{ "deploy/go.sh",             "protected by your settings" },
		{ "a/b/secret",               "protected by your settings" },
		{ "deploy/safe.sh",           NULL },
		{ "deploy/go.py",             NULL },
		{ ".github/workflows/ci.yml", NULL },
		{ ".github/actions/a.yml",    "pipeline" },
		{ ".git/hooks/update",        "git hook" },
	};
	/* clang-format on */

	RF_REQUIRE(rf_protected_set(own, ordinary) == 0, "they are taken");
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *what = rf_protected_what(cases[i].path);

		RF_CHECK(what == cases[i].what ||
				 (what && cases[i].what && strcmp(what, cases[i].what) == 0),
			 "%s: %s", cases[i].path, what ? what : "nothing");
	}
	RF_CHECK(rf_protected_begins("Makefile") && !rf_protected_begins("other"), "they begin so");
	RF_REQUIRE(rf_protected_set(NULL, NULL) == 0, "and forgotten");
	RF_CHECK(!rf_protected_what("Makefile") && rf_protected_what(".github/workflows/ci.yml"),
		 "it is as it was");
}
