/*
 * What who serves strangers says to who reads what they send: how to serve, and whose key it is.
 *
 * docs/protocols/front.md tells the conversation.
 */
#ifndef RF_SERVER_PASS_H
#define RF_SERVER_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/terms.h"

#define RF_PASS_LOCAL "local" /* the key of who needs none: no key has such an id */
#define RF_PASS_NAMES 64      /* of hosts, and as many of origins */
#define RF_PASS_NAME  256     /* bytes of one, with a NUL */
#define RF_PASS_BYTES (RF_MAX_POLICY_BYTES + 1000) /* of a holder */
#define RF_PASS_TEXT  (4 * 1024 * 1024)            /* of an answer that is kept */

/* How to serve. */
struct rf_pass_rules {
	char **hosts;     /* NULL-ended: names that requests may be for */
	char **origins;   /* NULL-ended: whose pages may ask */
	bool tells_spans; /* of each request that is answered */
};

/* Whose key it is; the connection to the warden comes with it. */
struct rf_pass_holder {
	char key[RF_TERMS_NAME];
	char tenant[RF_TERMS_NAME];
	uint32_t scopes; /* enum rf_scope bits */
	uint32_t boxes, rate;
	struct rf_terms_sums sums; /* for the warden: the front is not told */
	/*
	 * The ceiling's text (borrowed).  The front refuses by it what a request names beyond, field by field; the warden holds
	 * to its own copy.  GET /v1/key tells it to whoever has the key.
	 */
	const char *ceiling;
};

#define RF_PASS_PEM (1024 * 1024) /* bytes of each text of a struct rf_pass_tls */

/* Who the ports are, and whose clients they take, as PEM; the last may be NULL. */
struct rf_pass_tls {
	const char *certificate, *key, *clients;
};

/* The id of a REVOKED of a key that is good, and whose connections are not: it is to be asked for again. */
#define RF_PASS_STALE 1

/* The id of a GUEST that is confined, and needs a key as who comes to a port does. */
#define RF_PASS_CONFINED 1

void rf_pass_put_tls(const struct rf_pass_tls *tls, struct rf_buf *out);

/* What it points to is borrowed.  -EBADMSG. */
int rf_pass_take_tls(const void *data, size_t len, struct rf_pass_tls *ret_tls, struct rf_err *err);

void rf_pass_put_rules(const struct rf_pass_rules *rules, struct rf_buf *out);
void rf_pass_put_holder(const struct rf_pass_holder *holder, struct rf_buf *out);

/* What the front asks who keeps the register (register.h): it names a key that it was given a holder for. */
enum rf_pass_asked {
	RF_PASS_ONCE,  /* may this be done, or was it done before? */
	RF_PASS_STORE, /* how that was answered; status 0: nothing was begun; 1: nobody knows */
	RF_PASS_FATE,  /* why is there no such sandbox? */
	RF_PASS_ASKED
};

struct rf_pass_question {
	enum rf_pass_asked asked;
	const char *key;  /* its id */
	const char *name; /* an idempotency key, or a sandbox's id */
	const char *hash; /* of ONCE: what was asked for, in hex */
	uint32_t status;  /* of STORE */
	const char *text; /* of STORE: the answer */
};

/* What it is told. */
enum rf_pass_verdict {
	RF_PASS_GO,     /* it is the first: do it */
	RF_PASS_AGAIN,  /* it was done: `status` and `text` are its answer */
	RF_PASS_MADE,   /* it was done, and its answer was lost: `text` is the sandbox */
	RF_PASS_BUSY,   /* it is under way */
	RF_PASS_OTHER,  /* the key was for something else */
	RF_PASS_UNSURE, /* it was begun, and nobody knows what became of it */
	RF_PASS_LONG,   /* it was done, and the answer was too long to be kept */
	RF_PASS_FULL,   /* too many are kept */
	RF_PASS_FAILED, /* the register can't be read or written */
	RF_PASS_STORED, /* or what came of FATE: `text`, or "" */
	RF_PASS_VERDICTS
};

struct rf_pass_told {
	enum rf_pass_verdict verdict;
	uint32_t status;
	const char *text;
};

void rf_pass_put_question(const struct rf_pass_question *question, struct rf_buf *out);
void rf_pass_put_told(const struct rf_pass_told *told, struct rf_buf *out);

/* Each borrows its strings.  They fail with -EBADMSG. */
int rf_pass_take_question(const void *data, size_t len, struct rf_pass_question *ret_question,
			  struct rf_err *err);
int rf_pass_take_told(const void *data, size_t len, struct rf_pass_told *ret_told,
		      struct rf_err *err);

/* Each fails with -EBADMSG.  What the rules point to is borrowed but for the lists, which are to be freed. */
int rf_pass_take_rules(const void *data, size_t len, struct rf_pass_rules *ret_rules,
		       struct rf_err *err);
void rf_pass_rules_done(struct rf_pass_rules *rules);
int rf_pass_take_holder(const void *data, size_t len, struct rf_pass_holder *ret_holder,
			struct rf_err *err);

#endif
