/*
 * One file, link or empty folder, copied from a layer to a tree or the other way round.
 *
 * Both sides are somebody's work: no link is followed, and nothing in another file system is reached.
 */
#ifndef RF_WORKSPACE_COPY_H
#define RF_WORKSPACE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens the folder that `path` lies in, beneath `top`, without following a link or entering a mount; `*ret_name` points
 * to the last name of `path`.  Returns a descriptor or a negative errno.
 */
int rf_copy_open_parent(int top, const char *path, const char **ret_name);

/*
 * Copies `name` of folder `from` to `as` in folder `to`, where nothing may be: content with its holes, permissions, owner
 * as far as we may, times, and attributes but for overlayfs's.  Returns 0 or a negative errno; nothing is left then.
 */
int rf_copy(int from, const char *name, int to, const char *as);

/*
 * The same between the directory and what is kept of it: with all bits of its mode, and pipes, too.  What a box wrote
 * gets out with permissions alone, and folders with the group that they hand down.
 */
int rf_copy_exactly(int from, const char *name, int to, const char *as);

/* Gives the folder `as` of `to` the extended attributes that `name` of `from` has, and no others. */
int rf_copy_attributes(int from, const char *name, int to, const char *as);

/*
 * Copies what can be read from `from` to the new file `to`, at most `most` bytes of content: -EDQUOT beyond, before anything
 * is written where the size is known.  Holes of a file stay holes.
 */
int rf_copy_stream(int from, int to, uint64_t most);

/* Gives an open folder owner, mode, times and attributes of another, but for overlayfs's. */
int rf_copy_look(int from, int to);

/* The bits of a mode that may get out of a layer. */
mode_t rf_copy_mode(mode_t mode);

#endif
