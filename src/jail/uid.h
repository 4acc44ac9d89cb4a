/* A uid on the host for each box of root's: see uid.c. */
#ifndef RF_JAIL_UID_H
#define RF_JAIL_UID_H

#include "base/err.h"
#include "jail/box.h"

/* The range: above systemd's container range, below 2^31. */
#define RF_UID_FIRST 1879048192u
#define RF_UID_COUNT 65536u

/*
 * Sets box->host_uid and host_gid: as root an unused uid, held by a lock that the kernel frees
 * with its holder; otherwise the caller's own.
 */
int rf_uid_take(struct rf_box *box, struct rf_err *err);

#endif
