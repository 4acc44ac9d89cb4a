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
 * A box that has one holds a shared lock on the folder; who takes one away has it alone.
 */
#ifndef RF_WIRE_TENANCY_H
#define RF_WIRE_TENANCY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define RF_TENANCY_NAME 64 /* bytes of a workspace's name, with a NUL */
#define RF_TENANCY_OWN                                                                             \
	"own-" /* in front of the names of sandboxes' own: nobody can choose such a name */
#define RF_TENANCY_PLACE "/work" /* where a box has it */

/* Letters, digits, `-` and `_`, that begin with a letter or a digit. */
bool rf_tenancy_is_name(const char *text);

/* The folder of all that a tenant has, `may_make`: which is made.  A descriptor or a negative errno. */
int rf_tenancy_open_all(const char *tenant, bool may_make);

/* That of one.  -ENOENT, with words, where there is none. */
int rf_tenancy_open(const char *tenant, const char *name, struct rf_err *err);

#endif
