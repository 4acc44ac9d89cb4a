/* A box's way out, for a call: see outing.h. */
#include "server/outing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "lib/fort.h"
#include "server/ask-clerk.h"
#include "server/fare.h"
#include "server/front.h"

void rf_outing_free(struct rf_outing *outing)
{
	if (!outing)
		return;
	rf_fd_done(&outing->gateway);
	free(outing->text);
	free(outing);
}

static void refuse(struct rf_api_call *call, const struct rf_api_error *error)
{
	rf_api_call_fail(call, error);
	rf_api_call_leave_place(call);
}

/* ------------------------------------------------------------- what the box is given */

static bool has(char *const *env, const char *variable)
{
	size_t len = strcspn(variable, "=") + 1;

	for (; env && *env; env++)
		if (strncmp(*env, variable, len) == 0)
			return true;
	return false;
}

/* What the request says itself stays as it is. */
static int join(struct rf_order *order, const struct rf_fare *fare, struct rf_err *err)
{
	size_t count = 0, more = 0, used = 0;
	struct rf_place *extras;
	char **env;

	while (order->env && order->env[count])
		count++;
	while (fare->set[more])
		more++;
	env = rf_arena_alloc(order->memory, (count + more + 1) * sizeof(*env));
	extras = rf_arena_alloc(order->memory,
				(order->extra_count + fare->place_count + 1) * sizeof(*extras));
	if (!env || !extras)
		return rf_fail(err, -ENOMEM, "a way out");
	for (size_t i = 0; i < count; i++)
		env[used++] = order->env[i];
	for (size_t i = 0; i < more; i++)
		if (!has(order->env, fare->set[i]))
			env[used++] = fare->set[i];
	if (order->extra_count > 0)
		memcpy(extras, order->extras, order->extra_count * sizeof(*extras));
	memcpy(extras + order->extra_count, fare->places, fare->place_count * sizeof(*extras));
	order->env = env;
	order->extras = extras;
	order->extra_count += fare->place_count;
	return 0;
}

static int take(struct rf_api_call *call, struct rf_wire_message *answer, struct rf_err *err)
{
	struct rf_outing *outing = calloc(1, sizeof(*outing));
	struct rf_fare fare = { 0 };
	int code;

	if (!outing)
		return rf_fail(err, -ENOMEM, "a way out");
	outing->gateway = -1;
	call->outing = outing;
	outing->text = malloc(answer->len);
	if (!outing->text)
		return rf_fail(err, -ENOMEM, "a way out");
	memcpy(outing->text, answer->body, answer->len);
	if (answer->fd_count != 1)
		return rf_fail_say(err, -EBADMSG, "a way out without a connection");
	outing->gateway = rf_fd_take(&answer->fds[0]);
	if (rf_fare_take(outing->text, answer->len, &fare, err) < 0)
		return err->code;
	code = join(&call->order, &fare, err);
	free(fare.set);
	return code;
}

static void on_told(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct rf_api_call *call = data;
	struct rf_err err = RF_ERR_INIT;

	call->petition = NULL;
	if (answer && take(call, answer, &err) == 0) {
		call->go(call);
		return;
	}
	rf_api_call_fail_with(call, answer ? &err : why, NULL);
	rf_api_call_leave_place(call);
}

/* ------------------------------------------------------------- asking */

/* What is said of a network that the policy does not have. */
static bool is_without(struct rf_api_call *call)
{
	struct rf_api_error error;

	if (call->order.credentials)
		rf_api_error_say(&error, RF_API_INVALID, "credentials",
				 "credentials: the policy has no network to use them on");
	else if (call->order.needs_network)
		rf_api_error_say(&error, RF_API_INVALID, "needs.network",
				 "needs.network: the policy has no network");
	else
		return false;
	rf_api_error_hint(&error, "say where it leads: policy.network.allow");
	refuse(call, &error);
	return true;
}

bool rf_outing_waits(struct rf_api_call *call, const struct ringfort_policy *policy,
		     void (*go)(struct rf_api_call *call))
{
	static char *none[] = { NULL };
	struct rf_fare_ask ask = { policy->request, call->order.credentials };
	RF_AUTO_BUF struct rf_buf body;

	rf_buf_init(&body, RF_FARE_ASK);
	if (call->outing)
		return false;
	if (!policy->net)
		return is_without(call);
	if (!ask.names)
		ask.names = none;
	rf_fare_put_ask(&ask, &body);
	call->go = go;
	rf_ask_clerk(call, RF_CLERK_PASSAGE, &body, on_told);
	if (!call->petition) /* which is answered */
		rf_api_call_leave_place(call);
	return true;
}
