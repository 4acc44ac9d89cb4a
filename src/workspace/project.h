/*
 * A project quota: how much the folders of one layer may hold, kept by their file system.
 *
 * ext4 and xfs count what lies in a project and refuse what is too much, for every writer at once.  Only root can begin
 * one, and only where the file system was mounted with it (prjquota).
 */
#ifndef RF_WORKSPACE_PROJECT_H
#define RF_WORKSPACE_PROJECT_H

#include <stdint.h>

/*
 * Makes the folders `up` and `work` of an empty layer a project of their own, with these limits.  Returns 0 or a negative
 * errno: the file system can't, or does not do it now.
 */
int rf_project_begin(int layer, uint64_t bytes, uint64_t inodes);

/* Takes the limits of a layer's project away: what is in it stays, and may be used for anything from now on. */
void rf_project_end(int layer);

#endif
