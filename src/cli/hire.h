/* A run by the user's standing warden, where there is one. */
#ifndef RF_CLI_HIRE_H
#define RF_CLI_HIRE_H

#include "base/buf.h"
#include "cli/request.h"
#include "jail/run.h"
#include "wire/errand.h"

struct rf_hire {
	int fd;               /* the connection, or -1 */
	struct rf_buf policy; /* as text */
	struct rf_errand errand;
};

/*
 * Connects to the warden and sets what `options` need for a run by it; or leaves them without, where
 * none stands or this run is not for one (a terminal, --no-warden).  Borrows the request.
 */
void rf_hire_warden(struct rf_hire *hire, const struct rf_request *request,
		    struct rf_run_options *options);
void rf_hire_done(struct rf_hire *hire);

#endif
