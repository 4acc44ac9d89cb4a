/* The way out of a box of libringfort: see escort.h. */
#include "lib/escort.h"

#include <errno.h>
#include <ringfort/ringfort.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/passage.h"
#include "policy/plan.h"
#include "wire/gate.h"

#define READY_MS 10000 /* that a gateway has to start and to read a policy */

void rf_escort_init(struct rf_escort *escort)
{
	*escort = (struct rf_escort){ .fd = -1 };
}

/* Ports of the host's are taken before anything else is done. */
static int bind_ports(const struct rf_net *net, int listeners[RF_PASSAGE_PORTS], struct rf_err *err)
{
	if (net->publish_count > RF_PASSAGE_PORTS)
		return rf_fail_say(err, -E2BIG, "network.publish: more than %d ports",
				   RF_PASSAGE_PORTS);
	for (size_t i = 0; i < net->publish_count; i++)
		if (rf_passage_bind(&net->publish[i], &listeners[i], err) < 0)
			return err->code;
	return 0;
}

static int ask(struct rf_escort *escort, const struct ringfort_policy *policy, struct rf_err *err)
{
	char id[RF_PASSAGE_ID];
	const struct rf_passage_wish wish = {
		.id = id,
		.agent = policy->agent,
		.policy = policy->full,
		.purse = &escort->purse,
	};
	RF_AUTO_BUF struct rf_buf buf;
	const char *pem;

	rf_buf_init(&buf, RF_WIRE_ROOM);
	if (rf_passage_name(id, err) < 0 || rf_passage_ask(escort->fd, &wish, err) < 0)
		return err->code;
	if (rf_gate_await(escort->fd, RF_PASSAGE_BOX, READY_MS, &buf, &pem, err) < 0) {
		if (err->code == -ECONNRESET && !err->hint[0])
			rf_fail_hint(err, "is ringfort-gateway of the library's version?");
		return err->code;
	}
	return pem[0] ? rf_trust_new(pem, &escort->trust, err) : 0;
}

static int publish(const struct rf_escort *escort, const struct rf_net *net,
		   const int listeners[RF_PASSAGE_PORTS], struct rf_err *err)
{
	for (size_t i = 0; i < net->publish_count; i++)
		if (rf_gate_publish(escort->fd, RF_PASSAGE_BOX, net->publish[i].inside,
				    listeners[i], err) < 0)
			return err->code;
	return 0;
}

int rf_escort_begin(struct rf_escort *escort, const struct ringfort *fort,
		    const struct ringfort_policy *policy, struct rf_err *err)
{
	const struct rf_net *net = policy ? policy->net : NULL;
	int listeners[RF_PASSAGE_PORTS];

	if (!net)
		return 0;
	for (size_t i = 0; i < RF_PASSAGE_PORTS; i++)
		listeners[i] = -1;
	if (bind_ports(net, listeners, err) == 0 && rf_purse_fill(&escort->purse, net, err) == 0 &&
	    rf_purse_environment(&escort->purse, environ, &escort->env, err) == 0 &&
	    rf_passage_reach(fort->gateway, !fort->has_own_gateway, net->mask_count > 0,
			     &escort->fd, err) == 0 &&
	    ask(escort, policy, err) == 0)
		publish(escort, net, listeners, err);
	for (size_t i = 0; i < RF_PASSAGE_PORTS; i++)
		rf_fd_done(&listeners[i]);
	return err->code < 0 ? rf_fail_in(err, "the network") : 0;
}

int rf_escort_check(const struct rf_escort *escort, const struct rf_policy *asked, const char *cwd,
		    const char *home, struct rf_err *err)
{
	char any[] = "true", *argv[] = { any, NULL };
	struct rf_policy *whole = rf_policy_new(RF_COMMAND_RUN);
	const struct rf_facts facts = {
		.uid = geteuid(),
		.gid = getegid(),
		.cwd = cwd,
		.home = home,
		.env = escort->env,
		.argv = argv,
	};
	struct rf_plan *plan = NULL;
	int code = whole ? rf_policy_merge(whole, asked, err) : rf_fail(err, -ENOMEM, "a policy");

	if (code == 0)
		code = rf_plan_make(whole, &facts, &plan, err);
	if (code == 0)
		code = rf_purse_check(&escort->purse, plan->env, err);
	rf_plan_free(plan);
	rf_policy_free(whole);
	return code;
}

void rf_escort_done(struct rf_escort *escort)
{
	rf_fd_done(&escort->fd);
	rf_purse_done(&escort->purse);
	rf_trust_free(escort->trust);
	rf_purse_free_environment(escort->env);
	rf_escort_init(escort);
}
