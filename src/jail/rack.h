/* Folders of programs that show only those which the policy names: see rack.c. */
#ifndef RF_JAIL_RACK_H
#define RF_JAIL_RACK_H

#include "base/err.h"
#include "jail/box.h"

/*
 * In the child, while the root is being built and nothing is locked yet: covers each folder of
 * box->programs.  `root` is the root's directory.  Does nothing where every program may be run.
 */
int rf_rack_raise(struct rf_box *box, int root, struct rf_err *err);

#endif
