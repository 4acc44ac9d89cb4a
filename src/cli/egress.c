/* The gateway of one run: see egress.h. */
#include "cli/egress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "cli/trust.h"
#include "policy/net.h"
#include "policy/policy.h"

void rf_egress_init(struct rf_egress *egress)
{
	*egress = (struct rf_egress){ 0 };
	rf_outward_init(&egress->outward);
}

/* The gateway and the box must be told of one name. */
static int choose_id(struct rf_egress *egress, struct rf_err *err)
{
	unsigned char random[8];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return rf_fail(err, -errno, "random bytes");
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(egress->id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int ask(struct rf_egress *egress, const struct rf_request *request, bool holds_writes,
	       struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf policy;
	struct rf_gate_open open = {
		.box = egress->id,
		.agent = request->plan->agent ? request->plan->agent : "",
		.holds_writes = holds_writes,
	};

	rf_buf_init(&policy, RF_MAX_POLICY_BYTES);
	rf_policy_format(request->policy, &policy);
	if (policy.has_failed)
		return rf_fail(err, -ENOMEM, "a policy's text");
	open.policy = policy.data ? policy.data : "";
	return rf_gate_ask(egress->outward.fd, egress->outward.box, &open, err);
}

/* What the gateway presents for others must be believed inside. */
static int bring_trust(struct rf_egress *egress, struct rf_request *request, struct rf_err *err)
{
	const struct rf_place *places;
	size_t count;

	if (!request->plan->net || !request->plan->net->needs_tls)
		return 0;
	if (rf_outward_await(&egress->outward, err) < 0)
		return err->code;
	if (!egress->outward.pem[0])
		return 0;
	if (rf_trust_new(egress->outward.pem, &egress->trust, err) < 0 ||
	    rf_trust_set(egress->trust, request->policy, err) < 0)
		return err->code;
	places = rf_trust_places(egress->trust, &count);
	return rf_request_bring(request, places, count, err);
}

int rf_egress_begin(struct rf_egress *egress, struct rf_request *request, bool holds_writes,
		    struct rf_run_options *options, struct rf_err *err)
{
	char program[4096];

	if (request->plan->link != RF_LINK_GATEWAY)
		return 0;
	rf_cmd_find("ringfort-gateway", program, sizeof(program));
	if (choose_id(egress, err) < 0 || rf_gate_start(program, &egress->outward.fd, err) < 0 ||
	    ask(egress, request, holds_writes, err) < 0 || bring_trust(egress, request, err) < 0)
		return rf_fail_in(err, "the network");
	options->id = egress->id;
	options->outward = &egress->outward;
	return 0;
}

void rf_egress_done(struct rf_egress *egress)
{
	rf_outward_done(&egress->outward);
	rf_trust_free(egress->trust);
	egress->trust = NULL;
}
