/*
 * Paths beneath a directory descriptor, so that a name means one file.
 */
#ifndef RF_BASE_PATH_H
#define RF_BASE_PATH_H

/*
 * Opens `path` beneath `dir`: `..`, symbolic links and magic links on the way are errors (ELOOP,
 * EXDEV), and an absolute path counts from `dir`.  Uses openat2 (Linux 5.6), or walks one
 * component at a time where that is missing.  Returns a descriptor or a negative errno.
 */
int rf_path_open_beneath(int dir, const char *path, int flags);

/* The same, and what is mounted beneath `dir` is an error, too (EXDEV). */
int rf_path_open_within(int dir, const char *path, int flags);

/* True if `path` equals `top` or lies beneath it; both absolute and normal. */
int rf_path_is_beneath(const char *path, const char *top);

#endif
