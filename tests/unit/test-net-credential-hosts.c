/* The hosts of credentials and the rules that lead to them: src/policy/net-credential-hosts.c. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "policy/net-credential-hosts.h"

static struct rf_policy *read_policy(const char *text)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0, "%s: %s",
		   text, err.msg);
	return policy;
}

RF_TEST(a_credential_needs_a_rule_for_each_of_its_hosts)
{
	/* clang-format off */
	static const struct { const char *network, *hosts, *missing; } cases[] = {
		{ "",                                       "api.x",             "api.x" },
		{ "network: none",                          "api.x",             "api.x" },
		{ "network: host",                          "api.x",             "api.x" },
		{ "network: { allow: [api.x] }",            "api.x",             NULL },
		{ "network: { allow: ['*'] }",              "api.x",             NULL },
		{ "network: { allow: ['*.x'] }",            "api.x",             NULL },
		{ "network: { allow: [b.api.x] }",          "'*.api.x'",         NULL },
		{ "network: { allow: [api.x] }",            "'*.api.x'",         "*.api.x" },
		{ "network: { allow: [api.x] }",            "api.y",             "api.y" },
		{ "network: { allow: [api.x] }",            "api.x, up.x",       "up.x" },
		{ "network: { allow: [api.x] }",            "'api.x:8443'",      "api.x:8443" },
		{ "network: { allow: ['api.x:*'] }",        "'api.x:8443'",      NULL },
		{ "network: { allow: [GET api.x] }",        "POST api.x",        "POST api.x" },
		{ "network: { allow: [GET api.x/v2/**] }",  "api.x/v1/**",       "api.x/v1/**" },
		{ "network: { allow: [GET api.x/v1/a] }",   "api.x/v1/**",       NULL },
		{ "network: { allow: [10.0.0.0/8] }",       "api.x",             "api.x" },
		{ "network: { mode: report }",              "api.x",             "api.x" },
		{ "network: { mode: open }",                "api.x",             NULL },
		{ "network: { allow: [api.x], deny: [api.x] }", "api.x",         NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		const char *name = NULL;
		struct rf_policy *policy;
		char text[512], words[128];

		snprintf(text, sizeof(text),
			 "%s\ncredentials: { git: { from: 'env:T', hosts: [%s] } }\n",
			 cases[i].network, cases[i].hosts);
		policy = read_policy(text);
		RF_CHECK((rf_net_credential_hosts_check(policy, &name, &err) < 0) ==
				 (cases[i].missing != NULL),
			 "%s: %s", text, err.msg);
		if (cases[i].missing) {
			snprintf(words, sizeof(words), "leads to %s, so", cases[i].missing);
			RF_CHECK(name && strcmp(name, "git") == 0 && strstr(err.msg, words) &&
					 strstr(err.hint, cases[i].missing),
				 "%s: %s (%s)", text, err.msg, err.hint);
		}
		rf_policy_free(policy);
	}
}

RF_TEST(a_flag_allows_what_it_is_bound_to_and_nothing_else)
{
	struct rf_policy *policy = rf_policy_new_empty();
	RF_AUTO_BUF struct rf_buf out;
	struct rf_err err = RF_ERR_INIT;

	rf_buf_init(&out, 4096);
	RF_REQUIRE(rf_policy_set(policy, "credentials", "a=env:A@POST api.x:8443/v1/*,b.x", "/",
				 "/", &err) == 0 &&
			   rf_policy_set(policy, "credentials", "c=env:C@b.x", "/", "/", &err) ==
				   0 &&
			   rf_net_credential_hosts_allow(policy, &err) == 0,
		   "%s", err.msg);
	RF_CHECK(strcmp(rf_policy_item(policy, "network.allow", 0), "POST api.x:8443/v1/*") == 0 &&
			 strcmp(rf_policy_item(policy, "network.allow", 1), "b.x") == 0 &&
			 !rf_policy_item(policy, "network.allow", 2),
		 "%s", rf_policy_item(policy, "network.allow", 0));
	RF_CHECK(rf_net_credential_hosts_check(policy, NULL, &err) == 0, "%s", err.msg);
	rf_policy_free(policy);
}

RF_TEST(where_others_chose_the_hosts_one_of_them_is_enough)
{
	/* clang-format off */
	static const struct { const char *allow; bool is_enough; } cases[] = {
		{ "api.x", true }, { "'*.x'", true }, { "other.y:8443", true }, { "other.y", false }, { "z", false },
	};
	/* clang-format on */
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *policy = NULL;
		struct rf_err err = RF_ERR_INIT;
		char text[256];

		snprintf(text, sizeof(text),
			 "network: {allow: [%s]}\ncredentials: {a: {from: 'env:A', hosts: [api.x, "
			 "'other.y:8443']}}\n",
			 cases[i].allow);
		RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0, "%s",
			   err.msg);
		RF_CHECK((rf_net_credential_hosts_check_some(policy, &err) == 0) ==
				 cases[i].is_enough,
			 "%s: %s", text, err.msg);
		rf_policy_free(policy);
	}
}
