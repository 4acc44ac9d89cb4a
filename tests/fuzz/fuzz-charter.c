/* A server's configuration from hostile text: what is read is whole and within its bounds, and what is refused says why and where. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/charter.h"

RF_FUZZ(data, size)
{
	struct rf_charter charter;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	rf_charter_init(&charter);
	if (rf_charter_read(&charter, (const char *)data, size, &err) < 0) {
		if (!err.msg[0] || err.code >= 0)
			abort();
	} else {
		for (size_t i = 0; i < charter.webhook_count; i++)
			if (!charter.webhooks[i].url || !charter.webhooks[i].secret ||
			    !charter.webhooks[i].topics)
				abort();
		if (charter.grace_s == 0 || charter.every_s == 0)
			abort();
		rf_charter_describe(&charter, &out);
	}
	rf_charter_done(&charter);
	return 0;
}
