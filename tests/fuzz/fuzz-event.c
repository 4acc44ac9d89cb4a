/* The bytes of an audit event: what is read has one form, and is written in it again. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "audit/event.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	RF_AUTO_BUF struct rf_buf text = { 0 }, out = { 0 };
	struct rf_audit_event event, again;
	struct rf_err err = RF_ERR_INIT;
	struct rf_json json;

	if (rf_audit_event_decode(data, size, &event, &err) < 0) {
		require(err.msg[0]);
		return 0;
	}
	require(rf_audit_event_kind_name(event.kind) != NULL);
	rf_buf_init(&text, 1 << 20);
	rf_json_init(&json, &text, false);
	rf_json_open_object(&json, NULL);
	rf_audit_event_json(&event, &json);
	rf_json_close_object(&json);
	require(!text.has_failed && text.data[0] == '{');
	/* Redaction may make it another event, but never one that can't be read. */
	rf_buf_init(&out, 2 * RF_AUDIT_EVENT_MAX);
	if (rf_audit_event_encode(&event, &out, &err) == 0) {
		require(rf_audit_event_decode(out.data, out.len, &again, &err) == 0);
		require(again.kind == event.kind && again.fields == event.fields);
	}
	return 0;
}
