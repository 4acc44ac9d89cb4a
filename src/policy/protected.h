/*
 * Protected names: files that act later, on whoever uses a folder outside of a box.
 *
 * A hook is run by git, a task by an editor, a pipeline by a server, an instruction is followed by an
 * agent.  One table says which names these are.  Pure: a path is matched as text, so whoever reports
 * changes (jail/planted.c) and whoever will refuse them go by the same list.
 */
#ifndef RF_POLICY_PROTECTED_H
#define RF_POLICY_PROTECTED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What the file at `path` is ("git hook"), or NULL for an ordinary one.  `path` is relative to the top
 * of a tree, normal, without a slash in front.
 */
const char *rf_protected_what(const char *path);

/*
 * What lies beneath `path` ("git hook" for ".git/hooks" and for ".git"), or NULL.  If that is no folder
 * but a link, it leads to files that act.
 */
const char *rf_protected_beneath(const char *path);

/* True if a path that begins with this name can be one of the two; false spares the longer look. */
bool rf_protected_begins(const char *name);

/*
 * The names in a folder of a tree ("" is its top) that are protected or lead to what is, one for each
 * `i` until 0 comes back.  A length of 0 says to go on: the name was there before, or is none of this
 * folder's.  Returns -1 beneath the top where any name could be one.
 */
int rf_protected_next(const char *folder, size_t i, const char **ret_name, size_t *ret_len);

/* True for what can be a row of the owner's: names with one `*` each, no `..`, and `**` for any names. */
bool rf_protected_is_row(const char *text);

/*
 * Adds rows of the owner's, and names those that are ordinary files to him; both end with NULL, may be NULL, and are borrowed
 * for good.  They count wherever they lie in a tree.  For a program's beginning: nothing of this is locked.
 */
int rf_protected_set(const char *const *names, const char *const *ordinary);

#endif
