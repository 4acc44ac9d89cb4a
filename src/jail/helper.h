/*
 * Programs that other programs need: one table.
 *
 * Whoever allows `git` means git with its parts.  A helper is looked for like a name of the policy;
 * one that this machine does not have is passed over.
 */
#ifndef RF_JAIL_HELPER_H
#define RF_JAIL_HELPER_H

#include <stddef.h>

#define RF_HELPER_MAX 12

struct rf_helper {
	const char *program; /* a pattern for the name of the program, as in glob(7) */
	/* Names, or patterns of paths; one with a slash at its end is a folder, with all in it. */
	const char *needs[RF_HELPER_MAX];
};

extern const struct rf_helper rf_helper_table[];
extern const size_t rf_helper_count;

/* Patterns of the folders that hold programs and can be left out of a box, outer ones first. */
extern const char *const rf_helper_folders[];
extern const size_t rf_helper_folder_count;

#endif
