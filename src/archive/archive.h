/*
 * The whole tree of a workspace as an archive, and an archive as a change to a workspace.
 */
#ifndef RF_ARCHIVE_ARCHIVE_H
#define RF_ARCHIVE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "workspace/edit.h"
#include "workspace/stack.h"

/*
 * Writes what the stack shows to `fd` as tar, compressed.  Pipes, sockets and files that are closed to us are left out;
 * `ret_left` counts them.
 */
int rf_archive_export(const struct rf_stack *stack, int fd, size_t *ret_left, struct rf_err *err);

/* How much an archive may unpack to. */
struct rf_archive_limits {
	uint64_t bytes; /* of all files, with their holes */
	uint64_t entries;
};

/*
 * Puts what an archive on `fd` has into the workspace that is edited.  What is not in the archive stays as it is.  On
 * failure the edit is not to be kept.
 */
int rf_archive_import(struct rf_edit *edit, int fd, const struct rf_archive_limits *limits,
		      struct rf_err *err);

#endif
