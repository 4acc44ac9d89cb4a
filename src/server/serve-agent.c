/* Agents of a tenant's, which the clerk keeps. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/pack.h"
#include "server/agent-ask.h"
#include "server/ask-clerk.h"
#include "server/front.h"
#include "server/handlers.h"
#include "server/list-page.h"
#include "server/request-ceiling.h"

static char **labels_of(struct rf_order *order)
{
	const struct rf_jsonread_value *at = order->labels ? order->labels->first : NULL;
	char **labels = rf_arena_alloc(order->memory, (RF_ORDER_LABELS + 1) * sizeof(*labels));

	for (size_t i = 0; labels && at && i < RF_ORDER_LABELS; at = at->next)
		labels[i++] = rf_arena_printf(order->memory, "%s=%s", at->name, at->text);
	return order->memory->has_failed ? NULL : labels;
}

/* Asks that one be made, or, of the name that the path has, that another takes its place. */
static void ask_for(struct rf_api_call *call, enum rf_clerk_question question)
{
	const bool is_new = question == RF_CLERK_AGENT_MAKE;
	struct rf_order *order = &call->order;
	struct rf_agent_ask_new ask;
	struct rf_api_error error;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_AGENT_ASK_MOST);
	if (rf_order_read(RF_ORDER_AGENT, call->body.data, call->body.len, false,
			  &call->front->tools, order, &error) < 0 ||
	    rf_request_ceiling_check(call, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	if (!is_new && strcmp(order->path, call->parts.part[0]) != 0) {
		rf_api_error_say(&error, RF_API_CONFLICT, "name",
				 "name: the path names another agent");
		rf_api_error_hint(&error, "an agent keeps its name: say the one in the path");
		rf_api_call_fail(call, &error);
		return;
	}
	ask = (struct rf_agent_ask_new){ .name = order->path,
					 .about = order->about ? order->about : "",
					 .workspace = order->workspace ? order->workspace : "",
					 .labels = labels_of(order),
					 .policy = order->policy };
	if (!ask.labels) {
		rf_exchange_abort(call->x);
		return;
	}
	rf_agent_ask_put_new(&ask, &body);
	if (rf_api_call_is_paced(call))
		rf_ask_clerk_json(call, question, &body, is_new);
}

void rf_serve_agent_create(struct rf_api_call *call)
{
	ask_for(call, RF_CLERK_AGENT_MAKE);
}

void rf_serve_agent_replace(struct rf_api_call *call)
{
	ask_for(call, RF_CLERK_AGENT_REPLACE);
}

void rf_serve_agent_list(struct rf_api_call *call)
{
	struct rf_list_page page;
	struct rf_api_error error;
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 512);
	if (rf_list_page_read(call, &page, &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	rf_agent_ask_put_page(&(struct rf_agent_ask_page){ (uint32_t)page.limit, page.cursor,
							   page.label, page.value },
			      &body);
	rf_ask_clerk_json(call, RF_CLERK_AGENT_LIST, &body, false);
}

void rf_serve_agent_get(struct rf_api_call *call)
{
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, 256);
	rf_pack_string(&body, call->parts.part[0]);
	rf_ask_clerk_json(call, RF_CLERK_AGENT_GET, &body, false);
}

void rf_serve_agent_delete(struct rf_api_call *call)
{
	struct rf_agent_ask_end ask = { call->parts.part[0], false };
	struct rf_api_error error;
	RF_AUTO_BUF struct rf_buf body;
	char keeps[16] = "";

	rf_buf_init(&body, 256);
	if (rf_api_call_parameter(call, "keep_workspace", keeps, sizeof(keeps), &error) < 0) {
		rf_api_call_fail(call, &error);
		return;
	}
	if (keeps[0] && strcmp(keeps, "true") != 0 && strcmp(keeps, "false") != 0) {
		rf_api_error_say(&error, RF_API_INVALID, "keep_workspace",
				 "keep_workspace: it is neither true nor false");
		rf_api_error_hint(&error, "leave it out, and the workspace goes with the agent");
		rf_api_call_fail(call, &error);
		return;
	}
	ask.keeps_workspace = strcmp(keeps, "true") == 0;
	rf_agent_ask_put_end(&ask, &body);
	rf_ask_clerk_json(call, RF_CLERK_AGENT_REMOVE, &body, false);
}
