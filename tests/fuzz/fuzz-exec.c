/*
 * A program for a kept box as a client sends it, and a list of boxes as a warden does: each is refused, or packs to the same
 * bytes again.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "wire/exec.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void read_boxes(const uint8_t *data, size_t size)
{
	const struct rf_wire_message message = { .type = RF_WIRE_BOXES,
						 .body = (const char *)data,
						 .len = size };
	struct rf_err err = RF_ERR_INIT;
	size_t at = 0, before = 0;
	struct rf_exec_box box;
	int got;

	while ((got = rf_exec_box_next(&message, &at, &box, &err)) > 0) {
		RF_AUTO_BUF struct rf_buf again;

		rf_buf_init(&again, 1 << 20);
		rf_exec_box_pack(&box, &again);
		require(again.len == at - before &&
			memcmp(again.data, data + before, again.len) == 0);
		before = at;
	}
	require(got == 0 || err.msg[0]);
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf again;
	struct rf_err err = RF_ERR_INIT;
	struct rf_exec exec;

	rf_buf_init(&again, RF_EXEC_BYTES);
	read_boxes(data, size);
	if (rf_exec_unpack(data, size, &exec, &err) < 0) {
		require(err.code < 0 && err.msg[0]);
		return 0;
	}
	require(exec.argv[0] && exec.argv[0][0] && (!exec.cwd || exec.cwd[0] == '/') &&
		strlen(exec.box) < 24);
	rf_exec_pack(&exec, &again);
	require(again.len == size && memcmp(again.data, data, size) == 0);
	rf_exec_done(&exec);
	return 0;
}
