/* What a plan says of the network: rules for the gateway, and which keys could not be kept.  See plan.h. */
#include <errno.h>

#include "policy/key.h"
#include "policy/net.h"
#include "policy/plan.h"

/* The first of the keys that only a gateway keeps, and that the policy sets; or -1. */
static int first_kept(const struct rf_policy *policy)
{
	for (int i = RF_KEY_NET_MODE; i <= RF_KEY_GRANTS; i++)
		if (policy->set & RF_KEY_BIT(i) &&
		    (rf_key_figure((enum rf_key)i) || policy->values[i].list.count > 0 ||
		     (i == RF_KEY_NET_FILTER &&
		      policy->values[i].number == (uint64_t)RF_SWITCH_ON) ||
		     (i == RF_KEY_NET_WRITES &&
		      policy->values[i].number == (uint64_t)RF_NET_WRITES_HOLD) ||
		     (i == RF_KEY_NET_MODE &&
		      policy->values[i].number != (uint64_t)RF_NET_ENFORCE)))
			return i;
	return -1;
}

int rf_plan_network(const struct rf_policy *policy, struct rf_plan *plan, struct rf_err *err)
{
	static const char *const to[] = {
		[RF_LINK_GATEWAY] = "the gateway", [RF_LINK_HOST] = "the host"
	};
	int kept = first_kept(policy);

	if (plan->link != RF_LINK_NONE && !plan->has_loopback) {
		rf_fail_say(err, -EINVAL, "network: a link to %s needs loopback on",
			    to[plan->link]);
		return rf_fail_hint(err, "remove `loopback: off`, or use `link: none`");
	}
	if (plan->link == RF_LINK_HOST && kept >= 0) {
		rf_fail_say(err, -EINVAL, "%s is not kept by `network: host`, which lets all pass",
			    rf_key_table[kept].path);
		return rf_fail_hint(err, "use `link: gateway`, or take %s out",
				    rf_key_table[kept].path);
	}
	/* Without a network credentials are of no use, and all the same not to be seen inside. */
	if (plan->link == RF_LINK_HOST || (plan->link == RF_LINK_NONE && kept < 0))
		return 0;
	return rf_net_make(policy, &plan->net, err);
}
