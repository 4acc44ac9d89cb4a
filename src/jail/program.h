/*
 * The programs that a box may run, where its policy names them (`commands`).
 *
 * A name stands for a file, the links that lead to it, and what it can't start without: a script's
 * interpreter, an ELF program's loader, known helpers.  All are found in the launcher, by walking
 * the names as the box will see them; the walls go by the result (rack.c, landlock.c), and
 * `policy explain` prints it.
 */
#ifndef RF_JAIL_PROGRAM_H
#define RF_JAIL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "policy/plan.h"

#define RF_PROGRAM_MAX 1024 /* files, links and folders, of each */

/* A file that may be executed, or a folder of such files. */
struct rf_program {
	char *path; /* in the box, without a link in it */
	char *why;  /* "named", "helper of git", "interpreter of npm", "loader of python3" */
	bool is_named;
	bool is_folder;
};

struct rf_program_link {
	char *path, *target;
};

struct rf_program_set {
	struct rf_program *programs;
	struct rf_program_link *links; /* that lead to them */
	char **folders; /* that hold programs, and show only these; outer ones first */
	size_t program_count, link_count, folder_count;
};

/*
 * Finds what plan->commands stand for (borrows the plan, whose commands are not NULL).  A name
 * that leads to no program is an error.  Gives `*ret_set`, to be freed with rf_program_free().
 */
int rf_program_find(const struct rf_plan *plan, struct rf_program_set **ret_set,
		    struct rf_err *err);
void rf_program_free(struct rf_program_set *set);

/*
 * The one of the set that `name` (a path, or a name on the box's PATH) leads to, or NULL.  `real` has
 * room for PATH_MAX bytes: the path without links, or "" where there is no program at all.
 */
const struct rf_program *rf_program_look(const struct rf_program_set *set,
					 const struct rf_plan *plan, const char *name, char *real);

/*
 * Refuses (-EPERM) a plan whose own program is there, but not one of those named; otherwise notes
 * the links that lead to it.
 */
int rf_program_admit(struct rf_program_set *set, const struct rf_plan *plan, struct rf_err *err);

#endif
