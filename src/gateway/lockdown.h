/*
 * What the gateway's process gives up before a byte of a box reaches it.
 *
 * It parses what strangers send and holds their credentials; so it can start no program, raise no privilege, write no file, read only what names and
 * certificates need, is not to be looked into by others of its user, and leaves no core.
 */
#ifndef RF_GATEWAY_LOCKDOWN_H
#define RF_GATEWAY_LOCKDOWN_H

#include "base/err.h"

/* Each part that this kernel has; one that it has and that fails is an error. */
int rf_lockdown_raise(struct rf_err *err);

#endif
