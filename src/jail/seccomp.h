/* The system call wall: see seccomp.c. */
#ifndef RF_JAIL_SECCOMP_H
#define RF_JAIL_SECCOMP_H

#include "base/err.h"
#include "jail/box.h"

/* Reads the plan's profiles, as the caller; a bad one is found before anything is started. */
int rf_seccomp_prepare(struct rf_box *box, struct rf_err *err);
int rf_seccomp_raise(struct rf_box *box, struct rf_err *err);

void rf_seccomp_done(struct rf_box *box);

#endif
