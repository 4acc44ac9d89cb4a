/* A request against a ceiling: see request-ceiling.h. */
#include "server/request-ceiling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "policy/beyond-ceiling.h"
#include "policy/policy.h"
#include "server/front.h"

#define LIMITS "limits."

/* The field of the request that names a key of the policy. */
static void put_field(const struct rf_order *order, const char *key, char *field, size_t size)
{
	const char *limit = strncmp(key, LIMITS, strlen(LIMITS)) == 0 ? key + strlen(LIMITS) : NULL;

	if (limit && strcmp(limit, "time") == 0 && order->names_timeout)
		snprintf(field, size, "timeout");
	else if (limit && order->limits && rf_jsonread_member(order->limits, limit))
		snprintf(field, size, "%s", key);
	else
		snprintf(field, size, "policy.%s", key);
}

/* A tool of MCP has no such argument. */
static const char *drop_hint(const struct rf_api_call *call)
{
	return call->visit ? "" : "; with `\"beyond\": \"drop\"` it is narrowed and listed";
}

/* `agent`: whose policy it is; or NULL: the key's ceiling. */
static int refuse(const struct rf_api_call *call, const struct rf_beyond_ceiling_item *item,
		  const char *whose, const char *agent, struct rf_api_error *error)
{
	bool has_no_network = strcmp(item->rule, "network: none") == 0;
	char field[96];

	put_field(&call->order, item->key, field, sizeof(field));
	rf_api_error_say(error, RF_API_REFUSED, field, "%s: %.120s is beyond %s, which %s%s", field,
			 item->asked, whose, has_no_network ? "allows no network" : "has ",
			 has_no_network ? "" : item->rule);
	if (has_no_network && agent)
		return rf_api_error_hint(error,
					 "PUT /v1/agents/%.60s gives it a policy that has one%s",
					 agent, drop_hint(call));
	if (has_no_network)
		return rf_api_error_hint(error,
					 "`ringfort key create --ceiling POLICY` makes a key that "
					 "has one: its policy says network.allow%s",
					 drop_hint(call));
	return rf_api_error_hint(error, "leave it out, or ask for no more than %.100s%s",
				 item->rule, drop_hint(call));
}

/* ------------------------------------------------------------- narrowing */

static bool is_listed(char *const *list, const char *words)
{
	for (; *list; list++)
		if (strcmp(*list, words) == 0)
			return true;
	return false;
}

/* What lies beyond the key's ceiling and the agent's policy is listed once. */
static int list_items(struct rf_order *order, const struct rf_beyond_ceiling *beyond)
{
	size_t count = 0, more = 0;
	char **list;

	while (order->beyond && order->beyond[count])
		count++;
	while (rf_beyond_ceiling_item(beyond, more))
		more++;
	list = rf_arena_alloc(order->memory, (count + more + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	if (count > 0)
		memcpy(list, order->beyond, count * sizeof(*list));
	for (size_t i = 0; i < more; i++) {
		const struct rf_beyond_ceiling_item *item = rf_beyond_ceiling_item(beyond, i);
		char *words = rf_arena_printf(order->memory, "%s: %s", item->key, item->asked);

		if (words && !is_listed(list, words))
			list[count++] = words;
	}
	order->beyond = list;
	return order->memory->has_failed ? -ENOMEM : 0;
}

/* Puts the narrowed policy in the place of a text. */
static int narrow_text(const struct rf_beyond_ceiling *beyond, char **text, struct rf_err *err)
{
	struct rf_policy *policy = NULL;
	RF_AUTO_BUF struct rf_buf out;
	char *narrowed;
	int code;

	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	rf_buf_puts(&out, "");
	if (rf_policy_parse(*text, strlen(*text), "/", "/", &policy, err) < 0)
		return err->code;
	code = rf_beyond_ceiling_narrow(beyond, policy, err);
	if (code == 0)
		rf_policy_format(policy, &out);
	rf_policy_free(policy);
	if (code < 0)
		return code;
	narrowed = rf_buf_take(&out);
	if (!narrowed)
		return rf_fail(err, -ENOMEM, "a policy");
	free(*text);
	*text = narrowed;
	return 0;
}

static int narrow(struct rf_order *order, const struct rf_beyond_ceiling *beyond,
		  struct rf_err *err)
{
	if (list_items(order, beyond) < 0)
		return rf_fail(err, -ENOMEM, "a policy");
	return narrow_text(beyond, &order->policy, err);
}

/* ------------------------------------------------------------- checking */

/* 1: something was narrowed; 0: nothing is beyond; or -1 and the error. */
static int check(struct rf_api_call *call, const struct rf_policy *ceiling, const char *whose,
		 const char *agent, struct rf_api_error *error)
{
	struct rf_order *order = &call->order;
	struct rf_beyond_ceiling *beyond = NULL;
	const struct rf_beyond_ceiling_item *item = NULL;
	struct rf_policy *named = NULL;
	struct rf_err err = RF_ERR_INIT;
	int code = 0;

	if (rf_policy_parse(order->named, strlen(order->named), "/", "/", &named, &err) == 0 &&
	    rf_beyond_ceiling_new(ceiling, named, &beyond, &err) == 0)
		item = rf_beyond_ceiling_item(beyond, 0);
	if (item && !order->drops_beyond)
		code = refuse(call, item, whose, agent, error);
	else if (item)
		code = narrow(order, beyond, &err) == 0;
	if (err.code)
		code = rf_api_error_of(error, &err, "policy");
	rf_beyond_ceiling_free(beyond);
	rf_policy_free(named);
	return code;
}

int rf_request_ceiling_check(struct rf_api_call *call, struct rf_api_error *error)
{
	struct rf_holder *holder = call->holder;
	const struct ringfort_policy *policy;
	char whose[128];
	int code;

	/* What is no policy is said as it is of any request's. */
	if (rf_front_policy(call->front, call->order.policy, &policy, error) < 0)
		return -1;
	/* Most requests name the same as the one before. */
	if (holder->within && strcmp(holder->within, call->order.named) == 0)
		return 0;
	snprintf(whose, sizeof(whose), "the ceiling of key %s", holder->pass.key);
	code = check(call, holder->ceiling, whose, NULL, error);
	if (code == 0) {
		free(holder->within);
		holder->within = strdup(call->order.named);
	}
	return code < 0 ? -1 : 0;
}

int rf_request_ceiling_check_agent(struct rf_api_call *call, const char *name, const char *policy,
				   struct rf_api_error *error)
{
	struct rf_policy *own = NULL;
	struct rf_err err = RF_ERR_INIT;
	char whose[128];
	int code;

	snprintf(whose, sizeof(whose), "the policy of agent %.60s", name);
	if (rf_policy_parse(policy, strlen(policy), "/", "/", &own, &err) < 0)
		return rf_api_error_of(error, &err, "agent");
	code = check(call, own, whose, name, error);
	rf_policy_free(own);
	return code < 0 ? -1 : 0;
}

/* ------------------------------------------------------------- telling */

void rf_request_ceiling_tell(const struct rf_order *order, struct rf_buf *object)
{
	size_t len = object->len;
	RF_AUTO_BUF struct rf_buf list;
	struct rf_json json;

	rf_buf_init(&list, RF_MAX_POLICY_BYTES * 4);
	if (!order->drops_beyond || object->has_failed)
		return;
	while (len > 0 && object->data[len - 1] != '}')
		len--;
	if (len == 0)
		return;
	rf_json_init(&json, &list, false);
	rf_json_open_array(&json, NULL);
	for (char **at = order->beyond; at && *at; at++)
		rf_json_string(&json, NULL, *at);
	rf_json_close_array(&json);
	object->len = len - 1;
	rf_buf_printf(object, ", \"beyond_ceiling\": ");
	rf_buf_add(object, list.data, list.len);
	rf_buf_puts(object, "}\n");
}
