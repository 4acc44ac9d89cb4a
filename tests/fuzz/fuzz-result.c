/*
 * A packed result, as it comes out of a socket: whatever it says, it is refused or it is a result that
 * can be printed and that packs to the same bytes again.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "result/result.h"

#define ROOM (64u << 20)

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_err err = RF_ERR_INIT;
	struct rf_result result;

	rf_buf_init(&out, ROOM);
	rf_result_init(&result, NULL);
	if (size < 1 << 20 && rf_result_unpack(&result, data, size, &err) == 0) {
		size_t warnings = result.warning_count;

		rf_result_json(&result, true, &out);
		rf_result_stats(&result, RF_STYLE_NONE, &out);
		require(!out.has_failed);
		rf_buf_clear(&out);
		rf_result_pack(&result, &out);
		/* Hidden files that were only counted have become a warning. */
		require(out.len == size ? memcmp(out.data, data, size) == 0 || warnings > 0
					: warnings > 0);
	} else {
		require(size >= 1 << 20 || (err.code < 0 && err.msg[0]));
	}
	rf_result_done(&result);
	return 0;
}
