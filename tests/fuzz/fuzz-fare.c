/* What is asked for a box's way out, and what is answered: refused, or packed to the same bytes again. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/fare.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	struct rf_fare_ask ask;
	struct rf_fare fare;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf again;

	rf_buf_init(&again, 16 << 20);
	if (rf_fare_take_ask(data, size, &ask, &err) == 0) {
		rf_fare_put_ask(&ask, &again);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		free(ask.names);
	}
	rf_buf_clear(&again);
	if (rf_fare_take(data, size, &fare, &err) == 0) {
		rf_fare_put(&fare, &again);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		free(fare.set);
	}
	return 0;
}
