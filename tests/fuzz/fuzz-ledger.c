/* A workspace's ledger: what is read is written and read again as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "workspace/ledger.h"

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf once, twice;
	struct rf_ledger ledger;
	struct rf_err err = RF_ERR_INIT;
	int code = rf_ledger_parse((const char *)data, size, &ledger, &err);

	rf_buf_init(&once, 1 << 24);
	rf_buf_init(&twice, 1 << 24);
	if (code == 0) {
		rf_ledger_format(&ledger, &once);
		rf_ledger_done(&ledger);
		if (rf_ledger_parse(once.data, once.len, &ledger, &err) < 0)
			abort();
		rf_ledger_format(&ledger, &twice);
		if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
			abort();
	}
	rf_ledger_done(&ledger);
	return 0;
}
