/* A report: what its three forms share; see report.h. */
#include "audit/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "policy/policy.h"

#define LEARNT 16 /* policies that runs were learnt from under */

const struct rf_report_sort rf_report_sorts[3] = {
	{ "breaker_openings", "Breakers that opened", offsetof(struct rf_tally_agent, openings) },
	{ "alarms", "Alarms", offsetof(struct rf_tally_agent, alarms) },
	{ "reactions", "What was done about it", offsetof(struct rf_tally_agent, reactions) },
};

const struct rf_tally_notes *rf_report_notes(const struct rf_tally_agent *agent, size_t i)
{
	return (const struct rf_tally_notes *)(const void *)((const char *)agent +
							     rf_report_sorts[i].offset);
}

static const struct {
	const char *name;
	enum rf_unit unit;
} budgets[RF_TALLY_BUDGETS] = {
	[RF_TALLY_RUNS] = { "runs", RF_UNIT_COUNT },
	[RF_TALLY_CPU_MS] = { "processor time", RF_UNIT_MS },
	[RF_TALLY_DENIALS] = { "denials", RF_UNIT_COUNT },
	[RF_TALLY_TIMEOUTS] = { "time-outs", RF_UNIT_COUNT },
	[RF_TALLY_REQUESTS] = { "requests", RF_UNIT_COUNT },
	[RF_TALLY_BYTES] = { "bytes", RF_UNIT_BYTES },
	[RF_TALLY_MONEY] = { "money", RF_UNIT_MONEY },
};

const char *rf_report_budget_name(enum rf_tally_budget budget)
{
	return budgets[budget].name;
}

enum rf_unit rf_report_budget_unit(enum rf_tally_budget budget)
{
	return budgets[budget].unit;
}

void rf_report_short(const uint8_t hash[RF_AUDIT_HASH], char text[16])
{
	for (int i = 0; i < 6; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
}

void rf_report_time(uint64_t time_ns, char text[32])
{
	rf_audit_event_time(time_ns, text, 32);
	text[10] = ' ';
	text[19] = '\0';
}

static struct rf_policy *read_policy(const char *text, struct rf_err *err)
{
	struct rf_policy *policy = NULL;

	return rf_policy_parse(text, strlen(text), "/", "/", &policy, err) < 0 ? NULL : policy;
}

void rf_report_budgets(const struct rf_tally_agent *agent, uint64_t ret_limits[RF_QUOTA_COUNT])
{
	const struct rf_tally_policy *last = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *policy;

	for (size_t i = 0; i < agent->policy_count; i++)
		if (agent->policies[i].text &&
		    (!last || agent->policies[i].last_ns > last->last_ns))
			last = &agent->policies[i];
	policy = last ? read_policy(last->text, &err) : NULL;
	for (int i = 0; i < RF_QUOTA_COUNT; i++)
		ret_limits[i] = policy ? rf_trim_budget(policy, (enum rf_quota)i) : RF_LIMIT_NONE;
	rf_policy_free(policy);
}

/* What stands above the policy, for whoever finds it in a file. */
static void put_heading(struct rf_report_grants *grants, const struct rf_tally_policy *policy)
{
	const char *vars = strstr(policy->text, RF_POLICY_TOLD_VARS);
	char name[16], since[32], until[32];

	rf_report_short(policy->hash, name);
	rf_report_time(policy->first_ns, since);
	rf_report_time(policy->last_ns, until);
	rf_buf_printf(&grants->policy,
		      "# Tighter than policy %s, by what %" PRIu64 " of its runs used\n"
		      "# from %s to %s UTC (ringfort audit report).\n",
		      name, policy->ended, since, until);
	if (vars && (vars == policy->text || vars[-1] == '\n'))
		rf_buf_printf(&grants->policy, "%.*s\n", (int)strcspn(vars, "\n"), vars);
}

/* The policies that runs of this agent were learnt from under; those that can't be read say nothing. */
static size_t read_learnt(const struct rf_tally_agent *agent, struct rf_policy **ret_under)
{
	struct rf_err ignored = RF_ERR_INIT;
	size_t count = 0;

	for (size_t i = 0; i < agent->policy_count && count < LEARNT; i++) {
		const struct rf_tally_policy *one = &agent->policies[i];

		if (one->learnt > 0 && one->text &&
		    (ret_under[count] = read_policy(one->text, &ignored)))
			count++;
	}
	return count;
}

void rf_report_grants_init(struct rf_report_grants *grants, const struct rf_tally_agent *agent,
			   const struct rf_tally_policy *policy)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *rules = NULL;
	struct rf_policy *under[LEARNT];
	struct rf_trim_use use;
	size_t learnt;

	*grants = (struct rf_report_grants){ 0 };
	rf_buf_init(&grants->policy, RF_MAX_POLICY_BYTES);
	if (!policy->text)
		snprintf(grants->problem, sizeof(grants->problem), "its text is not in the log");
	else if (!(rules = read_policy(policy->text, &err)))
		snprintf(grants->problem, sizeof(grants->problem), "it can't be read: %s", err.msg);
	if (!rules)
		return;
	rf_tally_use(agent, policy, &use);
	learnt = use.learnt.is_known ? read_learnt(agent, under) : 0;
	use.under = under;
	use.under_count = learnt;
	grants->tighter = rf_trim(rules, &use, grants->rows, &grants->count);
	while (learnt > 0)
		rf_policy_free(under[--learnt]);
	if (policy->ended == 0) {
		snprintf(grants->problem, sizeof(grants->problem), "no run under it has ended");
	} else if (grants->tighter == 0) {
		snprintf(grants->problem, sizeof(grants->problem),
			 "nothing that is measured could be less");
	} else {
		put_heading(grants, policy);
		rf_policy_format(rules, &grants->policy);
	}
	rf_policy_free(rules);
}

void rf_report_grants_done(struct rf_report_grants *grants)
{
	rf_buf_done(&grants->policy);
}

/* True for the policy that counts: one that somebody only learnt from is nobody's to keep. */
static bool is_later(const struct rf_tally_policy *a, const struct rf_tally_policy *b)
{
	bool is_lesson = a->learnt >= a->runs, was_lesson = b->learnt >= b->runs;

	return is_lesson != was_lesson ? was_lesson : a->last_ns > b->last_ns;
}

int rf_report_policy(const struct rf_report *report, struct rf_buf *out, struct rf_err *err)
{
	const struct rf_tally *tally = report->tally;
	const struct rf_tally_agent *agent = tally->agents;
	const struct rf_tally_policy *last = NULL;
	struct rf_report_grants grants;

	if (tally->agent_count > 1) {
		rf_fail_say(err, -EINVAL, "a policy is one agent's, and %zu had runs",
			    tally->agent_count);
		return rf_fail_hint(err, "name it: --agent NAME");
	}
	for (size_t i = 0; agent && i < agent->policy_count; i++)
		if (!last || is_later(&agent->policies[i], last))
			last = &agent->policies[i];
	if (!last) {
		rf_fail_say(err, -ENOENT, "no run in this time");
		return rf_fail_hint(err, "`ringfort audit report` tells who had some");
	}
	rf_report_grants_init(&grants, agent, last);
	if (grants.problem[0])
		rf_fail_say(err, -ENOENT, "no tighter policy: %s", grants.problem);
	else
		rf_buf_add(out, grants.policy.data, grants.policy.len);
	rf_report_grants_done(&grants);
	return err->code;
}
