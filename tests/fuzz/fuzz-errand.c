/*
 * An errand as a client sends it: whatever it says, it is refused, or it packs to the same bytes again
 * and asks for nothing that must not be asked for.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "wire/errand.h"
#include "wire/wire.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf again;
	struct rf_err err = RF_ERR_INIT;
	struct rf_errand errand;

	rf_buf_init(&again, RF_WIRE_BODY);
	if (rf_errand_unpack(data, size, &errand, &err) < 0) {
		require(err.code < 0 && err.msg[0]);
		return 0;
	}
	require(errand.argv[0] && errand.policy && errand.folder[0] == '/' &&
		errand.home[0] == '/');
	for (size_t i = 0; i < errand.extra_count; i++)
		require(errand.extras[i].path[0] == '/' &&
			!(errand.extras[i].rights & RF_RIGHT_WRITE) &&
			(errand.extras[i].kind == RF_PLACE_HOST ||
			 errand.extras[i].kind == RF_PLACE_TEXT ||
			 errand.extras[i].kind == RF_PLACE_DATA));
	rf_errand_pack(&errand, &again);
	require(again.len == size && memcmp(again.data, data, size) == 0);
	rf_errand_done(&errand);
	return 0;
}
