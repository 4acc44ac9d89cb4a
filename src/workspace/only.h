/*
 * Which changes of an apply are meant: paths as a person writes them (`--only`).  Pure.
 *
 * `only` is a list that ends with NULL; NULL itself names nothing.
 */
#ifndef RF_WORKSPACE_ONLY_H
#define RF_WORKSPACE_ONLY_H

#include <stdbool.h>

#include "workspace/delta.h"

/* True if the path, or a folder above it, is on the list. */
bool rf_only_covers(const char *const *only, const char *path);

/* True for a new folder above something on the list, which is not NULL. */
bool rf_only_is_way(const char *const *only, const struct rf_change *change);

/* True if the path itself is on the list. */
bool rf_only_is(const char *const *only, const char *path);

#endif
