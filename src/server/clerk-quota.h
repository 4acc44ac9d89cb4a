/*
 * How much a tenant's workspaces take together: bytes and files, counted by looking, and held against what its key may have.
 *
 * Bytes are those of the blocks that a file has, so that a hole counts for nothing and a large file can't be hidden behind a small size; a file with several
 * names is counted once, and each of its names as a file.  No link is followed, and a folder's `..` leads back only to the one that was come from: whatever a box moves about meanwhile, what is looked
 * at is the tenant's own.  How deep folders are nested does not matter.
 *
 * A new workspace, a checkpoint and a fork are refused here, before.  For boxes the sum is left in the tenant's folder (wire/tenancy.h), where the warden reads it: a thread counts again and again
 * while boxes have workspaces of the tenant's, and when one was taken away or a box refused.
 */
#ifndef RF_SERVER_CLERK_QUOTA_H
#define RF_SERVER_CLERK_QUOTA_H

#include "server/clerk.h"
#include "wire/tenancy.h"

/* Counts what lies in the folder `dir` (borrows), with all beneath it. */
int rf_clerk_quota_count(int dir, struct rf_tenancy_usage *ret_usage);

/* -EDQUOT, with words: the tenant has no room for another workspace. */
int rf_clerk_quota_check(const struct rf_clerk_asker *who, int all, struct rf_err *err);

/* Something was taken away from the folder `all` (borrows) of a tenant, of this size if that is known, else NULL: what is there is counted soon. */
void rf_clerk_quota_again(int all, const struct rf_tenancy_usage *freed);

/* Begins to count where boxes have workspaces, for good. */
void rf_clerk_quota_begin(void);

#endif
