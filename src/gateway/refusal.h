/*
 * A refusal, in words that whoever asked can act upon: a model reads it as the answer to its request.
 *
 * Fixed in size and without anything of the request but its host, so that it can be made when memory is gone and shown to anybody.
 */
#ifndef RF_GATEWAY_REFUSAL_H
#define RF_GATEWAY_REFUSAL_H

#include "base/buf.h"

struct rf_refusal {
	unsigned
		status; /* of HTTP: 403 for the policy, 429 for a rate, 502 and its like for the other end */
	const char *code;  /* a word for programs: "network_denied" */
	char message[256]; /* what was refused and why, as a sentence */
	char rule[256];    /* the rule of the policy that refused it, or "default" */
	char host[264];    /* with its port */
	char remedy[320];  /* the line to add to the policy, or what else can be done; or "" */
	unsigned retry_s;  /* when it may be tried again, or 0 */
};

/* Writes {"error": {...}} and a line feed. */
void rf_refusal_format(const struct rf_refusal *refusal, struct rf_buf *out);

#endif
