/* What a launcher says of a box that lives: what is taken is what it would say again. */
#include <stdlib.h>
#include <string.h>

#include "audit/sight.h"
#include "replay.h"

RF_FUZZ(data, size)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_sight sight;
	RF_AUTO_BUF struct rf_buf again;

	rf_buf_init(&again, 1 << 20);
	if (rf_sight_unpack(data, size, &sight, &err) < 0) {
		if (!err.msg[0])
			abort();
		return 0;
	}
	rf_sight_pack(&sight, &again);
	if (again.has_failed || again.len != size || memcmp(again.data, data, size) != 0)
		abort();
	return 0;
}
