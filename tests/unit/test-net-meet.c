/* Rules about the network of a ceiling and a request: src/policy/net-meet.c, meet.c. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "http/address.h"
#include "policy/net.h"

static struct rf_policy *policy_of(const char *text)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0, "%s: %s",
		   text, err.msg);
	return policy;
}

static struct rf_net *made(const struct rf_policy *policy)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_net *net = NULL;

	RF_REQUIRE(rf_net_make(policy, &net, &err) == 0, "%s", err.msg);
	return net;
}

static struct rf_host host_of(const char *text)
{
	struct rf_host host;

	RF_REQUIRE(!rf_host_parse(rf_span_of(text), &host), "%s", text);
	return host;
}

static bool may_dial(const struct rf_net *net, const char *text, uint16_t port)
{
	struct rf_host host = host_of(text);
	struct rf_address address;

	RF_REQUIRE(rf_net_address_of(&host, address.octets), "%s", text);
	return rf_net_judge_host(net, &host, port).is_allowed &&
	       rf_net_judge_dial(net, &address, port, false, false).is_allowed;
}

RF_TEST(a_request_does_not_widen_a_ceiling_to_what_is_not_public)
{
	/* clang-format off */
	static const struct { const char *ceiling, *request, *address; bool is_left; } cases[] = {
		/* What means the Internet grants public addresses alone. */
		{ "mode: open",                 "allow: ['127.0.0.1:8080']",       "127.0.0.1",       false },
		{ "mode: report",               "allow: ['127.0.0.1:8080']",       "127.0.0.1",       false },
		{ "allow: ['0.0.0.0/0:*']",     "allow: ['127.0.0.1:8080']",       "127.0.0.1",       false },
		{ "allow: ['*:*']",             "allow: ['10.0.0.0/8:*', '*:*']",  "10.0.0.1",        false },
		{ "mode: open",                 "{mode: open, allow: ['10.0.0.0/8:*']}", "10.0.0.1",  false },
		{ "mode: open",                 "allow: ['169.254.169.254:*']",    "169.254.169.254", false },
		{ "mode: open",                 "allow: ['168.63.129.16:*']",      "168.63.129.16",   false },
		{ "allow: ['168.0.0.0/6:*']",   "allow: ['169.254.0.0/16:*']",     "169.254.1.1",     false },
		{ "allow: ['169.254.0.0/16:*']", "allow: ['169.254.169.254:*']",   "169.254.169.254", false },
		{ "allow: ['8.0.0.0/6:*']",     "allow: ['10.0.0.0/8:*']",         "10.0.0.1",        false },
		{ "allow: ['[::/0]:*']",        "allow: ['[::1]:*']",              "[::1]",           false },
		{ "allow: ['[::/0]:*']",        "allow: ['[64:ff9b::7f00:1]:*']",  "[64:ff9b::7f00:1]", false },
		{ "allow: ['[2002::/16]:*']",   "allow: ['[2002:7f00:1::]:*']",    "[2002:7f00:1::]", false },
		/* Nor does a ceiling widen a request. */
		{ "allow: ['127.0.0.1:8080']",  "mode: open",                      "127.0.0.1",       false },
		{ "allow: ['127.0.0.1:8080']",  "allow: ['0.0.0.0/0:*']",          "127.0.0.1",       false },
		/* A prefix that straddles grants its public part alone. */
		{ "mode: open",                 "allow: ['168.0.0.0/6:*']",        "169.254.169.254", false },
		{ "mode: open",                 "allow: ['168.0.0.0/6:*']",        "168.63.129.16",   false },
		{ "mode: open",                 "allow: ['168.0.0.0/6:*']",        "168.1.1.1",       true },
		{ "allow: ['8.0.0.0/6:*', '0.0.0.0/0:*']", "allow: ['8.0.0.0/6:*']", "10.0.0.1",      false },
		{ "allow: ['8.0.0.0/6:*', '0.0.0.0/0:*']", "allow: ['8.0.0.0/6:*']", "8.8.8.8",       true },
		/* What is named by both is left, and what is public. */
		{ "allow: ['127.0.0.1:*']",     "allow: ['127.0.0.1:8080']",       "127.0.0.1",       true },
		{ "allow: ['127.0.0.0/8:*', '0.0.0.0/0:*']", "allow: ['127.0.0.1:8080']", "127.0.0.1", true },
		{ "{mode: open, allow: ['127.0.0.0/8:*']}", "allow: ['127.0.0.1:8080']", "127.0.0.1", true },
		{ "allow: ['10.0.0.0/8:*']",    "allow: ['10.1.0.0/16:*']",        "10.1.0.1",        true },
		{ "allow: ['169.254.169.254:*']", "allow: ['169.254.169.254:*']",  "169.254.169.254", true },
		{ "mode: open",                 "allow: ['93.184.216.34:*']",      "93.184.216.34",   true },
		{ "mode: report",               "allow: ['93.184.216.0/24:*']",    "93.184.216.34",   true },
		{ "allow: ['0.0.0.0/0:*']",     "allow: ['93.184.216.34:8080']",   "93.184.216.34",   true },
		/* The host's own network reaches all. */
		{ "link: host",                 "allow: ['127.0.0.1:8080']",       "127.0.0.1",       true },
		{ "link: host",                 "{mode: open, allow: ['127.0.0.1:8080']}", "127.0.0.1", true },
		{ "allow: ['127.0.0.1:8080']",  "link: host",                      "127.0.0.1",       true },
	};
	/* clang-format on */
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char ceiling[256], request[256];
		struct rf_policy *a, *b, *m = NULL;
		struct rf_err err = RF_ERR_INIT;
		struct rf_net *net;

		snprintf(ceiling, sizeof(ceiling),
			 cases[i].ceiling[0] == '{' ? "network: %s" : "network: {%s}",
			 cases[i].ceiling);
		snprintf(request, sizeof(request),
			 cases[i].request[0] == '{' ? "network: %s" : "network: {%s}",
			 cases[i].request);
		a = policy_of(ceiling);
		b = policy_of(request);
		RF_REQUIRE(rf_policy_meet(a, b, &m, &err) == 0, "%s", err.msg);
		net = made(m);
		RF_CHECK(may_dial(net, cases[i].address, 8080) == cases[i].is_left,
			 "%s under %s: %s", cases[i].request, cases[i].ceiling, cases[i].address);
		rf_net_free(net);
		rf_policy_free(a);
		rf_policy_free(b);
		rf_policy_free(m);
	}
}

RF_TEST(a_public_address_of_this_machine_is_reached_by_network_hosts_alone)
{
	struct rf_policy *policy =
		policy_of("network: {allow: ['93.184.216.34:*', '10.0.0.0/8:*']}");
	struct rf_net *net = made(policy);
	struct rf_host own = host_of("93.184.216.34"), private = host_of("10.0.0.1");
	struct rf_address address;

	rf_net_address_of(&own, address.octets);
	RF_CHECK(!rf_net_judge_dial(net, &address, 80, false, true).is_allowed, "by a rule");
	RF_CHECK(rf_net_judge_dial(net, &address, 80, true, true).is_allowed, "by an alias");
	RF_CHECK(rf_net_judge_dial(net, &address, 80, false, false).is_allowed, "another's");
	rf_net_address_of(&private, address.octets);
	RF_CHECK(rf_net_judge_dial(net, &address, 80, false, true).is_allowed, "a private one");
	rf_net_free(net);
	rf_policy_free(policy);
}

RF_TEST(a_ceiling_says_whether_it_covers_a_rule_and_what_bounds_it)
{
	/* clang-format off */
	static const struct { const char *ceiling, *rule, *bound; } cases[] = { /* "": covered */
		{ "{mode: open}",                      "127.0.0.1:80",     "network.mode: open" },
		{ "{mode: report}",                    "10.0.0.0/8:*",     "network.mode: report" },
		{ "{mode: open}",                      "example.org:*",    "" },
		{ "{mode: open}",                      "0.0.0.0/0:*",      "" },
		{ "{mode: open, deny: [a.b]}",         "a.b:443",          "network.deny: a.b" },
		{ "{mode: open, deny: [a.b]}",         "*.b",              "" },
		{ "{mode: open, deny: [0.0.0.0/0]}",   "10.0.0.1",         "network.deny: 0.0.0.0/0" },
		{ "{mode: open, allow: ['127.0.0.1:*']}", "127.0.0.1:80",  "" },
		{ "{allow: ['0.0.0.0/0:*']}",          "127.0.0.1:80",     "network.allow: 0.0.0.0/0:*" },
		{ "{allow: ['0.0.0.0/0:*']}",          "1.1.1.1:80",       "" },
		{ "{allow: ['0.0.0.0/0:*']}",          "[::1]:80",         "network.allow" },
		{ "{allow: ['0.0.0.0/0:*', '127.0.0.0/8:*']}", "127.0.0.1:80", "" },
		{ "{allow: ['GET **.a.b/v1/**']}",     "x.a.b",            "network.allow: GET **.a.b/v1/**" },
		{ "{allow: ['GET **.a.b/v1/**']}",     "GET x.a.b/v1/y",   "" },
		{ "{allow: ['**.a.b']}",               "x.c",              "network.allow" },
		{ "{allow: ['a.b:443', 'a.b:80']}",    "a.b",              "" },
		{ "{allow: ['a.b:443', 'a.b:80']}",    "a.b:80-81",        "network.allow: a.b:80" },
		{ "{allow: ['a.b:1-9', '*.b:10-20']}", "a.b:5-15",         "" },
		{ "{allow: ['a.b:1-9', '*.b:11-20']}", "a.b:5-15",         "network.allow: a.b:1-9" },
		{ "{allow: ['GET a.b', 'POST a.b']}",  "GET,POST a.b",     "" },
		{ "{allow: ['GET a.b', 'POST a.b']}",  "GET,PUT a.b",      "network.allow: GET a.b" },
		{ "{allow: ['GET a.b', 'POST a.b']}",  "a.b",              "network.allow: GET a.b" },
		{ "{allow: ['GET a.b:80', 'POST a.b:443']}", "GET,POST a.b", "network.allow: GET a.b:80" },
		{ "{allow: ['TCP a.b:90', 'a.b:91']}", "TCP a.b:90,91",    "network.allow: TCP a.b:90" },
		{ "{allow: ['TCP a.b:90', 'a.b:91']}", "a.b:90,91",        "" },
		{ "{mode: open, deny: ['a.b:80', 'a.b:443']}", "a.b",      "network.deny: a.b:80" },
		{ "{allow: ['10.0.0.0/8:*'], deny: ['0.0.0.0/0:*']}", "10.0.0.1:80", "network.deny: 0.0.0.0/0" },
		{ "none",                              "a.b",              "network.link: none" },
		{ "host",                              "127.0.0.1:80",     "" },
	};
	/* clang-format on */
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		char text[256], bound[RF_NET_BOUND];
		struct rf_policy *ceiling, *request = policy_of("version: 1");
		struct rf_net_ceiling *rules = NULL;
		bool covers = false;

		snprintf(text, sizeof(text), "network: %s", cases[i].ceiling);
		ceiling = policy_of(text);
		RF_REQUIRE(rf_net_ceiling_new(ceiling, request, &rules, &err) == 0, "%s", err.msg);
		RF_REQUIRE(rf_net_ceiling_covers(rules, cases[i].rule, &covers, bound, &err) == 0,
			   "%s", err.msg);
		RF_CHECK(covers == !cases[i].bound[0] && strcmp(bound, cases[i].bound) == 0,
			 "%s under %s: %s", cases[i].rule, text, bound);
		rf_net_ceiling_free(rules);
		rf_policy_free(request);
		rf_policy_free(ceiling);
	}
}

RF_TEST(a_credential_is_left_only_where_each_side_would_add_it)
{
	/* clang-format off */
	static const struct { const char *a, *b; bool is_left; } cases[] = {
		{ "allow: [h.test]",                "allow: [h.test]",                true },
		{ "mode: open",                     "allow: [h.test]",                false },
		{ "mode: report",                   "allow: [h.test]",                false },
		{ "mode: report, allow: [h.test]",  "allow: [h.test]",                true },
		{ "mode: report, allow: [h.test]",  "mode: report, allow: [h.test]",  true },
		{ "mode: report, allow: [h.test]",  "mode: open, allow: [h.test]",    false },
		{ "link: host",                     "allow: [h.test]",                true },
	};
	/* clang-format on */
	for (size_t i = 0; i < 2 * RF_LEN(cases); i++) {
		const char *x = i % 2 ? cases[i / 2].b : cases[i / 2].a;
		const char *y = i % 2 ? cases[i / 2].a : cases[i / 2].b;
		static const char key[] = "credentials: {k: {from: 'env:K', hosts: [h.test]}}";
		struct rf_policy *a, *b, *m = NULL;
		struct rf_err err = RF_ERR_INIT;
		struct rf_net *net;
		char text[256];

		snprintf(text, sizeof(text), "network: {%s}\n%s", x, key);
		a = policy_of(text);
		snprintf(text, sizeof(text), "network: {%s}\n%s", y, key);
		b = policy_of(text);
		RF_REQUIRE(rf_policy_meet(a, b, &m, &err) == 0, "%s", err.msg);
		net = made(m);
		RF_CHECK(net->credential_count == (cases[i / 2].is_left ? 1 : 0), "%s with %s", x,
			 y);
		rf_net_free(net);
		rf_policy_free(a);
		rf_policy_free(b);
		rf_policy_free(m);
	}
}

RF_TEST(a_ceiling_bounds_where_names_lead_and_what_is_lent)
{
	struct rf_policy *a = policy_of(
		"network: {allow: ['**.example'], hosts: {a.example: 10.0.0.1}, rate: 10/s}\n"
		"credentials:\n"
		"  k: { from: 'env:K', hosts: ['**.example'], budget: 100/day, cost: 0.5, money: "
		"9/day }\n"
		"  l: { from: 'env:L', hosts: [l.example] }\n");
	struct rf_policy *b =
		policy_of("network: {allow: ['*'], hosts: {b.example: 10.0.0.2}, rate: 60/min}\n"
			  "credentials:\n"
			  "  k: { from: 'env:K', hosts: [\"GET a.example\", c.other], budget: "
			  "10/min, cost: 0.25, money: 2/h }\n"
			  "  l: { from: 'file:/x', hosts: [l.example] }\n"
			  "  m: { from: 'env:M', hosts: [m.example] }\n");
	struct rf_host known = host_of("a.example"), other = host_of("b.example");
	struct rf_policy *m = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_net *net;

	RF_REQUIRE(rf_policy_meet(a, b, &m, &err) == 0, "%s", err.msg);
	net = made(m);
	RF_CHECK(rf_net_judge_host(net, &known, 443).is_allowed, "a.example");
	RF_CHECK(!rf_net_judge_host(net, &other, 443).is_allowed, "leads elsewhere for one side");
	RF_CHECK(net->alias_count == 1 && strcmp(net->aliases[0].name, "a.example") == 0, "alias");
	RF_CHECK(net->limits[RF_NET_RATE] == rf_limit_rate(86400, 10),
		 "of both numbers the lesser");
	RF_CHECK(net->credential_count == 1 && net->credentials[0].rule_count == 1 &&
			 strcmp(net->credentials[0].rules[0].text, "GET a.example") == 0 &&
			 net->credentials[0].budget == 10 &&
			 net->credentials[0].budget_ms == 86400000 &&
			 net->credentials[0].cost == 500000 &&
			 net->credentials[0].money == 2000000 &&
			 net->credentials[0].money_ms == 86400000,
		 "%zu credentials", net->credential_count);
	rf_net_free(net);
	rf_policy_free(a);
	rf_policy_free(b);
	rf_policy_free(m);
}
