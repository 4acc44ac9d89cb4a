/* What the policy says, in words: see judge.h. */
#include "gateway/judge.h"

#include <stdio.h>
#include <string.h>

#include "gateway/own-addresses.h"

void rf_judge_place(const struct rf_host *host, uint16_t port, char *text, size_t size)
{
	bool is_v6 = host->kind == RF_HOST_IPV6;

	snprintf(text, size, port ? "%s%s%s:%u" : "%s%s%s", is_v6 ? "[" : "", host->text,
		 is_v6 ? "]" : "", port);
}

static const struct rf_span tcp = RF_SPAN_INIT("TCP");

/* The rule that would allow it.  Ports 80 and 443 are what a rule without any means. */
static void suggest(const struct rf_host *host, uint16_t port, struct rf_span method,
		    struct rf_span path, struct rf_judge *judge)
{
	bool is_usual = (port == 0 || port == 80 || port == 443) && !rf_span_is(method, tcp);
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

void rf_judge_raw(const struct rf_outlet *outlet, const struct rf_host *host, uint16_t port,
		  struct rf_judge *ret_judge)
{
	struct rf_net_verdict verdict = rf_net_judge_raw(outlet->net, host, port);
	bool is_said = host->kind == RF_HOST_NAME && !rf_net_port_is_raw(port);

	take(&verdict, ret_judge);
	if (needs_remedy(ret_judge))
		suggest(host, port, is_said ? tcp : (struct rf_span){ 0 }, (struct rf_span){ 0 },
			ret_judge);
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

void rf_judge_address(const struct rf_outlet *outlet, const struct rf_host *host,
		      const struct rf_address *addr, uint16_t port, bool is_named,
		      struct rf_judge *ret_judge)
{
	struct rf_own_addresses *own = outlet->gateway->own;
	struct rf_address within;
	/* An interface has the one or the other: 6to4 and its like lead to both. */
	bool is_own = rf_own_addresses_has(own, addr, rf_loop_now()) ||
		      (rf_address_within(addr, &within) &&
		       rf_own_addresses_has(own, &within, rf_loop_now()));
	struct rf_net_verdict verdict =
		rf_net_judge_dial(outlet->net, addr, port, is_named, is_own);
	bool is_name = host->kind == RF_HOST_NAME;
	char text[RF_ADDRESS_TEXT];

	take(&verdict, ret_judge);
	if (verdict.is_allowed || verdict.rule)
		return;
	rf_address_format(addr, text);
	snprintf(ret_judge->reason, sizeof(ret_judge->reason), "%.40s leads to %s, %s",
		 is_name ? host->text : "it", text, verdict.reason);
	if (is_name || rf_address_kind(addr) == RF_ADDRESS_PUBLIC)
		snprintf(ret_judge->remedy, sizeof(ret_judge->remedy),
			 "network.hosts: { %s: \"%s\" }", is_name ? host->text : "NAME", text);
	else
		snprintf(ret_judge->remedy, sizeof(ret_judge->remedy), "network.allow: [\"%s\"]",
			 text);
}

void rf_judge_standing(const struct rf_outlet *outlet, const struct rf_host *host, uint16_t port,
		       const char *address, struct rf_judge *judge)
{
	const struct rf_net_alias *alias = rf_net_alias_of(outlet->net, host);
	struct rf_judge now;
	struct rf_address addr;

	if (!address[0] || !rf_address_parse(address, &addr))
		return;
	if (alias && memcmp(alias->address, addr.octets, sizeof(addr.octets)) != 0) {
		judge->is_allowed = false;
		snprintf(judge->reason, sizeof(judge->reason), "network.hosts leads elsewhere");
		return;
	}
	rf_judge_address(outlet, host, &addr, alias && alias->port ? alias->port : port, alias,
			 &now);
	if (!now.is_allowed)
		*judge = now;
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
