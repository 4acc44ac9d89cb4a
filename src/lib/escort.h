/*
 * The way out of a box of libringfort, up to the start of the box: a gateway that was asked for it, credentials, and what makes
 * the box trust what the gateway presents for others.
 *
 * What happens then is the warden's: it is given the connection, hands the box's sockets over, and hears of everything.  The values of
 * credentials are in this process and in the gateway, and the warden never has them.
 */
#ifndef RF_LIB_ESCORT_H
#define RF_LIB_ESCORT_H

#include "base/err.h"
#include "egress/purse.h"
#include "egress/trust.h"
#include "lib/fort.h"

struct rf_escort {
	int fd; /* the gateway's connection, on which the box was asked for and answered; or -1 */
	struct rf_purse purse;
	struct rf_trust *trust; /* or NULL */
	char **env;             /* what the plan may see of the environment; or NULL: all of it */
};

/* One that leads nowhere, so that rf_escort_done() can be called in any case. */
void rf_escort_init(struct rf_escort *escort);

/* Does nothing where the policy (or NULL) needs no gateway. */
int rf_escort_begin(struct rf_escort *escort, const struct ringfort *fort,
		    const struct ringfort_policy *policy, struct rf_err *err);

/* Refuses a run whose environment would hold a credential: `asked` is the whole policy that it is to have. */
int rf_escort_check(const struct rf_escort *escort, const struct rf_policy *asked, const char *cwd,
		    const char *home, struct rf_err *err);

void rf_escort_done(struct rf_escort *escort);

#endif
