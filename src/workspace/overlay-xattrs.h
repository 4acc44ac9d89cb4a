/*
 * Attributes of overlayfs on files that are no layer's.
 *
 * Overlayfs keeps its notes in extended attributes, and believes them on whatever it lies over: user.overlay.metacopy on a file says
 * that its content is elsewhere, and the file can't be reached any more; user.overlay.whiteout, that it was deleted.  In
 * a directory of the user's there is no honest reason for one.  A program that could write there (a box with `--write`) may
 * have set it, so that later workspaces over the directory do not see the file.
 */
#ifndef RF_WORKSPACE_OVERLAY_XATTRS_H
#define RF_WORKSPACE_OVERLAY_XATTRS_H

#include "base/err.h"

/*
 * Looks at `name` in the open folder `dir` ("." is the folder itself), and follows no link.  Returns 0 if it has no such attribute or
 * is not there any more; else -EPERM, with an error that calls it `path`.
 */
int rf_overlay_xattrs_refuse(int dir, const char *name, const char *path, struct rf_err *err);

#endif
