/* The limits wall, what a cgroup does not do: see rlimit.c. */
#ifndef RF_JAIL_RLIMIT_H
#define RF_JAIL_RLIMIT_H

#include "base/err.h"
#include "jail/box.h"

int rf_rlimit_raise(struct rf_box *box, struct rf_err *err);

/* The limit on descriptors: at the very end, because raising the walls takes more than it may allow. */
int rf_rlimit_files(struct rf_box *box, struct rf_err *err);

#endif
