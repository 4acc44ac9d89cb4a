/*
 * The tree that a stack of layers shows, read from outside as a box sees it from inside.
 *
 * A name is looked for from the top layer down: a device 0:0 says that it is gone, a folder shows what all layers have in it
 * down to one that is opaque.  One name is taken at a time, each by openat2 beneath the folder before it: no `..`, no link,
 * no magic link and no other file system is entered on the way, whatever a box has made.
 */
#ifndef RF_WORKSPACE_MERGED_H
#define RF_WORKSPACE_MERGED_H

#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>

#include "workspace/stack.h"

/* A folder: where each layer that shows it has it, from the top down. */
struct rf_merged {
	int *dirs;     /* descriptors */
	size_t *which; /* layers of the stack */
	size_t count;
};

/* A name in a folder. */
struct rf_merged_entry {
	struct stat st;
	size_t at; /* in the folder: which layer's it is */
};

struct rf_merged_names {
	char **items; /* sorted, each once */
	size_t count, room;
};

/* The whole tree's top.  Gives a folder, to be freed with rf_merged_done() in any case. */
int rf_merged_open_top(const struct rf_stack *stack, struct rf_merged *ret_folder);

/* A folder in a folder, the same way.  -ENOENT, -ENOTDIR, -ELOOP for a link, -EXDEV where something else is mounted. */
int rf_merged_enter(const struct rf_merged *in, const char *name, struct rf_merged *ret_folder);

/* A folder that was entered before, by its path and the layers that it had: in one step, however deep it lies. */
int rf_merged_reopen(const struct rf_stack *stack, const char *path, const size_t *which,
		     size_t count, struct rf_merged *ret_folder);

void rf_merged_done(struct rf_merged *folder);

/* What a name in the folder is.  Returns 0, -ENOENT, or another negative errno. */
int rf_merged_look(const struct rf_merged *in, const char *name, struct rf_merged_entry *ret_entry);

/* Opens the file of this name for reading; -EINVAL if it is none. */
int rf_merged_open(const struct rf_merged *in, const char *name);

/* The names in the folder.  To be freed with rf_merged_names_done() in any case. */
int rf_merged_list(const struct rf_merged *in, struct rf_merged_names *ret_names);
void rf_merged_names_done(struct rf_merged_names *names);

/*
 * Opens the folder that holds the last name of `path`, and copies that name; "" and "." is the top itself, and the name
 * is then empty.  -EINVAL for a path that is absolute or has `..` in it.
 */
int rf_merged_find(const struct rf_stack *stack, const char *path, struct rf_merged *ret_folder,
		   char ret_name[NAME_MAX + 1]);

/* Takes the next name off a path.  Returns 1, 0 at its end, or a negative errno for one that leads elsewhere. */
int rf_merged_next(const char **path, char ret_name[NAME_MAX + 1]);

#endif
