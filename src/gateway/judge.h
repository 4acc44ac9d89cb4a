/*
 * What the policy says of a connection or a request, in the words that events and refusals need.
 *
 * A judgement is a value of its own: the policy may change while what was judged goes on.
 */
#ifndef RF_GATEWAY_JUDGE_H
#define RF_GATEWAY_JUDGE_H

#include "gateway/outlet.h"
#include "http/address.h"

struct rf_judge {
	bool is_allowed, is_reported;
	char rule[RF_GATE_WORDS]; /* that decided, or "default" */
	char reason[128];
	char remedy
		[RF_GATE_WORDS]; /* of what is not allowed, or was only reported: what to change in the policy */
};

/* A port of 0 is any. */
void rf_judge_host(const struct rf_outlet *outlet, const struct rf_host *host, uint16_t port,
		   struct rf_judge *ret_judge);
/* What is neither HTTP nor TLS; the remedy is a rule that says TCP. */
void rf_judge_raw(const struct rf_outlet *outlet, const struct rf_host *host, uint16_t port,
		  struct rf_judge *ret_judge);
void rf_judge_request(const struct rf_outlet *outlet, const struct rf_host *host, uint16_t port,
		      struct rf_span method, const struct rf_url_path *path,
		      struct rf_judge *ret_judge);

/* An address that `host` leads to, before it is dialled.  `is_named`: the operator's policy has it in `network.hosts`. */
void rf_judge_address(const struct rf_outlet *outlet, const struct rf_host *host,
		      const struct rf_address *addr, uint16_t port, bool is_named,
		      struct rf_judge *ret_judge);

/*
 * The address, as text, that `host` led to when the connection was made; or "": there is none yet.  Takes the judgement back
 * where the policy would not let it be dialled any more.
 */
void rf_judge_standing(const struct rf_outlet *outlet, const struct rf_host *host, uint16_t port,
		       const char *address, struct rf_judge *judge);

/* What is answered to who is refused: 403 and the judgement. */
void rf_judge_refuse(const struct rf_judge *judge, const struct rf_host *host, uint16_t port,
		     struct rf_refusal *ret_refusal);

/* "host:port", with brackets where they belong. */
void rf_judge_place(const struct rf_host *host, uint16_t port, char *text, size_t size);

enum rf_gate_verdict rf_judge_verdict(const struct rf_judge *judge);

#endif
