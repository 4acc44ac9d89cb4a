/* What the files of an order's reader (order*.c) know of each other. */
#ifndef RF_SERVER_ORDER_INSIDE_H
#define RF_SERVER_ORDER_INSIDE_H

#include "server/order.h"

/* All that any kind of order says. */
struct rf_order_said {
	char **argv, **env, **profile, **credentials, **outputs;
	const char *command, *code, *language, *input, *input_base64, *cwd;
	const struct rf_jsonread_value *policy, *limits, *files, *labels, *needs, *network;
	const struct rf_jsonread_value *terminal, *workspace;
	const char *data, *data_base64, *signal, *path, *to;
	const char *agent, *about, *conflicts, *beyond;
	uint64_t timeout, idle_timeout;
	bool is_background, is_last, is_trial;
};

struct rf_order_reading {
	enum rf_order_kind kind;
	struct rf_order_said said;
	struct rf_order *order;
	const struct rf_order_tools *tools;
	struct rf_api_error *error;
	bool keeps_output;
};

/* Each says what is wrong, and returns -1. */
int rf_order_invalid(const struct rf_order_reading *r, const char *where, const char *what,
		     const char *hint);
int rf_order_no_memory(const struct rf_order_reading *r);

/* One text of the profiles, the policy, the limits and the time-out: what `ringfort run --policy` would be given. */
int rf_order_policy_put(struct rf_order_reading *r);
/* The whole of a policy that speaks of the network alone. */
int rf_order_policy_put_network(const struct rf_order_reading *r);

#endif
