/*
 * Signatures of requests to AWS and to those who speak like it (Signature Version 4).
 *
 * Pure, but for OpenSSL's hashes.  What is signed is the request as it will be sent: who changes it afterwards breaks it.
 */
#ifndef RF_GATEWAY_AWS_SIGN_H
#define RF_GATEWAY_AWS_SIGN_H

#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "http/field.h"
#include "http/span.h"

#define RF_AWS_SIGN_HASH 65 /* a SHA-256 in hexadecimal, with its NUL */
#define RF_AWS_SIGN_DATE 17 /* 20150830T123600Z, with its NUL */

struct rf_aws_sign {
	struct rf_span id, secret; /* the key */
	struct rf_span region, service;
	struct rf_span method, host; /* the Host field's value */
	struct rf_span path, query;  /* as they are sent; the query without its question mark */
	struct rf_fields
		fields; /* as they are sent, X-Amz-Date and X-Amz-Security-Token among them */
	struct rf_span payload; /* the body's hash in hexadecimal, or UNSIGNED-PAYLOAD */
	struct rf_span date;    /* the value of X-Amz-Date */
};

void rf_aws_sign_date(time_t now, char ret_date[RF_AWS_SIGN_DATE]);
void rf_aws_sign_hash(struct rf_span body, char ret_hash[RF_AWS_SIGN_HASH]);

/* Appends the value of the Authorization field. */
int rf_aws_sign_format(const struct rf_aws_sign *what, struct rf_buf *out, struct rf_err *err);

/* For tests: the canonical request. */
int rf_aws_sign_canonical(const struct rf_aws_sign *what, struct rf_buf *out, struct rf_buf *names);

#endif
