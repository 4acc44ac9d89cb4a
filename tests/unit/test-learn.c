/* The least policy of a run: src/policy/learn.c. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "harness.h"
#include "policy/learn.h"
#include "policy/net.h"

static struct rf_policy *complete(const char *text)
{
	struct rf_policy *policy = rf_policy_new(RF_COMMAND_RUN), *over = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(policy && rf_policy_parse(text, strlen(text), "/", "/", &over, &err) == 0 &&
			   rf_policy_merge(policy, over, &err) == 0,
		   "%s", err.msg);
	rf_policy_free(over);
	return policy;
}

static void check(struct rf_learn *learn, const char *base_text, const char *expected)
{
	struct rf_policy *base = complete(base_text), *policy = NULL;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out = { 0 };

	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	RF_REQUIRE(rf_learn_policy(learn, base, &policy, &err) == 0, "%s", err.msg);
	rf_policy_format(policy, &out);
	RF_CHECK(strcmp(out.data, expected) == 0, "%s", out.data);
	rf_policy_free(policy);
	rf_policy_free(base);
	rf_learn_done(learn);
}

RF_TEST(what_was_seen_becomes_rules_and_only_that)
{
	struct rf_learn learn = { 0 };

	rf_learn_note(&learn, "b.example", 443, "", "");
	rf_learn_note(&learn, "a.example", 80, "GET", "/x");
	rf_learn_note(&learn, "a.example", 80, "POST", "/x");
	rf_learn_note(&learn, "a.example", 80, "GET", "/x");
	rf_learn_note(&learn, "a.example", 80, "", ""); /* the connection of these */
	rf_learn_note(&learn, "a.example", 8080, "GET", "/");
	rf_learn_note(&learn, "10.0.0.1", 22, "", "");
	rf_learn_note(&learn, "2001:db8::1", 22, "", "");
	check(&learn,
	      "network: {mode: report, allow: [unused.example], deny: [c.example]}\nlimits: "
	      "{memory: 1G}\n",
	      "version: 1\nlimits:\n  memory: 1G\nnetwork:\n  link: gateway\n  allow:\n"
	      "    - \"10.0.0.1:22\"\n    - \"[2001:db8::1]:22\"\n    - \"GET,POST a.example/x\"\n"
	      "    - \"GET a.example:8080/\"\n    - b.example\n  deny:\n    - c.example\n");
}

RF_TEST(what_was_no_http_becomes_a_rule_that_says_tcp)
{
	struct rf_learn learn = { 0 };

	rf_learn_note(&learn, "db.example", 7000, "TCP", "");
	rf_learn_note(&learn, "both.example", 443, "", "");
	rf_learn_note(&learn, "both.example", 443, "TCP", "");
	rf_learn_note(&learn, "both.example", 443, "GET", "/x");
	rf_learn_note(&learn, "git.example", 22, "TCP", "");
	rf_learn_note(&learn, "tls.example", 7000, "", "");
	check(&learn, "{}",
	      "version: 1\nnetwork:\n  link: gateway\n  allow:\n    - \"TCP both.example:443\"\n"
	      "    - \"TCP db.example:7000\"\n    - \"git.example:22\"\n"
	      "    - \"tls.example:7000\"\n");
}

RF_TEST(many_paths_become_their_common_beginning)
{
	struct rf_learn learn = { 0 };
	char path[64];

	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "/v1/repos/%d/issues", i);
		rf_learn_note(&learn, "a.example", 443, i % 2 ? "GET" : "PATCH", path);
	}
	check(&learn, "{}",
	      "version: 1\nnetwork:\n  link: gateway\n  allow:\n    - \"GET,PATCH "
	      "a.example/v1/repos/**\"\n");
}

RF_TEST(who_needed_no_network_gets_none)
{
	struct rf_learn learn = { 0 };

	check(&learn, "network: {mode: report}\nfiles: {read: [/data]}\n",
	      "version: 1\nfiles:\n  read:\n    - /data\n");
}

RF_TEST(what_no_rule_can_name_is_counted)
{
	struct rf_learn learn = { 0 };
	struct rf_policy *base = complete("{}"), *policy = NULL;
	struct rf_err err = RF_ERR_INIT;

	rf_learn_note(&learn, "a.example", 443, "GET", "/a;b");
	rf_learn_note(&learn, "a.example", 443, "BREW", "/a");
	RF_CHECK(rf_learn_policy(&learn, base, &policy, &err) == 0 && learn.left_out == 2, "%zu",
		 learn.left_out);
	rf_policy_free(policy);
	rf_policy_free(base);
	rf_learn_done(&learn);
}
