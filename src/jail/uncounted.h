/*
 * Writable trees of the host in which nobody counts what a box writes.
 *
 * The kernel counts pages that a process made dirty for a disk.  Files in memory (tmpfs) have no disk, and those of file
 * systems that hand every write on to another process or machine (FUSE, 9p) are counted there, if at all.
 */
#ifndef RF_JAIL_UNCOUNTED_H
#define RF_JAIL_UNCOUNTED_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/plan.h"

/*
 * True if a tree that the plan lets the box write is such a one, or has one mounted within: `path` (of `size` bytes) is then where,
 * and `*ret_type` what it is (static).  Where mounts can't be listed, that counts as one.
 */
bool rf_uncounted_find(const struct rf_plan *plan, char *path, size_t size, const char **ret_type);

/* The same for one line of mountinfo, of what is mounted within the tree at `source`.  Pure.  Changes `line`. */
bool rf_uncounted_line(char *line, const char *source, char *path, size_t size,
		       const char **ret_type);

#endif
