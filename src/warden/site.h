/*
 * The workspace of a server's tenant that a box has at /work.
 *
 * Named by who asks, beneath the tenant of its connection: no path comes from outside.  Held for as long as the box is there.
 */
#ifndef RF_WARDEN_SITE_H
#define RF_WARDEN_SITE_H

#include "base/err.h"
#include "policy/plan.h"
#include "warden/bound.h"
#include "wire/errand.h"

struct rf_site {
	int held;              /* its folder, with a shared lock; or -1: there is no workspace */
	int used;              /* that one of the tenant's is used, for who counts; or -1 */
	char *path;            /* owned; or NULL */
	struct rf_place place; /* for the plan */
};

/* Finds what the errand names, if it names one.  Of its disk `margin` bytes are left. */
int rf_site_open(const struct rf_bound *bound, const struct rf_errand *errand, uint64_t margin,
		 struct rf_site *ret_site, struct rf_err *err);
void rf_site_done(struct rf_site *site);

#endif
