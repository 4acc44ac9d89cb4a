/* The policy that a request comes to, as text: see order-inside.h. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "server/order-inside.h"

#define SANDBOX_SECONDS 300
#define RUN_SECONDS     60
#define AFTER_SECONDS   90 /* in which the files of a run are read */
#define KEPT_OUTPUT     "1M"

static bool has_limit(const struct rf_order_said *said, const char *name)
{
	const struct rf_jsonread_value *of_policy =
		said->policy ? rf_jsonread_member(said->policy, "limits") : NULL;

	return (said->limits && rf_jsonread_member(said->limits, name)) ||
	       (of_policy && of_policy->type == RF_JSONREAD_OBJECT &&
		rf_jsonread_member(of_policy, name));
}

/* `is_named`: only what the request says. */
static void put_limits(const struct rf_order_reading *r, uint64_t seconds, bool is_named,
		       struct rf_json *json)
{
	const struct rf_order_said *said = &r->said;
	const struct rf_jsonread_value *of_policy =
		said->policy ? rf_jsonread_member(said->policy, "limits") : NULL;
	char text[32];

	rf_json_open_object(json, "limits");
	for (const struct rf_jsonread_value *at =
		     of_policy && of_policy->type == RF_JSONREAD_OBJECT ? of_policy->first : NULL;
	     at; at = at->next)
		if (!said->limits || !rf_jsonread_member(said->limits, at->name))
			rf_form_copy(at, at->name, json);
	for (const struct rf_jsonread_value *at = said->limits ? said->limits->first : NULL; at;
	     at = at->next)
		rf_form_copy(at, at->name, json);
	snprintf(text, sizeof(text), "%llus", (unsigned long long)seconds);
	if (seconds) {
		rf_json_string(json, "time", text);
		if (!is_named && !has_limit(said, "cpu_time"))
			rf_json_string(json, "cpu_time", text);
	}
	if (!is_named && r->keeps_output && r->kind == RF_ORDER_RUN && !has_limit(said, "output"))
		rf_json_string(json, "output", KEPT_OUTPUT);
	rf_json_close_object(json);
}

/* Where nobody says how long; 0: nor is it said here.  What is for an agent has the agent's time, which is always said. */
static uint64_t usual_seconds(const struct rf_order_reading *r)
{
	if (r->said.outputs)
		return RUN_SECONDS;
	if (r->kind == RF_ORDER_AGENT || (r->kind == RF_ORDER_SANDBOX && !r->said.agent))
		return SANDBOX_SECONDS;
	return 0;
}

/* All of it as one text; or only what the request names, without what is filled in and what profiles bring. */
static void put_policy(const struct rf_order_reading *r, const char *agent, uint64_t seconds,
		       bool is_named, struct rf_buf *out)
{
	const struct rf_order_said *said = &r->said;
	struct rf_json json;

	rf_json_init(&json, out, false);
	rf_json_open_object(&json, NULL);
	/* That an agent is the key's own is said by the clerk, which knows them. */
	if (agent && !is_named && !(said->policy && rf_jsonread_member(said->policy, "agent")))
		rf_json_string(&json, "agent", agent);
	if (said->profile && !is_named) {
		rf_json_open_array(&json, "extends");
		for (char **at = said->profile; *at; at++)
			rf_json_string(&json, NULL, *at);
		rf_json_close_array(&json);
	}
	for (const struct rf_jsonread_value *at = said->policy ? said->policy->first : NULL; at;
	     at = at->next)
		if (strcmp(at->name, "limits") != 0 || at->type != RF_JSONREAD_OBJECT)
			rf_form_copy(at, at->name, &json);
	if (said->cwd && r->kind == RF_ORDER_RUN)
		rf_json_string(&json, "workdir", said->cwd);
	put_limits(r, seconds, is_named, &json);
	rf_json_close_object(&json);
}

int rf_order_policy_put(struct rf_order_reading *r)
{
	const struct rf_order_said *said = &r->said;
	const struct rf_jsonread_value *time =
		said->limits ? rf_jsonread_member(said->limits, "time") : NULL;
	const struct rf_jsonread_value *own =
		said->policy ? rf_jsonread_member(said->policy, "agent") : NULL;
	const char *agent = r->kind == RF_ORDER_AGENT ? said->path : said->agent;
	uint64_t seconds = said->timeout;
	RF_AUTO_BUF struct rf_buf out, named;

	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	rf_buf_init(&named, RF_MAX_POLICY_BYTES);
	if (said->profile && said->policy && rf_jsonread_member(said->policy, "extends"))
		return rf_order_invalid(r, "profile", "the policy has `extends`, too",
					"say it in one place");
	if (said->cwd && said->policy && rf_jsonread_member(said->policy, "workdir"))
		return rf_order_invalid(r, "cwd", "the policy has `workdir`, too",
					"say it in one place");
	if (time)
		return rf_order_invalid(r, "limits.time", "it is said as `timeout`, in seconds",
					"leave it out here");
	if (seconds && has_limit(said, "time"))
		return rf_order_invalid(r, "timeout", "the policy has `limits.time`, too",
					"say it in one place");
	if (!seconds && !has_limit(said, "time"))
		seconds = usual_seconds(r);
	if (agent && own && (own->type != RF_JSONREAD_STRING || strcmp(own->text, agent) != 0))
		return rf_order_invalid(r, "policy.agent", "it is another one",
					"leave it out there");
	put_policy(r, agent, seconds && said->outputs ? seconds + AFTER_SECONDS : seconds, false,
		   &out);
	put_policy(r, agent, said->timeout, true, &named);
	if (out.has_failed || named.has_failed)
		return rf_api_error_say(r->error, RF_API_TOO_LARGE, "policy",
					"policy: it is longer than %d bytes", RF_MAX_POLICY_BYTES);
	r->order->timeout = seconds;
	r->order->policy = rf_buf_take(&out);
	r->order->named = rf_buf_take(&named);
	r->order->names_policy = said->policy || said->limits || said->timeout > 0;
	r->order->names_timeout = said->timeout > 0;
	r->order->policy_agent = own && own->type == RF_JSONREAD_STRING ? own->text : NULL;
	r->order->limits = said->limits;
	return r->order->policy && r->order->named ? 0 : rf_order_no_memory(r);
}

int rf_order_policy_put_network(const struct rf_order_reading *r)
{
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	rf_json_init(&json, &out, false);
	rf_json_open_object(&json, NULL);
	rf_form_copy(r->said.network, "network", &json);
	rf_json_close_object(&json);
	if (out.has_failed)
		return rf_api_error_say(r->error, RF_API_TOO_LARGE, "network",
					"network: it is longer than %d bytes", RF_MAX_POLICY_BYTES);
	r->order->policy = rf_buf_take(&out);
	return r->order->policy ? 0 : rf_order_no_memory(r);
}
