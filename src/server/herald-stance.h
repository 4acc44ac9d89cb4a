/*
 * What the herald's process gives up: everything but to connect, and to read what says where names lead and whom to trust.
 */
#ifndef RF_SERVER_HERALD_STANCE_H
#define RF_SERVER_HERALD_STANCE_H

#include "base/err.h"

int rf_herald_stance_take(struct rf_err *err);

#endif
