/*
 * What who serves strangers says to who reads what they send: how to serve, and whose key it is.
 *
 * docs/protocols/front.md tells the conversation.
 */
#ifndef RF_SERVER_PASS_H
#define RF_SERVER_PASS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/terms.h"

#define RF_PASS_NAMES 64   /* of hosts, and as many of origins */
#define RF_PASS_NAME  256  /* bytes of one, with a NUL */
#define RF_PASS_BYTES 1000 /* of a holder */

/* How to serve. */
struct rf_pass_rules {
	char **hosts;   /* NULL-ended: names that requests may be for */
	char **origins; /* NULL-ended: whose pages may ask */
};

/* Whose key it is; the connection to the warden comes with it. */
struct rf_pass_holder {
	char key[RF_TERMS_NAME];
	char tenant[RF_TERMS_NAME];
	uint32_t scopes; /* enum rf_scope bits */
	uint32_t boxes, rate;
};

#define RF_PASS_PEM (1024 * 1024) /* bytes of each text of a struct rf_pass_tls */

/* Who the ports are, and whose clients they take, as PEM; the last may be NULL. */
struct rf_pass_tls {
	const char *certificate, *key, *clients;
};

void rf_pass_put_tls(const struct rf_pass_tls *tls, struct rf_buf *out);

/* What it points to is borrowed.  -EBADMSG. */
int rf_pass_take_tls(const void *data, size_t len, struct rf_pass_tls *ret_tls, struct rf_err *err);

void rf_pass_put_rules(const struct rf_pass_rules *rules, struct rf_buf *out);
void rf_pass_put_holder(const struct rf_pass_holder *holder, struct rf_buf *out);

/* Each fails with -EBADMSG.  What the rules point to is borrowed but for the lists, which are to be freed. */
int rf_pass_take_rules(const void *data, size_t len, struct rf_pass_rules *ret_rules,
		       struct rf_err *err);
void rf_pass_rules_done(struct rf_pass_rules *rules);
int rf_pass_take_holder(const void *data, size_t len, struct rf_pass_holder *ret_holder,
			struct rf_err *err);

#endif
