/* Questions to the clerk of writes that wait for approval, as bytes: what the front says of them (clerk-terms.h).  Pure. */
#ifndef RF_SERVER_APPROVAL_ASK_H
#define RF_SERVER_APPROVAL_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RF_APPROVAL_ASK_ID     32 /* bytes of an approval's id, or a sandbox's, with a NUL */
#define RF_APPROVAL_ASK_REASON 256
#define RF_APPROVAL_ASK_MOST   1000

struct rf_approval_ask_page {
	uint64_t after_ns;                /* the last one's that was seen, or 0 */
	uint32_t limit;                   /* 1 to RF_APPROVAL_ASK_MOST */
	char sandbox[RF_APPROVAL_ASK_ID]; /* or "": all */
};

struct rf_approval_ask_decision {
	char id[RF_APPROVAL_ASK_ID];
	char reason[RF_APPROVAL_ASK_REASON]; /* or "" */
	bool is_approved;
};

/* Each writes, or reads all of it; reading fails with -EBADMSG. */
void rf_approval_ask_put_page(const struct rf_approval_ask_page *ask, struct rf_buf *out);
int rf_approval_ask_take_page(const void *data, size_t len, struct rf_approval_ask_page *ret_ask,
			      struct rf_err *err);
void rf_approval_ask_put_decision(const struct rf_approval_ask_decision *ask, struct rf_buf *out);
int rf_approval_ask_take_decision(const void *data, size_t len,
				  struct rf_approval_ask_decision *ret_ask, struct rf_err *err);

#endif
