/* What a plan says of the network, in words and as JSON: a part of explain.h. */
#include <stdio.h>

#include "base/json.h"
#include "policy/explain.h"
#include "policy/key.h"
#include "policy/net-place.h"

static const char *const hows[] = {
	[RF_NET_HEADER] = "header", [RF_NET_BASIC] = "basic", [RF_NET_QUERY] = "query",
	[RF_NET_BODY] = "body",     [RF_NET_SIGV4] = "sigv4", [RF_NET_CERTIFICATE] = "certificate",
};

static const char *const froms[] = {
	[RF_NET_FROM_ENV] = "env",
	[RF_NET_FROM_FILE] = "file",
	[RF_NET_FROM_COMMAND] = "cmd",
	[RF_NET_FROM_STDIN] = "stdin",
};

static const char *mode_name(const struct rf_net *net)
{
	return rf_key_choice_name(RF_KEY_NET_MODE, (uint64_t)net->mode);
}

static void text_credential(const struct rf_net_credential *credential, struct rf_buf *out)
{
	rf_buf_printf(out, "  credential %s, from %s:%s, is added as %s%s%s for", credential->name,
		      froms[credential->from], credential->source, hows[credential->how],
		      credential->field ? " " : "", credential->field ? credential->field : "");
	for (size_t i = 0; i < credential->rule_count; i++)
		rf_buf_printf(out, "%s %s", i ? "," : "", credential->rules[i].text);
	if (credential->variable)
		rf_buf_printf(out, "; inside, %s holds a placeholder", credential->variable);
	rf_buf_puts(out, "\n");
}

static void text_gateway(const struct rf_net *net, struct rf_buf *out)
{
	static const char *const rest[] = {
		[RF_NET_ENFORCE] = "what no rule allows is refused",
		[RF_NET_REPORT] = "what no rule allows passes all the same, and is reported",
		[RF_NET_OPEN] = "what no rule denies passes, and no credential is added",
	};
	char text[64];

	rf_buf_printf(out, "  through the gateway: %s\n", rest[net->mode]);
	for (size_t i = 0; i < net->rule_count; i++)
		rf_buf_printf(out, "  %s  %s\n", net->rules[i].is_deny ? "deny " : "allow",
			      net->rules[i].text);
	for (size_t i = 0; i < net->alias_count; i++) {
		rf_net_place_write(net->aliases[i].address, net->aliases[i].port, text);
		rf_buf_printf(out, "  %s leads to %s\n", net->aliases[i].name, text);
	}
	for (size_t i = 0; i < net->publish_count; i++) {
		rf_net_place_write(net->publish[i].address, net->publish[i].port, text);
		rf_buf_printf(out, "  %s of the host leads to port %u inside\n", text,
			      net->publish[i].inside);
	}
	for (size_t i = 0; i < net->credential_count; i++)
		text_credential(&net->credentials[i], out);
	for (int i = 0; i < RF_NET_LIMIT_COUNT; i++) {
		if (net->limits[i] == RF_LIMIT_NONE ||
		    (i == RF_NET_APPROVAL_TIME && !net->holds_writes))
			continue;
		rf_limit_write(&rf_net_limit_table[i], net->limits[i], text, sizeof(text));
		rf_buf_printf(out, "  %-14s  %8s  %s\n", rf_net_limit_table[i].key, text,
			      rf_net_limit_table[i].help);
	}
	for (size_t i = 0; i < net->root_count; i++)
		rf_buf_printf(out, "  servers may have certificates from: %s\n", net->roots[i]);
	for (size_t i = 0; i < net->mask_count; i++)
		rf_buf_printf(out, "  masked in answers: %s\n", net->masks[i]);
	if (net->holds_writes)
		rf_buf_puts(out, "  requests that do more than read wait until somebody has "
				 "approved them, and TLS is ended for that\n");
	if (net->mask_count > 0 && !net->filters_answers)
		rf_buf_puts(out, "  TLS is ended for every host, to mask what is in answers\n");
	else if (net->filters_answers)
		rf_buf_puts(out, "  tokens, keys and passwords are masked in answers, and TLS is "
				 "ended for that\n");
	else if (net->needs_tls && !net->holds_writes)
		rf_buf_puts(
			out,
			"  TLS is ended for hosts of which a rule names methods or paths, or to "
			"which a credential is bound\n");
}

void rf_explain_net_text(const struct rf_plan *plan, struct rf_buf *out)
{
	rf_buf_puts(out, "\nNetwork\n");
	if (plan->link == RF_LINK_HOST)
		rf_buf_puts(out, "  the host's own: everything that the host can reach\n");
	else if (plan->link == RF_LINK_GATEWAY)
		text_gateway(plan->net, out);
	else if (plan->has_loopback)
		rf_buf_puts(out, "  none: sockets reach the box itself and nothing else\n");
	else
		rf_buf_puts(out, "  none: no inet socket can be made\n");
	if (plan->has_unix)
		rf_buf_puts(out, "  unix sockets, also those of the host in shown directories\n");
	else
		rf_buf_puts(out, "  unix sockets: pairs only\n");
}

static void json_rules(struct rf_json *json, const char *name, const struct rf_net_rule *rules,
		       size_t count, bool is_deny)
{
	rf_json_open_array(json, name);
	for (size_t i = 0; i < count; i++)
		if (rules[i].is_deny == is_deny)
			rf_json_string(json, NULL, rules[i].text);
	rf_json_close_array(json);
}

static void json_credentials(struct rf_json *json, const struct rf_net *net)
{
	rf_json_open_array(json, "credentials");
	for (size_t i = 0; i < net->credential_count; i++) {
		const struct rf_net_credential *credential = &net->credentials[i];

		rf_json_open_object(json, NULL);
		rf_json_string(json, "name", credential->name);
		rf_json_string(json, "from", froms[credential->from]);
		rf_json_string(json, "source", credential->source);
		rf_json_string(json, "how", hows[credential->how]);
		rf_json_string(json, "field", credential->field);
		rf_json_string(json, "variable", credential->variable);
		json_rules(json, "hosts", credential->rules, credential->rule_count, false);
		rf_json_close_object(json);
	}
	rf_json_close_array(json);
}

static void json_gateway(struct rf_json *json, const struct rf_net *net)
{
	char text[64];

	rf_json_string(json, "mode", mode_name(net));
	json_rules(json, "allow", net->rules, net->rule_count, false);
	json_rules(json, "deny", net->rules, net->rule_count, true);
	rf_json_open_object(json, "hosts");
	for (size_t i = 0; i < net->alias_count; i++) {
		rf_net_place_write(net->aliases[i].address, net->aliases[i].port, text);
		rf_json_string(json, net->aliases[i].name, text);
	}
	rf_json_close_object(json);
	rf_json_open_array(json, "publish");
	for (size_t i = 0; i < net->publish_count; i++) {
		rf_net_place_write_publish(&net->publish[i], text);
		rf_json_string(json, NULL, text);
	}
	rf_json_close_array(json);
	rf_json_open_object(json, "limits");
	for (int i = 0; i < RF_NET_LIMIT_COUNT; i++) {
		rf_limit_write(&rf_net_limit_table[i], net->limits[i], text, sizeof(text));
		rf_json_string(json, rf_net_limit_table[i].key, text);
	}
	rf_json_close_object(json);
	json_credentials(json, net);
	rf_json_bool(json, "ends_tls", net->needs_tls);
	rf_json_bool(json, "filter", net->filters_answers);
	rf_json_string(json, "writes", net->holds_writes ? "hold" : "pass");
	rf_json_open_array(json, "roots");
	for (size_t i = 0; i < net->root_count; i++)
		rf_json_string(json, NULL, net->roots[i]);
	rf_json_close_array(json);
	rf_json_open_array(json, "mask");
	for (size_t i = 0; i < net->mask_count; i++)
		rf_json_string(json, NULL, net->masks[i]);
	rf_json_close_array(json);
}

void rf_explain_net_json(const struct rf_plan *plan, struct rf_json *json)
{
	rf_json_open_object(json, "network");
	rf_json_string(json, "link", rf_key_choice_name(RF_KEY_LINK, (uint64_t)plan->link));
	rf_json_bool(json, "loopback", plan->has_loopback);
	rf_json_bool(json, "unix", plan->has_unix);
	if (plan->link == RF_LINK_GATEWAY)
		json_gateway(json, plan->net);
	rf_json_close_object(json);
}
