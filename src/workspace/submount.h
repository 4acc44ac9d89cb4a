/* Other file systems within a directory: see submount.c. */
#ifndef RF_WORKSPACE_SUBMOUNT_H
#define RF_WORKSPACE_SUBMOUNT_H

#include "base/err.h"

/* Fails if something is mounted within the directory `path` (absolute), which is open as `dir`. */
int rf_submount_refuse(int dir, const char *path, struct rf_err *err);

#endif
