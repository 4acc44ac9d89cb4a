/*
 * One client of the gateway: the connection on which it opens boxes' ways out, and is told what happens.
 *
 * One table says what is answered to which message.  When the connection ends, all boxes on it are over.
 */
#ifndef RF_GATEWAY_TENANT_H
#define RF_GATEWAY_TENANT_H

#include "gateway/gateway.h"

struct rf_tenant;

/* Takes `*fd`, also on failure.  `on_gone` is told when the connection has ended and nothing of its boxes is left; the tenant is gone then. */
int rf_tenant_new(struct rf_gateway *gateway, int *fd, void (*on_gone)(void *data), void *data,
		  struct rf_tenant **ret_tenant, struct rf_err *err);

/* Ends it now. */
void rf_tenant_close(struct rf_tenant *tenant);

#endif
