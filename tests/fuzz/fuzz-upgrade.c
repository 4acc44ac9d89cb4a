/* What a head says of a WebSocket: refused, passed over, or read as a key that is one and a token that can be compared. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "http/websocket.h"
#include "replay.h"
#include "server/upgrade.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	struct rf_field fields[20];
	struct rf_http1 http;
	struct rf_upgrade upgrade;
	struct rf_api_error error = { 0 };
	struct rf_span list = { (const char *)data, size }, name;
	size_t used;

	rf_http1_init(&http, &rf_http1_usual, fields, sizeof(fields) / sizeof(fields[0]));
	rf_http1_begin_request(&http);
	if (rf_http1_next(&http, list, &used) == RF_HTTP1_HEAD) {
		if (rf_upgrade_read(&http.head, &upgrade, &error) < 0)
			require(error.message[0] && error.where[0]);
		else if (upgrade.is_websocket)
			require(rf_websocket_key_is_good(rf_span_of(upgrade.key)) &&
				strlen(upgrade.token) < sizeof(upgrade.token) &&
				(upgrade.offers_any || !upgrade.offers_ringfort));
		else
			require(!upgrade.token[0] && !upgrade.key[0]);
	}
	while (rf_upgrade_next(&list, &name) > 0)
		require(name.len > 0 && (name.len < 4 || memcmp(name.at, RF_UPGRADE_KEY, 4) != 0));
	return 0;
}
