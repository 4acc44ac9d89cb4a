/*
 * WebSocket frames in pieces.  The first byte says whether they must be masked, the second how they are cut: whole or in pieces, the messages are the
 * same, and what was read and is written anew reads as the same once more.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "http/websocket.h"
#include "replay.h"

static const struct rf_websocket_limits limits = {
	.frame_bytes = 2000,
	.message_bytes = 3000,
	.fragments = 20,
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* What one reading came to. */
struct reading {
	struct rf_buf said;    /* whole messages and control frames, in words */
	struct rf_buf message; /* the one that is under way: a text may turn out to be none */
	struct rf_buf frames;  /* all of it as frames of our own */
	bool in_message;
};

static void tell(struct reading *reading, const struct rf_websocket_event *event, bool is_message)
{
	char payload[RF_WEBSOCKET_CONTROL];
	struct rf_span out = event->payload;
	uint8_t head[RF_WEBSOCKET_HEAD];
	enum rf_websocket_kind kind = event->kind;

	if (is_message) {
		rf_buf_add(&reading->message, out.at, out.len);
		if (event->is_end) {
			rf_buf_printf(&reading->said, "message %d %zu\n", kind,
				      reading->message.len);
			if (reading->message.len > 0)
				rf_buf_add(&reading->said, reading->message.data,
					   reading->message.len);
			rf_buf_clear(&reading->message);
		}
		kind = reading->in_message ? RF_WEBSOCKET_MORE_OF_IT : kind;
		reading->in_message = !event->is_end;
	} else {
		rf_buf_printf(&reading->said, "control %d %d %zu\n", kind, event->code, out.len);
		require(out.len <= RF_WEBSOCKET_CONTROL);
		if (kind == RF_WEBSOCKET_CLOSE) {
			require(event->code == RF_WEBSOCKET_NO_CODE ||
				rf_websocket_code_is_good(event->code));
			if (event->code == RF_WEBSOCKET_NO_CODE)
				out.len = 0;
			else
				out.len = rf_websocket_close(payload, event->code, out);
			out.at = payload;
		}
	}
	rf_buf_add(&reading->frames, head,
		   rf_websocket_head(head, kind, is_message ? event->is_end : true, out.len, NULL));
	if (out.len > 0)
		rf_buf_add(&reading->frames, out.at, out.len);
}

static void run(bool is_masked, char *bytes, size_t size, uint32_t seed, struct reading *reading)
{
	struct rf_websocket websocket = { .is_masked = is_masked };
	struct rf_websocket_limits wide = limits;
	size_t at = 0;

	wide.fragments = seed == UINT32_MAX ? UINT32_MAX : limits.fragments;
	while (at < size) {
		size_t used, len = size - at;
		struct rf_websocket_event event;
		enum rf_websocket_answer answer;

		if (seed > 0 && seed < UINT32_MAX) {
			seed = seed * 1664525u + 1013904223u;
			len = (seed >> 24) % 16 + 1 < len ? (seed >> 24) % 16 + 1 : len;
		}
		answer = rf_websocket_next(&websocket, &wide, bytes + at, len, &used, &event);
		require(used <= len);
		at += used;
		if (answer == RF_WEBSOCKET_BAD) {
			rf_buf_printf(&reading->said, "bad %d\n", websocket.fault);
			require(websocket.fault != RF_WEBSOCKET_FAULT_NONE);
			require(rf_websocket_code_is_good(
				rf_websocket_fault_code(websocket.fault)));
			return;
		}
		if (answer == RF_WEBSOCKET_WANTS) {
			require(used == len || websocket.is_closed);
			if (websocket.is_closed)
				return;
			continue;
		}
		tell(reading, &event, answer == RF_WEBSOCKET_DATA);
	}
}

RF_FUZZ(data, size)
{
	struct reading readings[3] = { 0 };
	struct rf_buf *whole = &readings[0].said, *pieces = &readings[1].said;
	struct rf_buf *again = &readings[2].said;
	char bytes[2][8192];

	if (size < 2 || size > sizeof bytes[0])
		return 0;
	for (size_t i = 0; i < 2; i++)
		memcpy(bytes[i], data + 2, size - 2);
	for (size_t i = 0; i < 3; i++) {
		rf_buf_init(&readings[i].said, 1 << 20);
		rf_buf_init(&readings[i].message, 1 << 20);
		rf_buf_init(&readings[i].frames, 1 << 20);
	}
	run(data[0] & 1, bytes[0], size - 2, 0, &readings[0]);
	run(data[0] & 1, bytes[1], size - 2, 1u + data[1], &readings[1]);
	require(whole->len == pieces->len &&
		(whole->len == 0 || memcmp(whole->data, pieces->data, whole->len) == 0));
	/* Each piece of the second reading is a fragment of its own here. */
	run(false, readings[1].frames.data, readings[1].frames.len, UINT32_MAX, &readings[2]);
	require(again->len <= pieces->len &&
		(again->len == 0 || memcmp(again->data, pieces->data, again->len) == 0));
	for (size_t i = 0; i < 3; i++) {
		rf_buf_done(&readings[i].said);
		rf_buf_done(&readings[i].message);
		rf_buf_done(&readings[i].frames);
	}
	return 0;
}
