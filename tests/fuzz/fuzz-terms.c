/* The terms of a connection, as a server sends them to its warden: refused, or packed to the same bytes again. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "wire/terms.h"
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
	struct rf_terms terms;

	rf_buf_init(&again, RF_TERMS_BYTES);
	if (rf_terms_unpack(data, size, &terms, &err) < 0) {
		require(err.code < 0 && err.msg[0]);
		return 0;
	}
	require(terms.key[0] && terms.tenant[0] && terms.boxes > 0);
	rf_terms_pack(&terms, &again);
	require(again.len == size && memcmp(again.data, data, size) == 0);
	return 0;
}
