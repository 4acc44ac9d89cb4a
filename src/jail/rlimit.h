/* The limits wall, what a cgroup does not do: see rlimit.c. */
#ifndef RF_JAIL_RLIMIT_H
#define RF_JAIL_RLIMIT_H

#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "jail/box.h"

int rf_rlimit_raise(struct rf_box *box, struct rf_err *err);

/* The limit on descriptors: at the very end, because raising the walls takes more than it may allow. */
int rf_rlimit_files(struct rf_box *box, struct rf_err *err);

/*
 * Gives the box what it would have if the launcher's limits were `callers` (RLIM_NLIMITS of them), as far
 * as the launcher's own reach.  `pid`: its pid 1, before the program starts, or 0 for this process.
 */
int rf_rlimit_bound(const struct rf_box *box, const struct rlimit *callers, pid_t pid,
		    struct rf_err *err);

#endif
