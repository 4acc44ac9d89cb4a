/* Questions of the log and of breakers: see audit-ask.h. */
#include "server/audit-ask.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"

void rf_audit_ask_put_events(const struct rf_audit_ask_events *ask, struct rf_buf *out)
{
	const char *const words[] = { ask->since, ask->until,   ask->kind,
				      ask->box,   ask->verdict, ask->cursor };

	for (size_t i = 0; i < RF_LEN(words); i++)
		rf_pack_string(out, words[i]);
	rf_pack_u32(out, ask->limit);
}

int rf_audit_ask_take_events(const void *data, size_t len, struct rf_audit_ask_events *ret_ask,
			     struct rf_err *err)
{
	struct rf_audit_ask_events ask;
	char *const words[] = { ask.since, ask.until, ask.kind, ask.box, ask.verdict, ask.cursor };
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	for (size_t i = 0; i < RF_LEN(words); i++)
		rf_pack_read_text(&in, words[i], RF_AUDIT_ASK_WORD);
	ask.limit = rf_pack_read_below(&in, RF_AUDIT_ASK_MOST + 1);
	if (!rf_pack_is_whole(&in) || ask.limit == 0)
		return rf_fail_say(err, -EBADMSG, "a question of the log is malformed");
	*ret_ask = ask;
	return 0;
}

void rf_audit_ask_put_breaker(const struct rf_audit_ask_breaker *ask, struct rf_buf *out)
{
	rf_pack_string(out, ask->name);
	rf_pack_string(out, ask->reason);
	rf_pack_u32(out, ask->seconds);
	rf_pack_bool(out, ask->is_trip);
}

/* A name with a stroke would be another tenant's, if ours were the beginning of its. */
int rf_audit_ask_take_breaker(const void *data, size_t len, struct rf_audit_ask_breaker *ret_ask,
			      struct rf_err *err)
{
	struct rf_audit_ask_breaker ask;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	rf_pack_read_text(&in, ask.name, sizeof(ask.name));
	rf_pack_read_text(&in, ask.reason, sizeof(ask.reason));
	ask.seconds = rf_pack_read_u32(&in);
	ask.is_trip = rf_pack_read_bool(&in);
	if (!rf_pack_is_whole(&in) || !ask.name[0] || strchr(ask.name, '/'))
		return rf_fail_say(err, -EBADMSG, "a question of a breaker is malformed");
	*ret_ask = ask;
	return 0;
}

/* ------------------------------------------------------------- who follows */

void rf_audit_ask_put_before(const char *cursor, struct rf_buf *out)
{
	rf_pack_string(out, cursor);
}

void rf_audit_ask_put_row(const struct rf_audit_ask_row *row, struct rf_buf *out)
{
	rf_pack_string(out, row->cursor);
	rf_pack_string(out, row->json);
	rf_pack_bool(out, row->has_more);
}

void rf_audit_ask_read_init(struct rf_audit_ask_reader *reader, const void *data, size_t len)
{
	rf_pack_read_init(&reader->in, data, len);
	reader->before = rf_pack_read_string(&reader->in, RF_AUDIT_ASK_WORD);
}

int rf_audit_ask_read(struct rf_audit_ask_reader *reader, struct rf_audit_ask_row *ret_row,
		      struct rf_err *err)
{
	struct rf_audit_ask_row row = { .before = reader->before };

	row.cursor = rf_pack_read_string(&reader->in, RF_AUDIT_ASK_WORD);
	row.json = rf_pack_read_string(&reader->in, RF_AUDIT_ASK_JSON);
	row.has_more = rf_pack_read_bool(&reader->in);
	if (reader->in.has_failed || (!row.json[0] && !rf_pack_is_whole(&reader->in)))
		return rf_fail_say(err, -EBADMSG, "events for who follows them are malformed");
	*ret_row = row;
	return row.json[0] != '\0';
}
