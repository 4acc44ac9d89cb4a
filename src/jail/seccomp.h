/* The system call wall: see seccomp.c. */
#ifndef RF_JAIL_SECCOMP_H
#define RF_JAIL_SECCOMP_H

#include "base/err.h"
#include "jail/box.h"
#include "jail/calls.h"

/* What the filter of this box is built of, besides its profiles. */
struct rf_call_options rf_seccomp_options(const struct rf_box *box);

/* Reads the plan's profiles, as the caller; a bad one is found before anything is started. */
int rf_seccomp_prepare(struct rf_box *box, struct rf_err *err);
int rf_seccomp_raise(struct rf_box *box, struct rf_err *err);

void rf_seccomp_done(struct rf_box *box);

#endif
