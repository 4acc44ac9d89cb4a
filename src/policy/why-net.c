/* "May it reach X?": the part of why.h that is about the network. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "http/address.h"
#include "policy/why.h"

static bool is_loopback(const struct rf_host *host)
{
	uint8_t address[16], v6[16] = { [15] = 1 };

	if (!rf_net_address_of(host, address))
		return strcmp(host->text, "localhost") == 0;
	return memcmp(address, v6, sizeof(v6)) == 0 ||
	       (host->kind == RF_HOST_IPV4 && address[12] == 127);
}

/* The line that would allow it: a host with its port, unless that is a usual one; and what else is known. */
static void offer(struct rf_why *why, const struct rf_host *host, uint16_t port, const char *method,
		  struct rf_span path)
{
	bool has_brackets = host->kind == RF_HOST_IPV6;
	bool is_address = host->kind != RF_HOST_NAME;
	char rule[RF_NET_RULE_TEXT], number[16] = "";

	if (port && ((port != 80 && port != 443) || strcmp(method, "TCP") == 0))
		snprintf(number, sizeof(number), ":%u", port);
	snprintf(rule, sizeof(rule), "%s%s%s%s%s%s%.*s", is_address ? "" : method,
		 *method && !is_address ? " " : "", has_brackets ? "[" : "", host->text,
		 has_brackets ? "]" : "", number, is_address ? 0 : (int)path.len, path.at);
	snprintf(why->flag, sizeof(why->flag), strchr(rule, ' ') ? "--net '%s'" : "--net %s", rule);
	snprintf(why->line, sizeof(why->line), "network: { allow: [\"%s\"] }", rule);
}

/* What the gateway would say, in the words of `why`. */
static void tell(const struct rf_net_verdict *verdict, struct rf_why *why)
{
	if (verdict->rule) {
		rf_why_answer(why, verdict->is_allowed ? RF_WHY_YES : RF_WHY_NO,
			      verdict->rule->is_deny ? "network.deny" : "network.allow",
			      "%s: \"%s\"", verdict->reason, verdict->rule->text);
		why->element = verdict->rule->text;
		return;
	}
	if (verdict->is_allowed)
		rf_why_answer(why, RF_WHY_YES, "network.mode", "%s, and it passes all the same%s",
			      verdict->reason, verdict->is_reported ? ", and is reported" : "");
	else
		rf_why_answer(why, RF_WHY_NO, "network.allow", "%s", verdict->reason);
}

/*
 * A host that is an address, or that `network.hosts` leads to one, is judged once more, as the gateway does before it dials.
 * Whether the address is this machine's own is not known here.
 */
static void tell_address(const struct rf_net *net, const struct rf_host *host, uint16_t port,
			 struct rf_why *why)
{
	const struct rf_net_alias *alias = rf_net_alias_of(net, host);
	struct rf_net_verdict verdict;
	struct rf_address address;

	if (why->verdict == RF_WHY_NO || (!alias && !rf_net_address_of(host, address.octets)))
		return;
	if (alias)
		memcpy(address.octets, alias->address, sizeof(address.octets));
	verdict = rf_net_judge_dial(net, &address, alias && alias->port ? alias->port : port, alias,
				    false);
	if (verdict.is_allowed)
		return;
	tell(&verdict, why);
	if (!verdict.rule)
		rf_why_answer(why, RF_WHY_NO, "network.allow",
			      "this is %s, and no rule that allows it names it", verdict.reason);
}

/* What does not depend on the gateway.  False if it does. */
static bool answer_without(const struct rf_plan *plan, const struct rf_host *host,
			   struct rf_why *why)
{
	if (plan->link == RF_LINK_HOST) {
		rf_why_answer(why, RF_WHY_YES, "network.link",
			      "the box uses this machine's own network");
	} else if (is_loopback(host) && plan->has_loopback) {
		rf_why_answer(why, RF_WHY_DEPENDS, "network.loopback",
			      "the loopback is the box's own: only what listens inside is there");
	} else if (is_loopback(host)) {
		rf_why_answer(why, RF_WHY_NO, "network.loopback", "the box makes no inet sockets");
		snprintf(why->flag, sizeof(why->flag), "--loopback on");
		snprintf(why->line, sizeof(why->line), "network: { loopback: on }");
	} else if (plan->link == RF_LINK_NONE) {
		rf_why_answer(why, RF_WHY_NO, "network.link",
			      "the box has no network but its own loopback");
	} else {
		return false;
	}
	return true;
}

void rf_why_unix(const struct rf_plan *plan, struct rf_why *ret_why)
{
	if (plan->has_unix) {
		rf_why_answer(ret_why, RF_WHY_DEPENDS, "network.unix",
			      "unix sockets work where the box can see their path");
		return;
	}
	rf_why_answer(ret_why, RF_WHY_NO, "network.unix",
		      "unix sockets can't be made in the box, besides pairs");
	snprintf(ret_why->flag, sizeof(ret_why->flag), "--unix on");
	snprintf(ret_why->line, sizeof(ret_why->line), "network: { unix: on }");
}

void rf_why_connect(const struct rf_plan *plan, const struct rf_host *host, uint16_t port,
		    struct rf_why *ret_why)
{
	struct rf_net_verdict verdict;

	if (!answer_without(plan, host, ret_why)) {
		verdict = rf_net_judge_host(plan->net, host, port);
		tell(&verdict, ret_why);
		if (verdict.is_allowed && !verdict.is_reported && verdict.rule &&
		    rf_net_looks_inside(plan->net, host, port) &&
		    (verdict.rule->methods || verdict.rule->path))
			ret_why->verdict = RF_WHY_DEPENDS; /* on what is asked for */
		tell_address(plan->net, host, port, ret_why);
	}
	if (ret_why->verdict == RF_WHY_NO && !ret_why->flag[0] &&
	    strcmp(ret_why->rule, "network.deny") != 0)
		offer(ret_why, host, port, "", (struct rf_span){ "", 0 });
}

void rf_why_raw(const struct rf_plan *plan, const struct rf_host *host, uint16_t port,
		struct rf_why *ret_why)
{
	struct rf_net_verdict verdict;

	if (!answer_without(plan, host, ret_why)) {
		verdict = rf_net_judge_raw(plan->net, host, port);
		tell(&verdict, ret_why);
		if (rf_net_judge_host(plan->net, host, port).is_allowed &&
		    rf_net_looks_inside(plan->net, host, port)) {
			rf_why_answer(ret_why, RF_WHY_NO, "network",
				      "requests to it are looked into, so that nothing but HTTP "
				      "and TLS passes: rules with methods or paths, credentials, "
				      "filter, mask or writes: hold");
			return;
		}
	}
	if (ret_why->verdict == RF_WHY_NO && !ret_why->flag[0] &&
	    strcmp(ret_why->rule, "network.deny") != 0)
		offer(ret_why, host, port, rf_net_port_is_raw(port) ? "" : "TCP",
		      (struct rf_span){ "", 0 });
}

void rf_why_request(const struct rf_plan *plan, const struct rf_host *host, uint16_t port,
		    bool is_tls, const char *method, const struct rf_url_path *path,
		    struct rf_why *ret_why)
{
	struct rf_net_verdict verdict;

	if (!answer_without(plan, host, ret_why)) {
		verdict = rf_net_judge_request(plan->net, host, port, rf_span_of(method), path);
		tell(&verdict, ret_why);
		for (size_t i = 0; i < plan->net->credential_count; i++)
			if (rf_net_is_bound(plan->net, &plan->net->credentials[i], &verdict, host,
					    port, rf_span_of(method), path)) {
				size_t len = strlen(ret_why->reason);

				snprintf(ret_why->reason + len, sizeof(ret_why->reason) - len,
					 is_tls ? "; credential %s is added"
						: "; credential %s is not added, for it is "
						  "sent over TLS alone",
					 plan->net->credentials[i].name);
			}
		tell_address(plan->net, host, port, ret_why);
	}
	if (ret_why->verdict == RF_WHY_NO && !ret_why->flag[0] &&
	    strcmp(ret_why->rule, "network.deny") != 0 && !path->odd)
		offer(ret_why, host, port, method, path->text);
}
