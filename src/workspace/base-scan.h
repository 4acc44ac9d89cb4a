/*
 * One look through the directory of a workspace, before a workspace is made over it or a shadow run begins.
 *
 * Everything that has to be asked of each file there is asked in this one walk: a row of the table in base-scan.c.  The walk is
 * bounded, from the top of the tree down, since a workspace is to cost the same however large its directory is; what lies
 * behind the bound is not looked at, and said to be so.
 */
#ifndef RF_WORKSPACE_BASE_SCAN_H
#define RF_WORKSPACE_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct rf_base_scan {
	size_t seen;     /* entries looked at */
	bool is_partial; /* there are more than RF_MAX_BASE_SCAN, or some too deep for a path */
	size_t closed; /* folders that who looks can't list or search; a box may know names in them */
	char first[128]; /* of those, from the top and maybe cut */
};

/*
 * Looks through the open directory `dir`.  Gives `*ret_scan` and returns 0; or a negative errno for what makes it no directory for a
 * workspace, with an error that names the file.
 */
int rf_base_scan_run(int dir, struct rf_base_scan *ret_scan, struct rf_err *err);

#endif
