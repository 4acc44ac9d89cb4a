/* The bodies of a gateway's messages, the first byte says which: what is taken is what would be said again. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "wire/gate.h"
#include "wire/page.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int take(int which, const void *data, size_t size, struct rf_buf *again, struct rf_err *err)
{
	struct rf_gate_open open;
	struct rf_gate_event event;
	struct rf_gate_counts counts;
	struct rf_gate_held held;
	struct rf_gate_place place;
	struct rf_gate_asked asked;
	struct rf_gate_taken taken;
	struct rf_page page;
	int code;

	if (which == 0) {
		code = rf_gate_read_open(data, size, &open, err);
		if (code == 0) {
			rf_gate_pack_open(&open, again);
			rf_gate_open_done(&open);
		}
		return code;
	}
	if (which == 1) {
		size_t used, at = 0;

		do {
			code = rf_gate_read_event((const char *)data + at, size - at, &event, &used,
						  err);
			if (code == 0)
				rf_gate_pack_event(&event, again);
			at += code == 0 ? used : 0;
		} while (code == 0 && at < size);
		return code;
	}
	if (which == 2) {
		code = rf_gate_read_counts(data, size, &counts, err);
		if (code == 0)
			rf_gate_pack_counts(&counts, again);
		return code;
	}
	if (which == 3) {
		code = rf_gate_read_held(data, size, &held, err);
		if (code == 0)
			rf_gate_pack_held(&held, again);
		return code;
	}
	if (which == 5) {
		size_t at = 0;

		code = rf_page_read(data, size, &page, err);
		if (code == 0)
			rf_page_pack(&page, again);
		while (code == 0 && rf_page_event(&page, &at, &event, err) > 0)
			require(at <= page.events_len);
		return code;
	}
	if (which == 6) {
		code = rf_gate_read_asked(data, size, &asked, err);
		if (code == 0)
			rf_gate_pack_asked(&asked, again);
		return code;
	}
	if (which == 7) {
		code = rf_gate_read_taken(data, size, &taken, err);
		if (code == 0)
			rf_gate_pack_taken(&taken, again);
		return code;
	}
	code = rf_gate_read_place(data, size, &place, err);
	if (code == 0)
		rf_gate_pack_place(&place, again);
	return code;
}

RF_FUZZ(data, size)
{
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf again;

	rf_buf_init(&again, 8 << 20);
	if (size < 2)
		return 0;
	if (take(data[0] % 8, data + 1, size - 1, &again, &err) < 0)
		require(err.msg[0]);
	else
		require(!again.has_failed && again.len == size - 1 &&
			memcmp(again.data, data + 1, size - 1) == 0);
	return 0;
}
