/*
 * Secrets taken out of answers: the filter of a box's forwarding that puts src/filter between a server and the box.
 *
 * Known secrets (the credentials of the box) are masked in the fields of an answer and in its body; rules look at the body only, because a
 * client needs the cookie that it is given.  A body in a coding is passed on without it.  Requests are asked for in codings that can be read.
 * What can't be read is refused, unless the policy lets it pass.  Requests for a part (ranges, differences) become requests for the whole, and an
 * answer that is a part is refused: of a secret that lies in two parts, neither has what could be found.
 */
#ifndef RF_GATEWAY_REDACTION_H
#define RF_GATEWAY_REDACTION_H

#include "filter/filter-stream.h"
#include "gateway/forward.h"

/* Is told at the end of an answer in which something was masked: what, in words without any of it ("github-token, 2 known secrets"). */
typedef void rf_redaction_told(void *context, const struct rf_forward_place *place,
			       const char *words);

struct rf_redaction_config {
	struct rf_sieve_config secrets;
	uint64_t limit_bytes; /* of a body, after masking; 0: none.  What is more is cut off */
	bool may_pass_unread; /* a coding that can't be read */
	rf_redaction_told *told;
	void *context;
};

struct rf_redaction;

/* Borrows `config` for the call.  Give it to the filters below as their data; to be freed after the last of its requests. */
int rf_redaction_new(const struct rf_redaction_config *config, struct rf_redaction **ret_redaction,
		     struct rf_err *err);
void rf_redaction_free(struct rf_redaction *redaction);

/* True if there is nothing to look for: the filter can be left out. */
bool rf_redaction_is_idle(const struct rf_redaction *redaction);

/* Whether it (or none at all: NULL) looks for what the rules of `config` say, those of form and the policy's own. */
bool rf_redaction_is_for(const struct rf_redaction *redaction,
			 const struct rf_sieve_config *config);

extern const struct rf_forward_filter rf_redaction_filter;

#endif
