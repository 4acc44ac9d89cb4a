/* A text without its secrets: bounded, and never a NUL that was not there. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "audit/redact.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };

	rf_buf_init(&out, size * 16 + 64);
	rf_redact((const char *)data, size, &out);
	require(!out.has_failed);
	require(!memchr(data, '\0', size) ? !out.data || strlen(out.data) == out.len : true);
	require(size == 0 || out.len > 0);
	return 0;
}
