/* What strangers order: refused with words and a place, or read as something that can be asked for. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/order.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static const char *find(const struct rf_lang *lang)
{
	return lang->programs[0];
}

static void check(enum rf_order_kind kind, const struct rf_order *order)
{
	bool runs = kind == RF_ORDER_RUN || kind == RF_ORDER_EXEC || kind == RF_ORDER_SESSION;

	require(!runs || (order->argv && order->argv[0] && order->argv[0][0]));
	require((kind == RF_ORDER_RUN || kind == RF_ORDER_SANDBOX) == (order->policy != NULL));
	for (size_t i = 0; i < order->extra_count; i++)
		require(strncmp(order->extras[i].path, "/code/", 6) == 0 &&
			!strstr(order->extras[i].path, "/../") &&
			(order->extras[i].kind == RF_PLACE_TEXT ||
			 order->extras[i].kind == RF_PLACE_DATA));
	require(!order->has_terminal ||
		(order->rows && order->rows <= 4096 && order->columns && order->columns <= 4096));
	for (char **at = order->env; at && *at; at++)
		require(strchr(*at, '=') > *at);
}

RF_FUZZ(data, size)
{
	const struct rf_order_tools tools = { find };

	for (int kind = RF_ORDER_RUN; kind <= RF_ORDER_WORD; kind++) {
		struct rf_api_error error = { 0 };
		struct rf_order order;

		if (rf_order_read((enum rf_order_kind)kind, (const char *)data, size, kind & 1,
				  &tools, &order, &error) < 0) {
			require(error.message[0] && rf_api_error_status(error.code) >= 400);
			continue;
		}
		check((enum rf_order_kind)kind, &order);
		rf_order_done(&order);
	}
	return 0;
}
