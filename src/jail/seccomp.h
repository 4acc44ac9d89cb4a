/* The system call wall: see seccomp.c. */
#ifndef RF_JAIL_SECCOMP_H
#define RF_JAIL_SECCOMP_H

#include "base/err.h"
#include "jail/box.h"

int rf_seccomp_raise(struct rf_box *box, struct rf_err *err);

#endif
