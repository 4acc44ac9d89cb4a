/* A box for an agent: see agent-use.h. */
#include "server/agent-use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonread.h"
#include "base/pack.h"
#include "policy/key.h"
#include "server/agent-ask.h"
#include "server/ask-clerk.h"
#include "server/form.h"
#include "server/front.h"
#include "server/request-ceiling.h"

/* 0; or -1 and the error. */
static int take(struct rf_api_call *call, const struct rf_wire_message *answer,
		struct rf_api_error *error)
{
	struct rf_order *order = &call->order;
	struct rf_agent_ask_use told;
	struct rf_err err = RF_ERR_INIT;
	char *policy;

	if (rf_agent_ask_take_use(answer->body, answer->len, &told, &err) < 0)
		return rf_api_error_of(error, &err, "agent");
	if (rf_request_ceiling_check_agent(call, order->agent, told.agent, error) < 0)
		return -1;
	policy = strdup(told.policy);
	if (!order->workspace)
		order->workspace = rf_arena_copy(order->memory, told.name);
	if (!policy || !order->workspace) {
		free(policy);
		rf_fail(&err, -ENOMEM, "a box for an agent");
		return rf_api_error_of(error, &err, "agent");
	}
	free(order->policy);
	order->policy = policy;
	return 0;
}

static void on_told(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_api_error error;

	call->petition = NULL;
	if (!answer)
		rf_api_call_fail_with(call, why, "agent");
	else if (take(call, answer, &error) < 0)
		rf_api_call_fail(call, &error);
	else
		call->go(call);
}

/* ------------------------------------------------------------- an agent that is implied */

/* The agent whose policy bounds the box, without `agent`: the policy's, or the key's own. */
static const char *implied_agent(const struct rf_api_call *call)
{
	const char *own = call->holder->ceiling->values[RF_KEY_AGENT].text;

	if (!call->order.names_policy)
		return NULL; /* nothing is named that could be beyond it */
	return own ? own : call->order.policy_agent;
}

static int check_shown(struct rf_api_call *call, const struct rf_wire_message *answer,
		       struct rf_api_error *error)
{
	const struct rf_jsonread_value *policy = NULL;
	struct rf_jsonread *read = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_json json;
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	if (rf_jsonread_parse(answer->body, answer->len, &read, &err) < 0)
		return rf_api_error_of(error, &err, "policy.agent");
	if (rf_jsonread_root(read)->type == RF_JSONREAD_OBJECT)
		policy = rf_jsonread_member(rf_jsonread_root(read), "policy");
	rf_json_init(&json, &text, false);
	if (policy)
		rf_form_copy(policy, NULL, &json);
	rf_jsonread_free(read);
	if (text.has_failed || !text.data)
		return rf_api_error_say(error, RF_API_UNAVAILABLE, "policy.agent",
					"the agent's policy can't be read");
	return rf_request_ceiling_check_agent(call, implied_agent(call), text.data, error);
}

/* Where there is none of this name in the tenant, it is but a name, for breakers and budgets. */
static void on_shown(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_api_error error;

	call->petition = NULL;
	if (!answer && why->code != -ENOENT && why->code != -EINVAL)
		rf_api_call_fail_with(call, why, "policy.agent");
	else if (answer && check_shown(call, answer, &error) < 0)
		rf_api_call_fail(call, &error);
	else
		call->go(call);
}

/* The warden bounds the box by that agent's policy, too: so what is beyond it is told. */
static void look_at_agent(struct rf_api_call *call, void (*go)(struct rf_api_call *call))
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 256);
	rf_pack_string(&body, implied_agent(call));
	call->go = go;
	rf_ask_clerk(call, RF_CLERK_AGENT_GET, &body, on_shown);
}

void rf_agent_use(struct rf_api_call *call, void (*go)(struct rf_api_call *call))
{
	const struct rf_agent_ask_use ask = { call->order.agent, call->order.policy, "" };
	const struct ringfort_policy *policy;
	struct rf_api_error error;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_AGENT_ASK_MOST);
	if (!ask.name && implied_agent(call)) {
		look_at_agent(call, go);
		return;
	}
	if (!ask.name) {
		go(call);
		return;
	}
	/* What is wrong with it is said as it is of any request's. */
	if (rf_front_policy(call->front, ask.policy, &policy, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	rf_agent_ask_put_use(&ask, &body);
	call->go = go;
	rf_ask_clerk(call, RF_CLERK_AGENT_USE, &body, on_told);
}
