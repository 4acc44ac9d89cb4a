/*
 * Files that speak for the caller: the configuration, profiles of one's own.
 *
 * Such a file is read without being named on the command line, so it counts only if nobody else
 * could have written it.  The path is followed one name at a time from the root, and everything on
 * the way must belong to the caller or to root: the file, the folders, and each symbolic link with
 * all that its target leads through (people link their dotfiles).  None of it may be writable by
 * group or others, except that a folder with the sticky bit (/tmp) is no danger: in it, nobody
 * can replace what belongs to somebody else.  What is judged is the open descriptor, so the
 * answer holds for the bytes that are read.
 */
#ifndef RF_BASE_OWN_FILE_H
#define RF_BASE_OWN_FILE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Reads the file at `path` (absolute), of at most `max` bytes, into `text`, which is initialised
 * here and to be freed by the caller in any case.  Returns 0, -ENOENT where there is no such file
 * (one system call, so a file that may be missing costs nothing), -EPERM where it is there and can't
 * be trusted, or another negative errno.  The error names the culprit and what to do about it.
 */
int rf_own_file_read(const char *path, size_t max, struct rf_buf *text, struct rf_err *err);

#endif
