/* What the policy says, in words: see judge.h. */
#include "gateway/judge.h"

#include <stdio.h>
#include <string.h>

void rf_judge_place(const struct rf_host *host, uint16_t port, char *text, size_t size)
{
	bool is_v6 = host->kind == RF_HOST_IPV6;

	snprintf(text, size, port ? "%s%s%s:%u" : "%s%s%s", is_v6 ? "[" : "", host->text,
		 is_v6 ? "]" : "", port);
}

/* The rule that would allow it.  Ports 80 and 443 are what a rule without any means. */
static void suggest(const struct rf_host *host, uint16_t port, struct rf_span method,
		    struct rf_span path, struct rf_judge *judge)
{
	bool is_usual = port == 0 || port == 80 || port == 443;
	char place[RF_HOST_TEXT + 16];

	rf_judge_place(host, is_usual ? 0 : port, place, sizeof(place));
	snprintf(judge->remedy, sizeof(judge->remedy), "network.allow: [\"%.*s%s%s%.*s\"]",
		 (int)method.len, method.at ? method.at : "", method.len ? " " : "", place,
		 path.len < 160 ? (int)path.len : 0, path.at ? path.at : "");
}

/* As snprintf("%s") does, for what is done with every request. */
static void copy(char *to, size_t size, const char *text)
{
	size_t len = strnlen(text, size - 1);

	memcpy(to, text, len);
	to[len] = '\0';
}

static void take(const struct rf_net_verdict *verdict, struct rf_judge *judge)
{
	judge->is_allowed = verdict->is_allowed;
	judge->is_reported = verdict->is_reported;
	copy(judge->rule, sizeof(judge->rule), verdict->rule ? verdict->rule->text : "default");
	copy(judge->reason, sizeof(judge->reason), verdict->reason ? verdict->reason : "");
	judge->remedy[0] = '\0';
	if (verdict->rule && verdict->rule->is_deny)
		snprintf(judge->remedy, sizeof(judge->remedy),
			 "take \"%.200s\" out of network.deny", verdict->rule->text);
}

static bool needs_remedy(const struct rf_judge *judge)
{
	return (!judge->is_allowed || judge->is_reported) && !judge->remedy[0];
}

void rf_judge_host(const struct rf_outlet *outlet, const struct rf_host *host, uint16_t port,
		   struct rf_judge *ret_judge)
{
	struct rf_net_verdict verdict = rf_net_judge_host(outlet->net, host, port);

	take(&verdict, ret_judge);
	if (needs_remedy(ret_judge))
		suggest(host, port, (struct rf_span){ 0 }, (struct rf_span){ 0 }, ret_judge);
}

void rf_judge_request(const struct rf_outlet *outlet, const struct rf_host *host, uint16_t port,
		      struct rf_span method, const struct rf_url_path *path,
		      struct rf_judge *ret_judge)
{
	struct rf_net_verdict verdict = rf_net_judge_request(outlet->net, host, port, method, path);

	struct rf_net_verdict whole;

	take(&verdict, ret_judge);
	if (!needs_remedy(ret_judge))
		return;
	/* Of a host that nothing may be asked, the whole is asked for: what follows is one's own to narrow. */
	whole = rf_net_judge_host(outlet->net, host, port);
	if (whole.is_allowed && !whole.is_reported && host->kind == RF_HOST_NAME)
		suggest(host, port, method, path->text, ret_judge);
	else
		suggest(host, port, (struct rf_span){ 0 }, (struct rf_span){ 0 }, ret_judge);
}

/*
 * Whether a rule means an address that is not public: one that allows half of all addresses means the Internet, and not what
 * only this machine reaches.
 */
static bool names_it(const struct rf_net_rule *rule, enum rf_addr_kind kind)
{
	unsigned least = kind == RF_ADDR_METADATA ? 16 : 7;
	unsigned bits = rule->bits;

	if (bits >= 96 && memcmp(rule->address, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0)
		bits -= 96;
	return bits >= least;
}

void rf_judge_address(const struct rf_outlet *outlet, const struct rf_host *host,
		      const struct rf_addr *addr, uint16_t port, bool is_named,
		      struct rf_judge *ret_judge)
{
	struct rf_net_verdict verdict = rf_net_judge_address(outlet->net, addr->octets, port);
	enum rf_addr_kind kind = rf_addr_kind(addr);
	struct rf_addr within;
	bool has_within = rf_addr_within(addr, &within);
	bool is_own = false;
	char text[RF_ADDR_TEXT];

	/* What denies an address denies every way to it. */
	if (has_within && !(verdict.rule && verdict.rule->is_deny)) {
		struct rf_net_verdict inner =
			rf_net_judge_address(outlet->net, within.octets, port);

		if (inner.rule && inner.rule->is_deny)
			verdict = inner;
	}
	take(&verdict, ret_judge);
	if (verdict.rule && verdict.rule->is_deny) {
		ret_judge->is_allowed = false;
		return;
	}
	ret_judge->is_allowed = true;
	if (is_named || (verdict.rule && names_it(verdict.rule, kind)))
		return;
	if (kind == RF_ADDR_PUBLIC)
		is_own = rf_addr_is_own(outlet->gateway->own, has_within ? &within : addr,
					rf_loop_now());
	if (kind == RF_ADDR_PUBLIC && !is_own)
		return;
	rf_addr_format(addr, text);
	ret_judge->is_allowed = false;
	snprintf(ret_judge->rule, sizeof(ret_judge->rule), "default");
	snprintf(ret_judge->reason, sizeof(ret_judge->reason), "%.40s leads to %s, %s",
		 host->kind == RF_HOST_NAME ? host->text : "it", text,
		 is_own ? "an address of this machine" : rf_addr_words(kind));
	snprintf(ret_judge->remedy, sizeof(ret_judge->remedy),
		 host->kind == RF_HOST_NAME ? "network.hosts: { %s: \"%s\" }"
					    : "network.allow: [\"%.0s%s\"]",
		 host->text, text);
}

void rf_judge_refuse(const struct rf_judge *judge, const struct rf_host *host, uint16_t port,
		     struct rf_refusal *ret_refusal)
{
	*ret_refusal = (struct rf_refusal){ .status = 403, .code = "network_denied" };
	rf_judge_place(host, port, ret_refusal->host, sizeof(ret_refusal->host));
	snprintf(ret_refusal->message, sizeof(ret_refusal->message),
		 "This sandbox may not reach %.120s: %.100s.", ret_refusal->host,
		 judge->reason[0] ? judge->reason : "no rule allows it");
	snprintf(ret_refusal->rule, sizeof(ret_refusal->rule), "%.255s", judge->rule);
	snprintf(ret_refusal->remedy, sizeof(ret_refusal->remedy), "%.319s", judge->remedy);
}

enum rf_gate_verdict rf_judge_verdict(const struct rf_judge *judge)
{
	if (!judge->is_allowed)
		return RF_GATE_DENIED;
	return judge->is_reported ? RF_GATE_REPORTED : RF_GATE_ALLOWED;
}
