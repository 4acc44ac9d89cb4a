/* Whole files of bounded size, read at once. */
#ifndef RF_BASE_SLURP_H
#define RF_BASE_SLURP_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Reads the file at `path`, of at most `max` bytes, into `text`, which is initialised here and to
 * be freed by the caller in any case; text->data is never NULL afterwards.  Neither a folder nor a
 * pipe that nobody writes to makes it wait.  The error does not name the path: the caller knows
 * how to call it.
 */
int rf_slurp(const char *path, size_t max, struct rf_buf *text, struct rf_err *err);

/* The same from an open descriptor (borrows). */
int rf_slurp_fd(int fd, size_t max, struct rf_buf *text, struct rf_err *err);

#endif
