/*
 * What the clerk's process gives up before it is asked anything.
 *
 * It works with files of the operator's for strangers, so it keeps what that takes, and no more: nothing that it starts gains a right, nobody but root looks
 * into its memory, and of root's capabilities those are left that handle files of other uids (boxes have such).
 */
#ifndef RF_SERVER_CLERK_STANCE_H
#define RF_SERVER_CLERK_STANCE_H

#include "base/err.h"

int rf_clerk_stance_take(struct rf_err *err);

#endif
