/* The namespaces of a box and the user namespaces among them: see userns.c. */
#ifndef RF_JAIL_USERNS_H
#define RF_JAIL_USERNS_H

#include "base/err.h"
#include "jail/box.h"

/* The clone3 flags with which pid 1 is made. */
uint64_t rf_userns_flags(const struct rf_box *box);

/* In the child: maps the building namespace, leaves the host's cgroup view, names the box. */
int rf_userns_enter(struct rf_box *box, struct rf_err *err);

/* As root, in the launcher: makes the last namespace, box->seal. */
int rf_userns_prepare(struct rf_box *box, struct rf_err *err);

/* Enters a last, empty user namespace that owns nothing, as the plan's uid and gid. */
int rf_userns_seal(struct rf_box *box, struct rf_err *err);

/*
 * Makes a user namespace that maps one id inside (or on disk, for an idmapped mount) to the box's
 * on the host.  `proc` is a procfs that shows the caller's children.
 */
int rf_userns_make(int proc, unsigned inside_uid, unsigned inside_gid, struct rf_box *box,
		   int *ret_ns, struct rf_err *err);

/* Reaps the processes that held those namespaces until they were taken hold of. */
void rf_userns_reap(struct rf_box *box);

#endif
