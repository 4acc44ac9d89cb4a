/* Questions of approvals, as a front that was talked into anything may send them: what is read is within its bounds, and is written again as it was. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "server/approval-ask.h"

static void check(const struct rf_buf *again, const uint8_t *data, size_t size)
{
	if (again->has_failed || again->len != size || memcmp(again->data, data, size) != 0)
		abort();
}

RF_FUZZ(data, size)
{
	struct rf_approval_ask_page page;
	struct rf_approval_ask_decision decision;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out, other;

	rf_buf_init(&out, 1 << 16);
	rf_buf_init(&other, 1 << 16);
	if (rf_approval_ask_take_page(data, size, &page, &err) == 0) {
		if (page.limit == 0 || page.limit > RF_APPROVAL_ASK_MOST)
			abort();
		rf_approval_ask_put_page(&page, &out);
		check(&out, data, size);
	}
	if (rf_approval_ask_take_decision(data, size, &decision, &err) == 0) {
		if (!decision.id[0])
			abort();
		rf_approval_ask_put_decision(&decision, &other);
		check(&other, data, size);
	}
	return 0;
}
