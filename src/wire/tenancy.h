/*
 * Where the workspaces of a server's tenants lie: $STATE/tenants/t-TENANT/NAME.
 *
 * Known to who keeps them (the server's clerk) and to who shows them to boxes (the warden), so that nobody between the two says a path: a name
 * means something only beneath its tenant, and that is the connection's.  In the folder of one:
 *
 *     tree/files    what boxes see, and write
 *     tree/points   its checkpoints
 *     note          what is known of it
 *
 * A box that has one holds a shared lock on the folder, and one that can be asked about; who takes one away has it alone.  Beside them lie `.usage`, what all of them take together, as the
 * clerk has counted it, and `.used`, on which whoever shows one to a box has a lock, and whose time is that of the last moment from which on it is to be
 * counted again (a box had one and is gone, one was taken away, a box was refused by the last count): nobody but the two writes there.
 */
#ifndef RF_WIRE_TENANCY_H
#define RF_WIRE_TENANCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

#define RF_TENANCY_NAME 64 /* bytes of a workspace's name, with a NUL */
#define RF_TENANCY_OWN                                                                             \
	"own-" /* in front of the names of sandboxes' own: nobody can choose such a name */
#define RF_TENANCY_PLACE "/work" /* where a box has it */
#define RF_TENANCY_LABEL 64      /* bytes of a label's name or value, with a NUL */

#define RF_TENANCY_STORAGE                                                                         \
	(20ull << 30)               /* bytes that a tenant's may take where its key says nothing */
#define RF_TENANCY_FILES 1000000ull /* and files */
#define RF_TENANCY_USAGE ".usage"
#define RF_TENANCY_USED  ".used"

struct rf_tenancy_usage {
	uint64_t bytes, files;
};

/* What `.usage` says. */
struct rf_tenancy_sum {
	struct rf_tenancy_usage held; /* what holds */
	struct rf_tenancy_usage
		counted; /* what the last count has found: less, where boxes were at work */
};

/* Letters, digits, `-` and `_`, that begin with a letter or a digit. */
bool rf_tenancy_is_name(const char *text);

/* What a label of a tenant's thing can be called, and have as its value besides nothing. */
bool rf_tenancy_is_label(const char *text);

/* The folder of all that a tenant has, `may_make`: which is made.  A descriptor or a negative errno. */
int rf_tenancy_open_all(const char *tenant, bool may_make);

/* What was counted in it (borrows), and when: `since` becomes its time.  Negative errnos. */
int rf_tenancy_read_usage(int all, struct rf_tenancy_sum *ret_sum);
int rf_tenancy_write_usage(int all, const struct rf_tenancy_sum *sum, const struct timespec *since);

/* `.used` in it (borrows), which is made: a descriptor, or -1. */
int rf_tenancy_open_used(int all);

/* What there is from now on is to be counted.  -1: nothing is. */
void rf_tenancy_touch_used(int used);

/* Holds the folder of one (borrows) as who shows it to a box does, until it is closed.  -EBUSY: somebody has it alone. */
int rf_tenancy_hold(int folder);

/* True if somebody holds it so.  Asked, and nothing is taken: who begins to hold it in this moment is not kept from it. */
bool rf_tenancy_is_held(int folder);

/* That of one.  -ENOENT, with words, where there is none. */
int rf_tenancy_open(const char *tenant, const char *name, struct rf_err *err);

#endif
