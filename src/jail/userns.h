/* The namespaces of a box and the user namespaces among them: see userns.c. */
#ifndef RF_JAIL_USERNS_H
#define RF_JAIL_USERNS_H

#include "base/err.h"
#include "jail/box.h"

/* The clone3 flags with which pid 1 is made. */
uint64_t rf_userns_flags(const struct rf_box *box);

/* In the child: maps the building namespace, leaves the host's cgroup view, names the box. */
int rf_userns_enter(struct rf_box *box, struct rf_err *err);

/* Enters a last, empty user namespace that owns nothing, as `uid`:`gid` inside. */
int rf_userns_seal(struct rf_box *box, struct rf_err *err);

/* Makes a user namespace that maps one id on disk to the box's, for an idmapped mount. */
int rf_userns_for_owner(const struct rf_box *box, uid_t uid, gid_t gid, int *ret_ns,
			struct rf_err *err);

#endif
