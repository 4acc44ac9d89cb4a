/*
 * What a warden says of runs when nobody waits for it: kept by the scribe until a watcher has it.
 */
#ifndef RF_WARDEN_CHRONICLE_H
#define RF_WARDEN_CHRONICLE_H

#include <stdbool.h>

#include "audit/runs.h"
#include "warden/scribe.h"
#include "warden/work.h"

/* Of a run that is not begun: a watcher that is late may yet hear that it was to be. */
void rf_chronicle_take_back(struct rf_scribe *scribe, struct rf_work *work);

/* How it ended, if a watcher may know that it began. */
void rf_chronicle_end(struct rf_scribe *scribe, const struct rf_work *work);

/* A program in a box that is kept: it is begun, or, with a result, has ended. */
void rf_chronicle_exec(struct rf_scribe *scribe, const struct rf_work *work,
		       const struct rf_runs_exec *exec);

/*
 * What was found of others, that were killed: other launchers', or, `is_successor`, a warden's before this one.
 */
void rf_chronicle_recoveries(struct rf_scribe *scribe, bool is_successor);

#endif
