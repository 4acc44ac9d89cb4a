/* What is said to a server's clerk: refused, or packed to the same bytes again. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/clerk-terms.h"
#include "wire/wire.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	struct rf_clerk_terms terms;
	struct rf_clerk_ask ask;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf again;

	rf_buf_init(&again, RF_TERMS_BYTES);
	if (rf_clerk_terms_unpack(data, size, &terms, &err) == 0) {
		require(terms.terms.tenant[0] && terms.scopes);
		rf_clerk_terms_pack(&terms, &again);
		require(again.len == size && memcmp(again.data, data, size) == 0);
	}
	rf_buf_clear(&again);
	if (rf_clerk_terms_unpack_ask(data, size, &ask, &err) == 0) {
		require(ask.question > 0 && ask.question < RF_CLERK_QUESTIONS);
		rf_clerk_terms_pack_ask(&ask, &again);
		require(again.has_failed ||
			(again.len == size && memcmp(again.data, data, size) == 0));
	}
	return 0;
}
