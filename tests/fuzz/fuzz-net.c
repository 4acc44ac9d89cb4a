/*
 * A rule about the network: what is read at all has one form, which reads back as the same rule, meets itself in itself, and
 * matches what it names.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "policy/net-place.h"
#include "policy/net.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_rule(const char *text, bool is_deny)
{
	struct rf_net_rule_room room, other, rooms[RF_NET_MEET];
	struct rf_net_rule rule, again, met[RF_NET_MEET];
	struct rf_err err = RF_ERR_INIT;
	struct rf_host host;

	if (rf_net_rule_parse(text, is_deny, &room, &rule, &err) < 0) {
		require(err.code < 0 && err.msg[0]);
		return;
	}
	require(rule.port_count > 0 && rule.port_count <= RF_NET_PORTS && rule.ports[0].first > 0);
	require(rf_net_rule_parse(rule.text, is_deny, &other, &again, &err) == 0 &&
		strcmp(rule.text, again.text) == 0 && again.who == rule.who &&
		again.methods == rule.methods && again.bits == rule.bits &&
		again.is_tcp == rule.is_tcp);
	/* TCP stands with nothing of HTTP's, and denies nothing. */
	require(!rule.is_tcp ||
		(!rule.methods && !rule.path && !is_deny && rule.who != RF_NET_CIDR));
	require(rf_net_rule_meet(&rule, &again, rooms, met, RF_NET_MEET) == 1 &&
		strcmp(met[0].text, rule.text) == 0);
	if (rule.who == RF_NET_NAME) {
		require(!rf_host_parse(rf_span_of(rule.host), &host) && host.kind == RF_HOST_NAME);
		require(rf_net_rule_has_host(&rule, &host));
	}
	if (rule.who == RF_NET_CIDR)
		require(rf_net_rule_has_address(&rule, rule.address) && !rule.path &&
			!rule.methods);
	/* A pattern is a path that it matches, its stars being letters as others. */
	if (rule.path)
		require(rf_net_path_match(rule.path, rf_span_of(rule.path)));
}

RF_FUZZ(data, size)
{
	char text[2048];
	const char *at = text;
	struct rf_span part;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_rule(text, false);
	check_rule(text, true);
	while (rf_net_rule_next(&at, &part))
		require(part.at >= text && part.at + part.len <= text + size);
	return 0;
}
