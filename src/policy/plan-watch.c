/* What a plan says to a watcher: for whom it is, what is counted, what is odd.  See plan.h. */
#include <errno.h>

#include "policy/key.h"
#include "policy/plan.h"

/* The first key of a range that the policy sets, or -1. */
static int first_set(const struct rf_policy *policy, int from, int to)
{
	for (int i = from; i <= to; i++)
		if (policy->set & RF_KEY_BIT(i))
			return i;
	return -1;
}

/* What is counted for an agent; without one there would be nobody to count it for. */
static int add_quotas(const struct rf_policy *policy, struct rf_plan *plan, struct rf_err *err)
{
	int first = first_set(policy, RF_KEY_COUNTS, RF_KEY_QUOTA + RF_QUOTA_COUNT - 1);

	plan->quotas.counts_failures = policy->values[RF_KEY_COUNTS].number == RF_COUNTS_FAILURES;
	for (int i = 0; i < RF_QUOTA_COUNT; i++)
		plan->quotas.figures[i] = rf_key_number(policy, (enum rf_key)(RF_KEY_QUOTA + i));
	plan->needs_watch = first >= 0;
	if (first >= 0 && !plan->agent) {
		rf_fail_say(err, -EINVAL,
			    "%s counts for an agent, and the policy does not say which",
			    rf_key_table[first].path);
		return rf_fail_hint(err, "add `agent: NAME`, or --agent NAME on the command line");
	}
	if (plan->needs_watch && plan->recorded == RF_RECORDED_NOT) {
		rf_fail_say(err, -EINVAL,
			    "%s counts runs, and with `audit: off` nobody is told of them",
			    rf_key_table[first].path);
		return rf_fail_hint(err, "take one of the two out");
	}
	return 0;
}

/* What a watcher looks for while it runs; with an agent's breaker there must be an agent. */
static int add_alarms(const struct rf_policy *policy, struct rf_plan *plan, struct rf_err *err)
{
	int first = first_set(policy, RF_KEY_ALARM, RF_KEY_ALARM_BREAKER);

	for (int i = 0; i < RF_ALARM_COUNT; i++) {
		plan->alarms.figures[i] = rf_key_number(policy, (enum rf_key)(RF_KEY_ALARM + i));
		plan->alarms.reactions[i] =
			(enum rf_reaction)policy->values[RF_KEY_ON_ALARM + i].number;
	}
	plan->alarms.opens_breaker = policy->values[RF_KEY_ALARM_BREAKER].number == RF_SWITCH_ON;
	plan->alarms.rolls_back = policy->values[RF_KEY_ALARM_ROLLBACK].number == RF_SWITCH_ON;
	plan->needs_watch |= first >= 0;
	if (first >= 0 && plan->recorded == RF_RECORDED_NOT) {
		rf_fail_say(err, -EINVAL,
			    "%s is the watcher's to see, and with `audit: off` it sees nothing",
			    rf_key_table[first].path);
		return rf_fail_hint(err, "take one of the two out");
	}
	if (plan->alarms.opens_breaker && !plan->agent) {
		rf_fail_say(err, -EINVAL,
			    "alarms.breaker opens an agent's breaker, and the policy does not say "
			    "whose");
		return rf_fail_hint(err, "add `agent: NAME`, or --agent NAME on the command line");
	}
	return 0;
}

int rf_plan_watch(const struct rf_policy *policy, struct rf_plan *plan, struct rf_err *err)
{
	return add_quotas(policy, plan, err) < 0 ? err->code : add_alarms(policy, plan, err);
}
