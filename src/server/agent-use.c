/* A box for an agent: see agent-use.h. */
#include "server/agent-use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/agent-ask.h"
#include "server/ask-clerk.h"
#include "server/front.h"

static int take(struct rf_api_call *call, const struct rf_wire_message *answer, struct rf_err *err)
{
	struct rf_order *order = &call->order;
	struct rf_agent_ask_use told;
	char *policy;

	if (rf_agent_ask_take_use(answer->body, answer->len, &told, err) < 0)
		return err->code;
	policy = strdup(told.policy);
	if (!order->workspace)
		order->workspace = rf_arena_copy(order->memory, told.name);
	if (!policy || !order->workspace) {
		free(policy);
		return rf_fail(err, -ENOMEM, "a box for an agent");
	}
	free(order->policy);
	order->policy = policy;
	return 0;
}

static void on_told(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_err err = RF_ERR_INIT;

	call->petition = NULL;
	if (answer && take(call, answer, &err) == 0)
		call->go(call);
	else
		rf_api_call_fail_with(call, answer ? &err : why, "agent");
}

void rf_agent_use(struct rf_api_call *call, void (*go)(struct rf_api_call *call))
{
	const struct rf_agent_ask_use ask = { call->order.agent, call->order.policy };
	const struct ringfort_policy *policy;
	struct rf_api_error error;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_AGENT_ASK_MOST);
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
