/* For others of the clerk's who make and take away workspaces of a tenant's. */
#ifndef RF_SERVER_CLERK_WORKSPACE_H
#define RF_SERVER_CLERK_WORKSPACE_H

#include "server/clerk.h"
#include "wire/tenancy.h"

struct rf_clerk_workspace_wish {
	char name[RF_TENANCY_NAME]; /* "": of a sandbox's own */
	char from[RF_TENANCY_NAME]; /* whose checkpoint it begins with, or "" */
	uint32_t point;             /* that one, which is used up */
};

/* Makes one, and writes its name where it had none.  -EEXIST: there is one of this name. */
int rf_clerk_workspace_new(const struct rf_clerk_asker *who, struct rf_clerk_workspace_wish *wish,
			   struct rf_err *err);

/* One that nobody has: gives its folder, which nobody can have until it is closed.  -EBUSY: a box has it. */
int rf_clerk_workspace_hold(const struct rf_clerk_asker *who, const char *name, int *ret_folder,
			    struct rf_err *err);

/* Takes it away, while it is held. */
int rf_clerk_workspace_end(const struct rf_clerk_asker *who, const char *name, struct rf_err *err);

#endif
