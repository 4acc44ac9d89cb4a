/*
 * A run whose files are wanted: what its `outputs` name, out of its working folder, when it is over.
 *
 * A box of a run is gone with its program.  So this one is kept: the program runs in it, its files are read by another program there, and then it ends,
 * before anything is answered.  Who asked may go at any time: the box ends then, too.
 */
#ifndef RF_SERVER_HARVEST_H
#define RF_SERVER_HARVEST_H

#include "server/api-call.h"

#define RF_HARVEST_FILES 64         /* of one run */
#define RF_HARVEST_ONE   (4u << 20) /* bytes of a file that are given */
#define RF_HARVEST_ALL   (8u << 20) /* and of all together */

/* Begins it; the call has its place and its order, and the task (borrowed) its policy and its way out. */
void rf_harvest_start(struct rf_api_call *call, const struct rf_job_task *run);

/* Whether a kept box, by its note, is such a run's, and nobody's sandbox. */
bool rf_harvest_is_own(const char *note);

#endif
