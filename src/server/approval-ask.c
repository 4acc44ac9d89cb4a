/* Questions of writes that wait for approval: see approval-ask.h. */
#include "server/approval-ask.h"

#include <errno.h>

#include "base/pack.h"

void rf_approval_ask_put_page(const struct rf_approval_ask_page *ask, struct rf_buf *out)
{
	rf_pack_u64(out, ask->after_ns);
	rf_pack_u32(out, ask->limit);
	rf_pack_string(out, ask->sandbox);
}

int rf_approval_ask_take_page(const void *data, size_t len, struct rf_approval_ask_page *ret_ask,
			      struct rf_err *err)
{
	struct rf_approval_ask_page ask;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	ask.after_ns = rf_pack_read_u64(&in);
	ask.limit = rf_pack_read_below(&in, RF_APPROVAL_ASK_MOST + 1);
	rf_pack_read_text(&in, ask.sandbox, sizeof(ask.sandbox));
	if (!rf_pack_is_whole(&in) || ask.limit == 0)
		return rf_fail_say(err, -EBADMSG, "a question of approvals is malformed");
	*ret_ask = ask;
	return 0;
}

void rf_approval_ask_put_decision(const struct rf_approval_ask_decision *ask, struct rf_buf *out)
{
	rf_pack_string(out, ask->id);
	rf_pack_string(out, ask->reason);
	rf_pack_bool(out, ask->is_approved);
}

int rf_approval_ask_take_decision(const void *data, size_t len,
				  struct rf_approval_ask_decision *ret_ask, struct rf_err *err)
{
	struct rf_approval_ask_decision ask;
	struct rf_pack_reader in;

	rf_pack_read_init(&in, data, len);
	rf_pack_read_text(&in, ask.id, sizeof(ask.id));
	rf_pack_read_text(&in, ask.reason, sizeof(ask.reason));
	ask.is_approved = rf_pack_read_bool(&in);
	if (!rf_pack_is_whole(&in) || !ask.id[0])
		return rf_fail_say(err, -EBADMSG, "a decision about an approval is malformed");
	*ret_ask = ask;
	return 0;
}
