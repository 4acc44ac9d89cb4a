/* The gateway of one run: see egress.h. */
#include "cli/egress.h"

#include <errno.h>

#include "cli/cmd.h"
#include "egress/passage.h"
#include "egress/trust.h"
#include "policy/net.h"

void rf_egress_init(struct rf_egress *egress)
{
	*egress = (struct rf_egress){ 0 };
	rf_outward_init(&egress->outward);
}

/* A port of the host's that will lead to one of the box's; taken before anything else is done. */
static int publish_all(struct rf_egress *egress, const struct rf_net *net, struct rf_err *err)
{
	struct rf_outward *outward = &egress->outward;

	for (size_t i = 0; net && i < net->publish_count; i++) {
		if (outward->port_count == RF_OUTWARD_PORTS)
			return rf_fail_say(err, -E2BIG, "network.publish: more than %d ports",
					   RF_OUTWARD_PORTS);
		if (rf_passage_bind(&net->publish[i], &outward->ports[outward->port_count].listener,
				    err) < 0)
			return err->code;
		outward->ports[outward->port_count++].inside = net->publish[i].inside;
	}
	return 0;
}

static int ask(struct rf_egress *egress, const struct rf_request *request,
	       enum rf_egress_writes writes, struct rf_err *err)
{
	const struct rf_passage_wish wish = {
		.id = egress->id,
		.agent = request->plan->agent,
		.policy = request->policy,
		.purse = &request->purse,
		.decoys = writes == RF_EGRESS_RELEASES ? NULL : request->plan,
		.holds_writes = writes == RF_EGRESS_HOLDS,
		.looks_everywhere = writes == RF_EGRESS_RELEASES,
	};

	return rf_passage_ask(egress->outward.fd, &wish, err);
}

/* What the gateway presents for others must be believed inside. */
static int bring_trust(struct rf_egress *egress, struct rf_request *request,
		       enum rf_egress_writes writes, struct rf_err *err)
{
	const struct rf_place *places;
	size_t count;

	if (writes == RF_EGRESS_RELEASES || !request->plan->net ||
	    !(request->plan->net->needs_tls || writes == RF_EGRESS_HOLDS))
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

static int reach(struct rf_egress *egress, const struct rf_request *request, struct rf_err *err)
{
	bool has_masks = request->plan->net->mask_count > 0;
	char program[4096];

	if (!request->has_no_gateway &&
	    rf_passage_join(rf_cmd_self, has_masks, &egress->outward.fd))
		return 0;
	rf_cmd_find("ringfort-gateway", program, sizeof(program));
	return rf_passage_reach(program, false, has_masks, &egress->outward.fd, err);
}

int rf_egress_begin(struct rf_egress *egress, struct rf_request *request,
		    enum rf_egress_writes writes, struct rf_run_options *options,
		    struct rf_err *err)
{
	if (request->plan->link != RF_LINK_GATEWAY)
		return 0;
	if (options && publish_all(egress, request->plan->net, err) < 0)
		return err->code;
	if (rf_passage_name(egress->id, err) < 0 || reach(egress, request, err) < 0 ||
	    ask(egress, request, writes, err) < 0 || bring_trust(egress, request, writes, err) < 0)
		return rf_fail_in(err, "the network");
	if (options) {
		options->id = egress->id;
		options->outward = &egress->outward;
	}
	return 0;
}

void rf_egress_done(struct rf_egress *egress)
{
	rf_outward_done(&egress->outward);
	rf_trust_free(egress->trust);
	egress->trust = NULL;
}
