/*
 * The gateway of one `ringfort run` whose network leads to one: started for it, asked to let its box out, and
 * ended with it.
 *
 * It starts while the box is built, and the box's program does not start before the gateway is ready.  Where that
 * ends connections of TLS, its certificate must be in the box, and the plan is made once more with it.
 */
#ifndef RF_CLI_EGRESS_H
#define RF_CLI_EGRESS_H

#include "base/err.h"
#include "cli/request.h"
#include "jail/outward.h"
#include "jail/run.h"

struct rf_trust;

struct rf_egress {
	struct rf_outward outward;
	struct rf_trust *trust; /* in what it presents for others, where TLS is ended; or NULL */
	char id[17];            /* of the box */
};

void rf_egress_init(struct rf_egress *egress);

/* What becomes of requests that change something. */
enum rf_egress_writes {
	RF_EGRESS_SENDS,
	RF_EGRESS_HOLDS,    /* they are held back, as in a shadow run: see outward.held */
	RF_EGRESS_RELEASES, /* there is no box: what was held back is sent now */
};

/* Starts a gateway and asks it, if the plan leads to one; completes `options`, which are NULL where there is no box. */
int rf_egress_begin(struct rf_egress *egress, struct rf_request *request,
		    enum rf_egress_writes writes, struct rf_run_options *options,
		    struct rf_err *err);

/* Ends the gateway. */
void rf_egress_done(struct rf_egress *egress);

#endif
