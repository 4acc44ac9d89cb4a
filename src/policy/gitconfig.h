/*
 * What git reads about a repository: its settings, and the small files that lead to others.
 *
 * Settings name programs and further files, and so decide what acts when somebody uses a repository.  Pure and bounded by
 * the text: nothing is allocated, and each byte is looked at once.
 */
#ifndef RF_POLICY_GITCONFIG_H
#define RF_POLICY_GITCONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Settings under way: one at a time, as rf_gitconfig_next() finds them. */
struct rf_gitconfig {
	const char *text;
	size_t len, at;
	char section[32],
		name[32]; /* in small letters; a longer one is none that we know, and "" */
	char *value;      /* ends with NUL; "" for a name that stands alone */
};

/* What a setting's value is to us. */
enum rf_gitconfig_role {
	RF_GITCONFIG_OTHER,
	RF_GITCONFIG_INCLUDE, /* further settings, from the folder of these on */
	RF_GITCONFIG_HOOKS,   /* a folder, from the top of the work tree on, as all that follow */
	RF_GITCONFIG_ATTRIBUTES, /* a file that says which programs are for which files */
	RF_GITCONFIG_TEMPLATE,   /* a folder that new repositories are copied from */
	RF_GITCONFIG_COMMAND,    /* a line for a shell */
	RF_GITCONFIG_WORKTREE,   /* where the work tree is, from the repository on */
};

/* Begins.  Borrows the text, and `scratch` of len + 1 bytes for values. */
void rf_gitconfig_init(struct rf_gitconfig *config, const char *text, size_t len, char *scratch);

/* The next setting.  Returns 1, 0 at the end, or -EINVAL where git would refuse to go on. */
int rf_gitconfig_next(struct rf_gitconfig *config);

enum rf_gitconfig_role rf_gitconfig_role(const struct rf_gitconfig *config);

/* Where a file `.git` leads; false for one that leads nowhere. */
bool rf_gitconfig_read_link(const char *text, size_t len, char ret_path[PATH_MAX]);

/* The same for `commondir` and `gitdir` in a repository, which have nothing but a path. */
bool rf_gitconfig_read_path(const char *text, size_t len, char ret_path[PATH_MAX]);

/* The next word of a command that may be a file's name (it has a slash or a dot in it).  False behind the last one. */
bool rf_gitconfig_next_file(const char **command, char ret_word[PATH_MAX]);

#endif
