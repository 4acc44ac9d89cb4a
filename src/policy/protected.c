/*
 * Protected names: see protected.h.
 *
 * A row has to act by itself, or as part of something ordinary such as opening the folder, a commit or
 * a push, or whatever a tool is asked to do (conftest.py, .mvn).  What is run by being named (a Makefile, a justfile, a
 * script of package.json) is a program like any other, and changed in everyday work: a list that is always long is read by
 * nobody.  Those that can be executed are found by their mode.
 */
#include "policy/protected.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"

#define HOOK   "git hook"
#define GIT    "git settings"
#define REPO   "git repository"
#define EDITOR "editor settings"
#define AGENT  "agent settings"
#define WORDS  "agent instructions"
#define CI     "pipeline"
#define SHELL  "shell start-up"
#define START  "start-up entry"
#define TOOL   "tool settings"
#define OWN    "protected by your settings"

#define NAMES 32 /* at the end of a path; a row that is to match begins among them, or at the top */

/*
 * `*` stands for a part of one name and `**` for any names.  Rows of one folder stand together, so that
 * the names at the top are told apart by looking at the row before.
 */
/* clang-format off */
static const struct row {
	const char *path;
	const char *what;
	bool is_top;  /* counts at the top of a tree only: what acts there is a home's */
	bool is_bare; /* counts outside of .git only */
} rows[] = {
	{ ".git/hooks/**",                   HOOK },
	{ ".git/config",                     GIT },
	{ ".git/config.worktree",            GIT },
	{ ".git/info/attributes",            GIT },
	{ ".git/commondir",                  GIT },
	{ ".git/gitdir",                     GIT },
	{ ".git/remotes/*",                  GIT },
	{ ".git/branches/**",                GIT },
	{ ".git/modules/**/hooks/**",        HOOK },
	{ ".git/modules/**/config",          GIT },
	{ ".git/modules/**/commondir",       GIT },
	{ ".git/worktrees/*/config.worktree", GIT },
	{ ".git/worktrees/*/commondir",      GIT },
	{ ".git/worktrees/*/gitdir",         GIT },
	{ ".git/rebase-merge/**",            GIT }, /* commands that the next --continue executes */
	{ ".git/worktrees/*/rebase-merge/**", GIT },
	{ "*.git/hooks/**",                  HOOK },
	{ "*.git/config",                    GIT },
	{ "HEAD",                            REPO, false, true }, /* beside it git looks for settings */
	{ ".gitmodules",                     GIT },
	{ ".gitattributes",                  GIT },
	{ ".husky/**",                       HOOK },
	{ ".githooks/**",                    HOOK },
	{ ".pre-commit-config.yaml",         HOOK },
	{ "lefthook.yml",                    HOOK },
	{ "lefthook.*",                      HOOK },
	{ "lefthook-local.*",                HOOK },
	{ ".lefthook.yml",                   HOOK },
	{ ".lefthook.*",                     HOOK },
	{ ".lefthook-local.*",               HOOK },
	{ ".overcommit.yml",                 HOOK },
	{ ".lintstagedrc*",                  HOOK },
	{ "lint-staged.config.*",            HOOK },
	{ ".commitlintrc*",                  HOOK },
	{ "commitlint.config.*",             HOOK },
	{ ".simple-git-hooks.*",             HOOK },
	{ "simple-git-hooks.*",              HOOK },
	{ "captainhook.json",                HOOK },
	{ "grumphp.yml",                     HOOK },
	{ ".hg/hgrc",                        TOOL },
	{ ".hg/hgrc-not-shared",             TOOL },
	{ ".hg/sharedpath",                  TOOL },
	{ ".sl/config",                      TOOL },
	{ ".jj/repo",                        TOOL },
	{ ".jj/repo/config.toml",            TOOL },
	{ ".jj/repo/workspace-config.toml",  TOOL },
	{ ".jj/repo/store/git_target",       TOOL },

	{ ".envrc",                          SHELL },
	{ ".envrc.*",                        SHELL },
	{ ".autoenv.zsh",                    SHELL },
	{ ".rvmrc",                          SHELL },
	{ ".mise.toml",                      TOOL },
	{ "mise.toml",                       TOOL },
	{ "mise.local.toml",                 TOOL },
	{ ".mise.local.toml",                TOOL },
	{ ".mise/**",                        TOOL },
	{ "shell.nix",                       TOOL },
	{ "flake.nix",                       TOOL },
	{ "devenv.nix",                      TOOL },
	{ ".npmrc",                          TOOL },
	{ ".yarnrc",                         TOOL },
	{ ".yarnrc.yml",                     TOOL },
	{ ".pnpmfile.cjs",                   TOOL },
	{ ".pnpmfile.mjs",                   TOOL },
	{ ".yarn/releases/**",               TOOL },
	{ ".yarn/plugins/**",                TOOL },
	{ "bunfig.toml",                     TOOL },
	{ ".eslintrc*",                      TOOL },
	{ "eslint.config.*",                 TOOL },
	{ ".prettierrc*",                    TOOL },
	{ "prettier.config.*",               TOOL },
	{ ".stylelintrc*",                   TOOL },
	{ "stylelint.config.*",              TOOL },
	{ ".cargo/config",                   TOOL },
	{ ".cargo/config.toml",              TOOL },
	{ "rust-toolchain",                  TOOL },
	{ "rust-toolchain.toml",             TOOL },
	{ "rust-analyzer.toml",              TOOL },
	{ ".rust-analyzer.toml",             TOOL },
	{ ".mvn/**",                         TOOL },
	{ "gradle/wrapper/**",               TOOL },
	{ ".sbtopts",                        TOOL },
	{ ".jvmopts",                        TOOL },
	{ ".bsp/*.json",                     TOOL },
	{ ".bundle/config",                  TOOL },
	{ ".rubocop.yml",                    TOOL },
	{ "Vagrantfile",                     TOOL },
	{ ".gdbinit",                        TOOL },
	{ ".lldbinit",                       TOOL },
	{ ".pdbrc",                          TOOL },
	{ ".Rprofile",                       TOOL },
	{ ".Renviron",                       TOOL },
	{ "renv/activate.R",                 TOOL },
	{ ".ghci",                           TOOL },
	{ "hie.yaml",                        TOOL },
	{ ".ocamlinit",                      TOOL },
	{ ".psysh.php",                      TOOL },
	{ ".formatter.exs",                  TOOL },
	{ ".iex.exs",                        TOOL },
	{ ".irbrc",                          TOOL },
	{ ".pryrc",                          TOOL },
	{ ".octaverc",                       TOOL },
	{ "sitecustomize.py",                TOOL },
	{ "usercustomize.py",                TOOL },
	{ "site-packages/*.pth",             TOOL },
	{ "conftest.py",                     TOOL },
	{ ".pylintrc",                       TOOL },
	{ "pylintrc",                        TOOL },
	{ ".flake8",                         TOOL },
	{ "mypy.ini",                        TOOL },
	{ ".mypy.ini",                       TOOL },

	{ ".vscode/*.json",                  EDITOR },
	{ "*.code-workspace",                EDITOR },
	{ ".idea/**",                        EDITOR },
	{ ".zed/*.json",                     EDITOR },
	{ ".devcontainer/**",                EDITOR },
	{ ".devcontainer.json",              EDITOR },
	{ ".exrc",                           EDITOR },
	{ ".nvimrc",                         EDITOR },
	{ ".nvim.lua",                       EDITOR },
	{ ".lazy.lua",                       EDITOR },
	{ ".vim/**",                         EDITOR },
	{ ".lvimrc",                         EDITOR },
	{ ".vimrc",                          EDITOR },
	{ ".dir-locals.el",                  EDITOR },
	{ ".dir-locals-2.el",                EDITOR },
	{ ".helix/**",                       EDITOR },
	{ ".fleet/**",                       EDITOR },
	{ ".externalToolBuilders/**",        EDITOR },

	{ ".mcp.json",                       AGENT },
	{ ".claude/**",                      AGENT },
	{ ".cursor/**",                      AGENT },
	{ ".codex/**",                       AGENT },
	{ ".gemini/**",                      AGENT },
	{ ".continue/**",                    AGENT },
	{ ".windsurf/**",                    AGENT },
	{ ".roo/**",                         AGENT },
	{ ".kiro/**",                        AGENT },
	{ ".agents/**",                      AGENT },
	{ ".amazonq/**",                     AGENT },
	{ ".junie/**",                       AGENT },
	{ ".qwen/**",                        AGENT },
	{ ".aider.conf.yml",                 AGENT },
	{ ".opencode/**",                    AGENT },
	{ "opencode.json",                   AGENT },
	{ "CLAUDE.md",                       WORDS },
	{ "CLAUDE.local.md",                 WORDS },
	{ "AGENTS.md",                       WORDS },
	{ "GEMINI.md",                       WORDS },
	{ ".cursorrules",                    WORDS },
	{ ".windsurfrules",                  WORDS },
	{ ".clinerules",                     WORDS },
	{ ".clinerules/**",                  WORDS },

	{ ".github/workflows/**",            CI },
	{ ".github/actions/**",              CI },
	{ ".github/copilot-instructions.md", WORDS },
	{ ".github/instructions/**",         WORDS },
	{ ".github/agents/**",               WORDS },
	{ ".github/prompts/**",              WORDS },
	{ ".gitlab-ci.yml",                  CI },
	{ ".circleci/**",                    CI },
	{ ".buildkite/**",                   CI },
	{ ".woodpecker/**",                  CI },
	{ ".woodpecker.yml",                 CI },
	{ ".forgejo/**",                     CI },
	{ ".gitea/**",                       CI },
	{ ".drone.yml",                      CI },
	{ ".travis.yml",                     CI },
	{ "azure-pipelines.yml",             CI },
	{ "bitbucket-pipelines.yml",         CI },
	{ "Jenkinsfile",                     CI },

	{ ".bashrc",                         SHELL, true },
	{ ".bash_profile",                   SHELL, true },
	{ ".bash_login",                     SHELL, true },
	{ ".bash_logout",                    SHELL, true },
	{ ".bash_aliases",                   SHELL, true },
	{ ".profile",                        SHELL, true },
	{ ".zshrc",                          SHELL, true },
	{ ".zshenv",                         SHELL, true },
	{ ".zprofile",                       SHELL, true },
	{ ".zlogin",                         SHELL, true },
	{ ".zlogout",                        SHELL, true },
	{ ".kshrc",                          SHELL, true },
	{ ".cshrc",                          SHELL, true },
	{ ".tcshrc",                         SHELL, true },
	{ ".login",                          SHELL, true },
	{ ".inputrc",                        SHELL, true },
	{ ".xprofile",                       START, true },
	{ ".xinitrc",                        START, true },
	{ ".xsession",                       START, true },
	{ ".xsessionrc",                     START, true },
	{ ".pam_environment",                START, true },
	{ ".config/autostart/**",            START, true },
	{ ".config/environment.d/**",        START, true },
	{ ".config/systemd/user/**",         START, true },
	{ ".config/fish/**",                 SHELL, true },
	{ ".config/git/**",                  GIT, true },
	{ ".config/nvim/**",                 EDITOR, true },
	{ ".config/pip/**",                  TOOL, true },
	{ ".config/ringfort/**",             TOOL, true }, /* what our own boxes may do */
	{ ".local/share/systemd/user/**",    START, true },
	{ ".local/share/applications/**",    START, true },
	{ ".ssh/**",                         "ssh settings", true },
	{ ".gitconfig",                      GIT, true },
	{ ".emacs",                          EDITOR, true },
	{ ".emacs.d/**",                     EDITOR, true },
	{ ".tmux.conf",                      TOOL, true },
	{ ".screenrc",                       TOOL, true },
	{ ".pythonrc",                       TOOL, true },
};
/* clang-format on */

/* All rows: those above, and the owner's own behind them. */
static const struct row *table = rows;
static size_t count = RF_LEN(rows);
static const char *const *exempt; /* NULL-ended, or NULL */

/*
 * True if the row's part, with at most one `*`, stands for the name, in capital letters or small ones: a tree that is
 * shared with another system may lie on a file system that does not tell them apart.
 */
static bool part_is(const char *part, size_t len, const char *name, size_t name_len)
{
	const char *star = memchr(part, '*', len);
	size_t before = star ? (size_t)(star - part) : len, after = star ? len - before - 1 : 0;

	if (!star)
		return len == name_len && strncasecmp(part, name, len) == 0;
	return name_len >= before + after && strncasecmp(part, name, before) == 0 &&
	       strncasecmp(star + 1, name + name_len - after, after) == 0;
}

/* For a quick look: the first letter is the same, or any will do. */
static bool may_be(const char *part, const char *name)
{
	return part[0] == '*' || (part[0] | ' ') == (name[0] | ' ');
}

/* True if the path lies in a folder .git. */
static bool is_in_git(const char *path)
{
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1)
		if (part_is(".git", 4, path, (size_t)(slash - path)))
			return true;
	return false;
}

/* How a path stands to a row; what is more comes later. */
enum relation {
	APART,
	ABOVE, /* a folder that leads to what the row names */
	MATCH
};

/* Compares a path and a row, both from the same folder on. */
static enum relation compare(const char *row, const char *path)
{
	for (;;) {
		size_t r = strcspn(row, "/"), p = strcspn(path, "/");

		if (strcmp(row, "**") == 0)
			return MATCH;
		if (strncmp(row, "**/", 3) == 0) {
			enum relation best = ABOVE;

			for (const char *at = path; at && best < MATCH;
			     at = strchr(at, '/'), at += at != NULL)
				if (compare(row + 3, at) > best)
					best = MATCH;
			return best;
		}
		if (!part_is(row, r, path, p))
			return APART;
		row += r + (row[r] == '/');
		path += p + (path[p] == '/');
		if (!*path)
			return *row ? ABOVE : MATCH;
		if (!*row)
			return APART;
	}
}

/* Where the last NAMES names of a path begin. */
static const char *last_names(const char *path)
{
	size_t left = NAMES;

	for (const char *at = path + strlen(path); at > path; at--)
		if (at[-1] == '/' && --left == 0)
			return at;
	return path;
}

/*
 * The first row that stands so to `path`, from its top or from one of its last folders on.  From all
 * of them would take time with the square of the depth, and the box chooses how deep a path is.
 */
static const char *find(const char *path, enum relation relation)
{
	const char *last = last_names(path);

	for (const char *from = path; from;
	     from = from < last ? last : strchr(from, '/'), from += from && *from == '/')
		for (size_t i = 0; i < count; i++)
			if (may_be(table[i].path, from) && (from == path || !table[i].is_top) &&
			    compare(table[i].path, from) == relation &&
			    !(table[i].is_bare && is_in_git(path)))
				return table[i].what;
	return NULL;
}

/* True if the owner says that it is an ordinary file. */
static bool is_exempt(const char *path)
{
	const char *last = last_names(path);

	for (const char *const *row = exempt; row && *row; row++)
		for (const char *from = path; from;
		     from = from < last ? last : strchr(from, '/'), from += from && *from == '/')
			if (compare(*row, from) == MATCH)
				return true;
	return false;
}

const char *rf_protected_what(const char *path)
{
	const char *what = find(path, MATCH);

	return what && !is_exempt(path) ? what : NULL;
}

const char *rf_protected_beneath(const char *path)
{
	return find(path, ABOVE);
}

bool rf_protected_begins(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < count; i++)
		if (may_be(table[i].path, name) &&
		    part_is(table[i].path, strcspn(table[i].path, "/"), name, len))
			return true;
	return false;
}

/* What row `i` has behind the folder and its slash, or NULL if it does not begin with them. */
static const char *behind(size_t i, const char *folder)
{
	size_t len = strlen(folder);

	if (len == 0)
		return table[i].path;
	return strncmp(table[i].path, folder, len) == 0 && table[i].path[len] == '/'
		       ? table[i].path + len + 1
		       : NULL;
}

/* True if every name that matters in the folder can be told. */
static bool is_told(const char *folder)
{
	bool has_any = false;

	for (size_t i = 0; i < count; i++) {
		const char *name = behind(i, folder);

		if (name && memchr(name, '*', strcspn(name, "/")))
			return false;
		has_any |= name != NULL;
	}
	return has_any;
}

int rf_protected_next(const char *folder, size_t i, const char **ret_name, size_t *ret_len)
{
	const char *name, *before;
	size_t len;

	if (*folder && !is_told(folder))
		return -1;
	if (i >= count)
		return 0;
	name = behind(i, folder);
	before = i > 0 ? behind(i - 1, folder) : NULL;
	len = name ? strcspn(name, "/") : 0;
	*ret_name = name;
	*ret_len = len;
	if (len == 0 || memchr(name, '*', len) ||
	    (before && strncmp(before, name, len) == 0 &&
	     (before[len] == '/' || before[len] == '\0')))
		*ret_len = 0;
	return 1;
}

/* ------------------------------------------------------------- the owner's own */

/*
 * `**` stands once between names and once at the end, and never first, where it says nothing: a box chooses how deep
 * a path is, and each of them multiplies what a look at one costs.
 */
bool rf_protected_is_row(const char *text)
{
	unsigned between = 0;

	for (const char *part = text;; part++) {
		size_t len = strcspn(part, "/"), stars = 0;
		bool is_many = len == 2 && strncmp(part, "**", 2) == 0, is_last = !part[len];

		for (size_t i = 0; i < len; i++)
			stars += part[i] == '*';
		between += is_many && !is_last;
		if (len == 0 || (stars > 1 && !is_many) || between > 1 ||
		    (is_many && part == text) || (len <= 2 && strncmp(part, "..", len) == 0))
			return false;
		if (is_last)
			return true;
		part += len;
	}
}

int rf_protected_set(const char *const *names, const char *const *ordinary)
{
	size_t own = 0;
	struct row *all;

	exempt = ordinary;
	while (names && names[own])
		own++;
	all = own ? malloc((RF_LEN(rows) + own) * sizeof(*all)) : NULL;
	if (own && !all)
		return -ENOMEM;
	if (table != rows)
		free((void *)(uintptr_t)table);
	table = all ? all : rows;
	count = RF_LEN(rows) + own;
	if (all)
		memcpy(all, rows, sizeof(rows));
	for (size_t i = 0; i < own; i++)
		all[RF_LEN(rows) + i] = (struct row){ .path = names[i], .what = OWN };
	return 0;
}
