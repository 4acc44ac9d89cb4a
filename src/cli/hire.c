/* A run by the user's standing warden: see hire.h. */
#include "cli/hire.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "wire/client.h"
#include "wire/peer.h"

static void fill(struct rf_hire *hire, const struct rf_request *request,
		 const struct rf_run_options *options)
{
	const struct rf_plan *plan = request->plan;

	rf_buf_init(&hire->policy, RF_MAX_POLICY_BYTES);
	rf_policy_format(request->policy, &hire->policy);
	hire->errand = (struct rf_errand){
		.command = RF_COMMAND_RUN,
		.policy = hire->policy.data,
		.folder = "/", /* every path in it is absolute by now */
		.home = request->home,
		.cwd = request->cwd,
		.argv = plan->argv,
		.env = environ,
		.extras = request->extras,
		.extra_count = request->extra_count,
		.caller_path = options->caller_path,
		.wants_denials = options->wants_denials,
	};
	rf_errand_note_caller(&hire->errand);
}

/* One that lives elsewhere, or has other rights, would refuse us. */
static bool is_like_us(int fd)
{
	const struct rf_peer *self = rf_cmd_self();
	struct rf_err err = RF_ERR_INIT;

	return self && rf_peer_compare(fd, RF_PEER_FILE, "warden", self, &err) == 0;
}

void rf_hire_warden(struct rf_hire *hire, const struct rf_request *request,
		    struct rf_run_options *options)
{
	struct rf_err err = RF_ERR_INIT;

	*hire = (struct rf_hire){ .fd = -1 };
	options->warden = -1;
	if (request->has_no_warden || request->plan->has_terminal || request->visit ||
	    request->plan->canaries)
		return;
	if (rf_client_connect(&hire->fd, &err) < 0) {
		hire->fd = -1;
		return;
	}
	if (!is_like_us(hire->fd))
		return;
	fill(hire, request, options);
	if (hire->policy.has_failed || !hire->policy.data)
		return;
	options->warden = hire->fd;
	options->errand = &hire->errand;
}

void rf_hire_done(struct rf_hire *hire)
{
	rf_fd_done(&hire->fd);
	rf_buf_done(&hire->policy);
}
