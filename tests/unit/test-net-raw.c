/*
 * Rules with TCP: what is neither HTTP nor TLS (rf_net_judge_raw() in src/policy/net.c, read in net-rule.c, met in net-meet.c).
 *
 * Random rules are drawn from few names and ports, so that they often touch; the seed is printed, and RF_SEED repeats it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/net-place.h"
#include "policy/net.h"

static struct rf_host host_of(const char *text)
{
	struct rf_host host = { 0 };

	RF_REQUIRE(rf_host_parse(rf_span_of(text), &host) == RF_FAULT_NONE, "%s", text);
	return host;
}

static struct rf_net *made(const struct rf_policy *policy)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_net *net = NULL;

	RF_REQUIRE(rf_net_make(policy, &net, &err) == 0, "%s", err.msg);
	return net;
}

static struct rf_net *net_of(const char *text)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_net *net;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/w", "/home", &policy, &err) == 0, "%s: %s",
		   text, err.msg);
	net = made(policy);
	rf_policy_free(policy);
	return net;
}

RF_TEST(a_rule_with_tcp_has_one_form)
{
	/* clang-format off */
	static const struct { const char *text, *form; } cases[] = {
		{ "TCP Db.example:5433",         "TCP db.example:5433" },
		{ "TCP db.example:443,80",       "TCP db.example:80,443" },
		{ "TCP *.example:*",             "TCP *.example:*" },
		{ "TCP *:9000-9001,22",          "TCP *:22,9000-9001" },
		{ "TCP git.example:22",          "git.example:22" },
		{ "TCP db.example:5432,6379",    "db.example:5432,6379" },
		{ "TCP db.example:27017-27019",  "db.example:27017-27019" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_net_rule_room room, again;
		struct rf_net_rule rule, same;
		struct rf_err err = RF_ERR_INIT;

		RF_REQUIRE(rf_net_rule_parse(cases[i].text, false, &room, &rule, &err) == 0,
			   "%s: %s", cases[i].text, err.msg);
		RF_CHECK(strcmp(rule.text, cases[i].form) == 0, "%s is %s", cases[i].text,
			 rule.text);
		RF_CHECK(rf_net_rule_parse(rule.text, false, &again, &same, &err) == 0 &&
				 strcmp(same.text, rule.text) == 0 && same.is_tcp == rule.is_tcp,
			 "%s again", rule.text);
		RF_CHECK(rf_net_rule_has_raw(&rule, rule.ports[0].first), "%s is none", rule.text);
	}
}

RF_TEST(what_tcp_can_not_stand_with_is_no_rule)
{
	/* clang-format off */
	static const struct { const char *text, *hint; } cases[] = {
		{ "TCP",                      "api.example.org" },
		{ "TCP api.example",          ":* for all ports" },
		{ "TCP *",                    ":* for all ports" },
		{ "TCP api.example:",         "" },
		{ "TCP api.example/x",        "without TCP" },
		{ "TCP api.example:443/x",    "without TCP" },
		{ "GET,TCP api.example:443",  "one rule with methods and another with TCP" },
		{ "TCP,GET api.example:443",  "one rule with methods and another with TCP" },
		{ "TCP,TCP api.example:443",  "one rule with methods and another with TCP" },
		{ "TCP GET api.example:443",  "" },
		{ "tcp api.example:443",      "" },
		{ "TCP  api.example:443",     "" },
		{ "TCP 10.0.0.1:443",         "a rule for addresses allows all of it" },
		{ "TCP 10.0.0.0/8:443",       "a rule for addresses allows all of it" },
		{ "TCP [::1]:443",            "a rule for addresses allows all of it" },
	};
	/* clang-format on */
	struct rf_net_rule_room room;
	struct rf_net_rule rule;
	struct rf_err err = RF_ERR_INIT;

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		err = RF_ERR_INIT;
		RF_CHECK(rf_net_rule_parse(cases[i].text, false, &room, &rule, &err) == -EINVAL &&
				 err.msg[0] && strstr(err.hint, cases[i].hint),
			 "%s: %s (%s)", cases[i].text, err.msg, err.hint);
	}
	RF_CHECK(rf_net_rule_parse("TCP a.example:9", true, &room, &rule, &err) == -EINVAL &&
			 strstr(err.hint, "denied as a whole"),
		 "a denial: %s", err.hint);
}

RF_TEST(a_flag_holds_rules_with_tcp)
{
	const char *at = "TCP a.b:1,2,c.d,TCP *.e:3-9";
	static const char *const parts[] = { "TCP a.b:1,2", "c.d", "TCP *.e:3-9" };
	struct rf_span rule;
	size_t n = 0;

	for (; rf_net_rule_next(&at, &rule); n++)
		RF_CHECK(n < RF_LEN(parts) && rf_span_is(rule, rf_span_of(parts[n])), "%.*s",
			 RF_SPAN_ARG(rule));
	RF_CHECK(n == RF_LEN(parts), "%zu", n);
}

RF_TEST(what_is_neither_http_nor_tls_needs_a_rule_that_says_so)
{
	static const char text[] =
		"network:\n"
		"  mode: %s\n"
		"  allow: [\"host.example:*\", \"TCP raw.example:9000\", \"raw.example:*\",\n"
		"    \"GET asked.example:*/x\", \"GET asked.example:22\", \"10.0.0.0/8:*\",\n"
		"    \"TCP *.bad.example:*\"]\n"
		"  deny: [x.bad.example, 10.9.0.0/16]\n";
	/* clang-format off */
	static const struct { const char *host; int port; bool is_allowed; } cases[] = {
		{ "host.example",  80,   false }, { "host.example",  443,  false }, { "host.example",  8080, false },
		{ "host.example",  22,   true },  { "host.example",  5432, true },  { "host.example",  587,  true },
		{ "raw.example",   9000, true },  { "raw.example",   9001, false }, { "raw.example",   22,   true },
		{ "asked.example", 22,   false }, { "asked.example", 80,   false },
		{ "10.1.2.3",      443,  true },  { "10.1.2.3",      8080, true },  { "10.9.2.3",      443,  false },
		{ "a.bad.example", 80,   true },  { "x.bad.example", 80,   false }, { "none.example",  22,   false },
	};
	/* clang-format on */
	static const char *const modes[] = { "enforce", "report", "open" };

	for (size_t m = 0; m < RF_LEN(modes); m++) {
		char policy[512];
		struct rf_net *net;

		snprintf(policy, sizeof(policy), text, modes[m]);
		net = net_of(policy);
		for (size_t i = 0; i < RF_LEN(cases); i++) {
			struct rf_host host = host_of(cases[i].host);
			struct rf_net_verdict verdict =
				rf_net_judge_raw(net, &host, (uint16_t)cases[i].port);
			bool is_denied = verdict.rule && verdict.rule->is_deny;

			RF_CHECK(verdict.is_allowed ==
					 (cases[i].is_allowed || (m > 0 && !is_denied)),
				 "%s:%d in %s: %s", cases[i].host, cases[i].port, modes[m],
				 verdict.reason);
			RF_CHECK(verdict.is_reported ==
					 (m == 1 && !cases[i].is_allowed && !is_denied),
				 "%s:%d in %s is reported", cases[i].host, cases[i].port, modes[m]);
		}
		rf_net_free(net);
	}
}

RF_TEST(rules_with_tcp_meet_what_both_say)
{
	/* clang-format off */
	static const struct { const char *a, *b, *both; } cases[] = {
		{ "TCP a.example:9000",    "TCP a.example:9000",     "TCP a.example:9000" },
		{ "TCP a.example:9000",    "a.example:9000",         "a.example:9000" },
		{ "a.example:443",         "TCP a.example:443",      "a.example:443" },
		{ "a.example:22",          "TCP a.example:22",       "a.example:22" },
		{ "*.example:*",           "TCP a.example:22",       "a.example:22" },
		{ "*.example:*",           "TCP a.example:22,9000",  "a.example:22,9000" },
		{ "TCP *.example:*",       "TCP a.example:22,9000",  "TCP a.example:22,9000" },
		{ "TCP *.example:20-22",   "TCP a.example:22-30",    "a.example:22" },
		{ "TCP *.example:*",       "GET a.example/x",        "GET a.example/x" },
		{ "TCP *.example:*",       "a.example",              "a.example" },
		{ "TCP a.example:9000",    "b.example:*",            "" },
		{ "TCP a.example:9000",    "10.0.0.0/8:*",           "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < 2 * RF_LEN(cases); i++) {
		const char *a = i % 2 ? cases[i / 2].b : cases[i / 2].a;
		const char *b = i % 2 ? cases[i / 2].a : cases[i / 2].b;
		struct rf_net_rule_room one, other, rooms[RF_NET_MEET];
		struct rf_net_rule x, y, met[RF_NET_MEET];
		struct rf_err err = RF_ERR_INIT;
		size_t count;

		RF_REQUIRE(rf_net_rule_parse(a, false, &one, &x, &err) == 0 &&
				   rf_net_rule_parse(b, false, &other, &y, &err) == 0,
			   "%s", err.msg);
		count = rf_net_rule_meet(&x, &y, rooms, met, RF_NET_MEET);
		RF_CHECK(count == (cases[i / 2].both[0] != '\0') &&
				 (!count || strcmp(met[0].text, cases[i / 2].both) == 0),
			 "%s and %s: %s", a, b, count ? met[0].text : "nothing");
		RF_CHECK(rf_net_rule_covers(&x, &y) == (count && !strcmp(met[0].text, y.text)),
			 "%s covers %s", a, b);
	}
}

/* --- Random rules --- */

static uint64_t state;

static unsigned pick(unsigned below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % below;
}

static void start(void)
{
	const char *given = getenv("RF_SEED");

	state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	printf("# seed %llu\n", (unsigned long long)state);
}

static const uint16_t some_ports[] = { 80, 443, 22, 85, 9000 };
static const char *const some_hosts[] = { "a.example", "b.a.example", "x.example", "10.0.0.1" };

static void random_rule(bool is_deny, char *text, size_t size)
{
	static const char *const wholes[] = { "a.example", "b.a.example", "*.a.example",
					      "**.example", "*" };
	static const char *const ports[] = { ":443", ":80-90", ":*", ":22,443", ":9000" };
	const char *whole = wholes[pick(RF_LEN(wholes))], *port = ports[pick(RF_LEN(ports))];

	if (pick(8) == 0)
		snprintf(text, size, "10.0.0.0/%u%s", 8 * (1 + pick(3)), port);
	else if (is_deny || pick(2))
		snprintf(text, size, "%s%s%s%s", pick(4) ? "" : "GET ", whole, port,
			 pick(4) ? "" : "/x/*");
	else
		snprintf(text, size, "TCP %s%s", whole, port);
}

static struct rf_policy *random_policy(void)
{
	static const char *const modes[] = { "enforce", "enforce", "enforce", "report", "open" };
	struct rf_policy *policy = rf_policy_new_empty();
	struct rf_err err = RF_ERR_INIT;
	char text[256];

	RF_REQUIRE(policy, "memory");
	for (unsigned i = pick(8); i > 0; i--) {
		bool is_deny = pick(5) == 0;

		random_rule(is_deny, text, sizeof(text));
		RF_REQUIRE(rf_policy_set(policy, is_deny ? "network.deny" : "network.allow", text,
					 "/", "/", &err) == 0,
			   "%s: %s", text, err.msg);
	}
	RF_REQUIRE(rf_policy_set(policy, "network.link", "gateway", "/", "/", &err) == 0 &&
			   rf_policy_set(policy, "network.mode", modes[pick(RF_LEN(modes))], "/",
					 "/", &err) == 0,
		   "%s", err.msg);
	return policy;
}

/* One rule after the other, as net.h says it. */
static bool plainly(const struct rf_net *net, const struct rf_host *host, uint16_t port)
{
	bool is_allowed = net->mode != RF_NET_ENFORCE;

	for (size_t i = 0; i < net->rule_count; i++) {
		const struct rf_net_rule *rule = &net->rules[i];

		if (!rf_net_rule_has_host(rule, host) || !rf_net_rule_has_port(rule, port) ||
		    rule->methods || rule->path)
			continue;
		if (rule->is_deny)
			return false;
		is_allowed |= rule->is_tcp || rule->who == RF_NET_CIDR || port == 22;
	}
	return is_allowed;
}

RF_TEST(the_index_finds_what_a_plain_look_finds)
{
	start();
	for (int round = 0; round < 5000; round++) {
		struct rf_policy *policy = random_policy();
		struct rf_net *net = made(policy);

		for (size_t i = 0; i < RF_LEN(some_hosts) * RF_LEN(some_ports); i++) {
			struct rf_host host = host_of(some_hosts[i % RF_LEN(some_hosts)]);
			uint16_t port = some_ports[i / RF_LEN(some_hosts)];

			RF_CHECK(rf_net_judge_raw(net, &host, port).is_allowed ==
					 plainly(net, &host, port),
				 "round %d: %s:%u", round, host.text, port);
		}
		rf_net_free(net);
		rf_policy_free(policy);
	}
}

RF_TEST(a_meet_lets_nothing_pass_that_a_side_does_not)
{
	unsigned both = 0, met = 0;

	start();
	for (int round = 0; round < 5000; round++) {
		struct rf_policy *a = random_policy(), *b = random_policy(), *m = NULL;
		struct rf_net *x = made(a), *y = made(b), *z;
		struct rf_err err = RF_ERR_INIT;

		RF_REQUIRE(rf_policy_meet(a, b, &m, &err) == 0, "%s", err.msg);
		z = made(m);
		for (size_t i = 0; i < RF_LEN(some_hosts) * RF_LEN(some_ports); i++) {
			struct rf_host host = host_of(some_hosts[i % RF_LEN(some_hosts)]);
			uint16_t port = some_ports[i / RF_LEN(some_hosts)];
			bool in_a = rf_net_judge_raw(x, &host, port).is_allowed;
			bool in_b = rf_net_judge_raw(y, &host, port).is_allowed;
			bool in_m = rf_net_judge_raw(z, &host, port).is_allowed;

			RF_CHECK(!in_m || (in_a && in_b), "round %d: %s:%u: %d %d", round,
				 host.text, port, in_a, in_b);
			both += in_a && in_b;
			met += in_m;
		}
		rf_net_free(x);
		rf_net_free(y);
		rf_net_free(z);
		rf_policy_free(a);
		rf_policy_free(b);
		rf_policy_free(m);
	}
	/* Sound, and not by allowing nothing. */
	RF_CHECK(met * 2 >= both, "%u of %u", met, both);
}
