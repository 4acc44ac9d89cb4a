/* Questions to the clerk of the log and of breakers, as bytes: what the front says of them (clerk-terms.h).  Pure. */
#ifndef RF_SERVER_AUDIT_ASK_H
#define RF_SERVER_AUDIT_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/pack.h"

#define RF_AUDIT_ASK_WORD 128 /* bytes of a word, with a NUL */
#define RF_AUDIT_ASK_MOST 1000
#define RF_AUDIT_ASK_END  "end"       /* a cursor: behind all that there is */
#define RF_AUDIT_ASK_JSON (64 * 1024) /* bytes of an event as JSON, with a NUL */

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

/* What is answered to who follows: events, each with the cursor that leads on behind it, and last, without one, where the next question goes on. */
struct rf_audit_ask_row {
	const char *json;   /* or "": the last */
	const char *cursor; /* behind it */
	const char *before; /* before the first of them */
	bool has_more;      /* of the last: there is something behind it already */
};

struct rf_audit_ask_reader {
	struct rf_pack_reader in;
	const char *before;
};

void rf_audit_ask_put_before(const char *cursor, struct rf_buf *out); /* first */
void rf_audit_ask_put_row(const struct rf_audit_ask_row *row, struct rf_buf *out);

/* 1 for an event; 0 for the last row; or -EBADMSG. */
void rf_audit_ask_read_init(struct rf_audit_ask_reader *reader, const void *data, size_t len);
int rf_audit_ask_read(struct rf_audit_ask_reader *reader, struct rf_audit_ask_row *ret_row,
		      struct rf_err *err);

/* Each writes, or reads all of it; reading fails with -EBADMSG. */
void rf_audit_ask_put_events(const struct rf_audit_ask_events *ask, struct rf_buf *out);
int rf_audit_ask_take_events(const void *data, size_t len, struct rf_audit_ask_events *ret_ask,
			     struct rf_err *err);
void rf_audit_ask_put_breaker(const struct rf_audit_ask_breaker *ask, struct rf_buf *out);
int rf_audit_ask_take_breaker(const void *data, size_t len, struct rf_audit_ask_breaker *ret_ask,
			      struct rf_err *err);

#endif
