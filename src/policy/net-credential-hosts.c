/* The hosts of credentials, held against the rules of the network: see net-credential-hosts.h. */
#include "policy/net-credential-hosts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/key.h"
#include "policy/net-credential.h"
#include "policy/net-place.h"

/* Gives the next rule that a credential's text (net-credential.h) binds it to.  False at the end. */
static bool next_host(const char **at, char text[RF_NET_RULE_TEXT])
{
	struct rf_span field, value;

	while (rf_net_credential_next(at, &field, &value))
		if (rf_span_is(field, RF_SPAN("hosts")) && value.len < RF_NET_RULE_TEXT) {
			snprintf(text, RF_NET_RULE_TEXT, "%.*s", RF_SPAN_ARG(value));
			return true;
		}
	return false;
}

/* True if some request to `host` passes by a rule of the list.  What is denied besides is another rule's word. */
static bool is_allowed(const struct rf_list *allow, const char *host)
{
	struct rf_net_rule_room one, other, rooms[RF_NET_MEET];
	struct rf_net_rule bound, rule, common[RF_NET_MEET];
	struct rf_err ignored;

	if (rf_net_rule_parse(host, false, &one, &bound, &ignored) < 0)
		return false;
	for (size_t i = 0; i < allow->count; i++)
		if (rf_net_rule_parse(allow->items[i].name, false, &other, &rule, &ignored) >= 0 &&
		    rf_net_rule_meet(&bound, &rule, rooms, common, RF_NET_MEET) > 0)
			return true;
	return false;
}

/* The first host that no rule allows.  `needs_all`: also where another one is allowed. */
static bool find_lost(const struct rf_list *allow, const char *credential, bool needs_all,
		      char lost[RF_NET_RULE_TEXT])
{
	char host[RF_NET_RULE_TEXT];
	bool is_lost = false, has_one = false;

	while (next_host(&credential, host)) {
		if (is_allowed(allow, host)) {
			has_one = true;
		} else if (!is_lost) {
			is_lost = true;
			memcpy(lost, host, sizeof(host));
		}
	}
	return is_lost && (needs_all || !has_one);
}

static int check(const struct rf_policy *policy, bool needs_all, const char **ret_name,
		 struct rf_err *err)
{
	const struct rf_list *grants = &policy->values[RF_KEY_GRANTS].list;
	const struct rf_list *allow = &policy->values[RF_KEY_NET_ALLOW].list;
	char host[RF_NET_RULE_TEXT];

	/* Under `open` all passes, and that no credential is added is what the mode says. */
	if (policy->values[RF_KEY_NET_MODE].number == (uint64_t)RF_NET_OPEN)
		return 0;
	for (size_t i = 0; i < grants->count; i++) {
		if (!find_lost(allow, grants->items[i].value, needs_all, host))
			continue;
		if (ret_name)
			*ret_name = grants->items[i].name;
		rf_fail_say(err, -EINVAL,
			    "credentials.%s: no rule of network.allow leads to %.100s, so "
			    "it would never be sent there",
			    grants->items[i].name, host);
		return rf_fail_hint(err, "write network: { allow: [\"%.100s\"] }, or --net", host);
	}
	return 0;
}

int rf_net_credential_hosts_check(const struct rf_policy *policy, const char **ret_name,
				  struct rf_err *err)
{
	return check(policy, true, ret_name, err);
}

int rf_net_credential_hosts_check_some(const struct rf_policy *policy, struct rf_err *err)
{
	return check(policy, false, NULL, err);
}

int rf_net_credential_hosts_allow(struct rf_policy *policy, struct rf_err *err)
{
	const struct rf_list *grants = &policy->values[RF_KEY_GRANTS].list;
	char host[RF_NET_RULE_TEXT];

	for (size_t i = 0; i < grants->count; i++) {
		const char *at = grants->items[i].value;

		while (next_host(&at, host))
			if (rf_policy_set(policy, "network.allow", host, "/", "/", err) < 0)
				return rf_fail_in(err, "credentials.%s", grants->items[i].name);
	}
	return 0;
}
