/*
 * Sends what a trial run held back, once its changes count.
 *
 * Through a gateway of its own with the policy and the credentials of that run, so each request is judged, completed and
 * told as any other, with the id of the run.  In their order, one after the other; the first that fails is the last that is tried, since those
 * behind it may stand on it.
 */
#ifndef RF_CLI_RELEASE_H
#define RF_CLI_RELEASE_H

#include "base/err.h"
#include "cli/request.h"
#include "result/result.h"
#include "wire/held.h"

/*
 * Returns 0 if all were sent and answered well (2xx or 3xx); else what was not, and why, is in the list and in `err`.  `run` is the
 * result of the run that made them: it gets what was refused, and warnings.
 */
int rf_release_send(struct rf_request *request, struct rf_held_list *list, struct rf_result *run,
		    struct rf_err *err);

#endif
