/*
 * The gateways of a server's tenants, for who asks in threads: started when one is first needed, and again when it has died.
 */
#ifndef RF_SERVER_QUAY_H
#define RF_SERVER_QUAY_H

#include <stdbool.h>

#include "base/err.h"

/*
 * A connection to the tenant's gateway, on which a box can be asked for.  Policies with `network.mask` (`has_masks`) have a second one: the engine is in no
 * other, and what it takes has a most there (filter/own.h).
 */
int rf_quay_reach(const char *tenant, bool has_masks, int *ret_fd, struct rf_err *err);

#endif
