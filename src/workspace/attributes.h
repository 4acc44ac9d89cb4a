/*
 * The extended attributes of a file or folder that are part of a tree: users' own, and access control lists.
 *
 * Not the system's others (labels, capabilities), which belong to this machine, nor those that overlayfs keeps its notes in.
 */
#ifndef RF_WORKSPACE_ATTRIBUTES_H
#define RF_WORKSPACE_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

struct rf_attribute {
	char *name, *value;
	size_t len; /* of the value */
};

struct rf_attributes {
	struct rf_attribute *items; /* sorted by name */
	size_t count;
};

/* True for the name of one that is part of a tree. */
bool rf_attributes_count(const char *name);

/* Reads those of an open file or folder; a file system without any has none.  To be freed in any case. */
int rf_attributes_read(int file, struct rf_attributes *ret_attributes);
void rf_attributes_done(struct rf_attributes *attributes);

/* Finds one by name, or NULL. */
const struct rf_attribute *rf_attributes_find(const struct rf_attributes *attributes,
					      const char *name);

bool rf_attributes_are_same(const struct rf_attribute *a, const struct rf_attribute *b);

/* True if two open files or folders have the same. */
bool rf_attributes_match(int one, int two);

/* Gives an open file or folder exactly these.  Returns 0, or a negative errno if one could not be set. */
int rf_attributes_write(int file, const struct rf_attributes *attributes);

#endif
