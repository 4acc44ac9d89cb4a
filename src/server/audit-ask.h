/* Questions to the clerk of the log and of breakers, as bytes: what the front says of them (clerk-terms.h).  Pure. */
#ifndef RF_SERVER_AUDIT_ASK_H
#define RF_SERVER_AUDIT_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RF_AUDIT_ASK_WORD 128 /* bytes of a word, with a NUL */
#define RF_AUDIT_ASK_MOST 1000

struct rf_audit_ask_events {
	char since[RF_AUDIT_ASK_WORD], until[RF_AUDIT_ASK_WORD], kind[RF_AUDIT_ASK_WORD],
		box[RF_AUDIT_ASK_WORD], verdict[RF_AUDIT_ASK_WORD],
		cursor[RF_AUDIT_ASK_WORD]; /* each may be "" */
	uint32_t limit;                    /* 1 to RF_AUDIT_ASK_MOST */
};

struct rf_audit_ask_breaker {
	char name[RF_AUDIT_ASK_WORD];   /* of an agent, without its tenant's */
	char reason[RF_AUDIT_ASK_WORD]; /* or "" */
	uint32_t seconds;               /* 0: until it is reset */
	bool is_trip;
};

/* Each writes, or reads all of it; reading fails with -EBADMSG. */
void rf_audit_ask_put_events(const struct rf_audit_ask_events *ask, struct rf_buf *out);
int rf_audit_ask_take_events(const void *data, size_t len, struct rf_audit_ask_events *ret_ask,
			     struct rf_err *err);
void rf_audit_ask_put_breaker(const struct rf_audit_ask_breaker *ask, struct rf_buf *out);
int rf_audit_ask_take_breaker(const void *data, size_t len, struct rf_audit_ask_breaker *ret_ask,
			      struct rf_err *err);

#endif
