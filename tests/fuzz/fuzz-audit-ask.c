/* Questions of the log and of breakers, as a front that was talked into anything may send them: what is read is within its bounds, and is written again as it was. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/audit-ask.h"

static void check(const struct rf_buf *again, const uint8_t *data, size_t size)
{
	if (again->has_failed || again->len != size || memcmp(again->data, data, size) != 0)
		abort();
}

/* What is read ends with the bytes, and is written again as it was. */
static void check_rows(const uint8_t *data, size_t size)
{
	struct rf_audit_ask_reader reader;
	struct rf_audit_ask_row row;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;
	int code;

	rf_buf_init(&out, size + 16);
	rf_audit_ask_read_init(&reader, data, size);
	if (reader.in.has_failed)
		return;
	rf_audit_ask_put_before(reader.before, &out);
	while ((code = rf_audit_ask_read(&reader, &row, &err)) > 0)
		rf_audit_ask_put_row(&row, &out);
	if (code < 0)
		return;
	rf_audit_ask_put_row(&row, &out);
	check(&out, data, size);
}

RF_FUZZ(data, size)
{
	struct rf_audit_ask_events events;
	struct rf_audit_ask_breaker breaker;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out, other;

	rf_buf_init(&out, 1 << 16);
	rf_buf_init(&other, 1 << 16);
	if (rf_audit_ask_take_events(data, size, &events, &err) == 0) {
		if (events.limit == 0 || events.limit > RF_AUDIT_ASK_MOST)
			abort();
		rf_audit_ask_put_events(&events, &out);
		check(&out, data, size);
	}
	if (rf_audit_ask_take_breaker(data, size, &breaker, &err) == 0) {
		if (!breaker.name[0] || strchr(breaker.name, '/'))
			abort();
		rf_audit_ask_put_breaker(&breaker, &other);
		check(&other, data, size);
	}
	check_rows(data, size);
	return 0;
}
