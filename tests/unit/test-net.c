/*
 * The network of a box as a policy allows it: src/policy/net*.c.
 *
 * Random rules and requests over a few names, ports and paths, so that they often touch.  A failure prints the seed;
 * RF_SEED=N runs that one again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "harness.h"
#include "http/address.h"
#include "policy/key.h"
#include "policy/net-place.h"
#include "policy/net.h"

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

static struct rf_host host_of(const char *text)
{
	struct rf_host host = { 0 };

	RF_REQUIRE(rf_host_parse(rf_span_of(text), &host) == RF_FAULT_NONE, "%s", text);
	return host;
}

static struct rf_policy *policy_of(const char *text)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/w", "/home", &policy, &err) == 0, "%s: %s",
		   text, err.msg);
	return policy;
}

static struct rf_net *net_of(const char *text)
{
	struct rf_policy *policy = policy_of(text);
	struct rf_err err = RF_ERR_INIT;
	struct rf_net *net = NULL;

	RF_REQUIRE(rf_net_make(policy, &net, &err) == 0, "%s: %s", text, err.msg);
	rf_policy_free(policy);
	return net;
}

/* --- Rules --- */

RF_TEST(a_rule_has_one_form)
{
	/* clang-format off */
	static const struct { const char *text, *form; bool is_deny; } cases[] = {
		{ "example.org",                 "example.org" },
		{ "EXAMPLE.org.",                "example.org" },
		{ "example.org:443,80",          "example.org" },
		{ "example.org:80-81,82,443",    "example.org:80-82,443" },
		{ "example.org:*",               "example.org:*" },
		{ "example.org:1-65535",         "example.org:*" },
		{ "example.org:*",               "example.org", true },
		{ "example.org:80,443",          "example.org:80,443", true },
		{ "*.example.org",               "*.example.org" },
		{ "**.Example.org:8443",         "**.example.org:8443" },
		{ "*",                           "*" },
		{ "*:22",                        "*:22" },
		{ "localhost",                   "localhost" },
		{ "xn--bcher-kva.example",       "xn--bcher-kva.example" },
		{ "POST,GET api.example/a/*",    "GET,POST api.example/a/*" },
		{ "GET api.example:8080/a/**",   "GET api.example:8080/a/**" },
		{ "api.example/**",              "api.example" },
		{ "api.example/",                "api.example/" },
		{ "api.example/%61%7e",          "api.example/a~" },
		{ "api.example/%c3%a9",          "api.example/%C3%A9" },
		{ "api.example/a:b@c,d",         "api.example/a:b@c,d" },
		{ "api.example/a/*/b*c",         "api.example/a/*/b*c" },
		{ "abc.de/f",                    "abc.de/f" },
		{ "10.0.0.0/8",                  "10.0.0.0/8" },
		{ "10.0.0.0/8:443",              "10.0.0.0/8:443" },
		{ "10.1.2.3",                    "10.1.2.3" },
		{ "10.1.2.3/32:22",              "10.1.2.3:22" },
		{ "0.0.0.0/0:*",                 "0.0.0.0/0:*" },
		{ "::1",                         "::1" },
		{ "2001:DB8::/32",               "2001:db8::/32" },
		{ "[2001:db8::/32]:443",         "[2001:db8::/32]:443" },
		{ "[2001:db8::]/32:443",         "[2001:db8::/32]:443" },
		{ "[::1]:8080",                  "[::1]:8080" },
		{ "[::1]",                       "::1" },
		{ "::ffff:10.0.0.0/104",         "10.0.0.0/8" },
		{ "::ffff:10.0.0.1",             "10.0.0.1" },
		{ "64:ff9b::/96",                "64:ff9b::/96" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_net_rule_room room, again;
		struct rf_net_rule rule, same;
		struct rf_err err = RF_ERR_INIT;
		int r = rf_net_rule_parse(cases[i].text, cases[i].is_deny, &room, &rule, &err);

		RF_CHECK(r == 0, "%s: %s", cases[i].text, err.msg);
		if (r < 0)
			continue;
		RF_CHECK(strcmp(rule.text, cases[i].form) == 0, "%s is %s", cases[i].text,
			 rule.text);
		r = rf_net_rule_parse(rule.text, cases[i].is_deny, &again, &same, &err);
		RF_CHECK(r == 0 && strcmp(same.text, rule.text) == 0, "%s again", rule.text);
	}
}

RF_TEST(what_could_be_read_in_two_ways_is_no_rule)
{
	/* clang-format off */
	static const char *const cases[] = {
		"", " ", "GET", "get api.example", "GETS api.example", "GET  api.example", "GET,api.example", ", a.b",
		"https://api.example", "api.example/a?b", "api.example/a#b", "user@api.example", "api.example:", "api.example:0",
		"api.example:65536", "api.example:80-", "api.example:90-80", "api.example:http", "api.example:1,2,3,4,5,6,7,8,9",
		"api.*.example", "a*.example", "*example", "***.example", "*.", "*.*", "**", "*.10.0.0.1", "*.1",
		"a..b", ".a", "-a.b", "a-.b", "a_b.example", "a b", "a\tb", "a.b\n", "b\303\274cher.example",
		/* addresses that some read otherwise */
		"0x7f.1", "0x7f000001", "2130706433", "127.1", "0177.0.0.1", "127.0.0.01", "1.2.3.4.5", "256.0.0.1", "1.2.3",
		"fe80::1%eth0", "[fe80::1%25eth0]:80", "::g", ":::", "[::1", "::1]", "[::1]x", "[example.org]", "[10.0.0.1]",
		"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/", "10.0.0.0/8/9", "2001:db8::1/32", "2001:db8::/129",
		"10.0.0.1:80/path", "10.0.0.1/path", "GET 10.0.0.1", "::1/path",
		/* paths */
		"api.example/a/../b", "api.example/a//b", "api.example/a%2fb", "api.example/a%2Ab", "api.example/a%25",
		"api.example/a;b", "api.example/%zz", "api.example/%00", "api.example/a**", "api.example/**b", "api.example/***",
		"api.example/%ff",
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_net_rule_room room;
		struct rf_net_rule rule;
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_net_rule_parse(cases[i], false, &room, &rule, &err) < 0, "%s is %s",
			 cases[i], rule.text);
		RF_CHECK(err.code == -EINVAL && err.msg[0], "%s: %d %s", cases[i], err.code,
			 err.msg);
	}
}

RF_TEST(flags_hold_several_rules)
{
	/* clang-format off */
	static const struct { const char *text, *parts[5]; } cases[] = {
		{ "a.b",                          { "a.b" } },
		{ "a.b,c.d",                      { "a.b", "c.d" } },
		{ "a.b:80,443,c.d",               { "a.b:80,443", "c.d" } },
		{ "a.b:80,443/x,c.d:1-2,9",       { "a.b:80,443/x", "c.d:1-2,9" } },
		{ "GET,POST a.b/x,c.d",           { "GET,POST a.b/x", "c.d" } },
		{ "c.d,GET,POST a.b",             { "c.d", "GET,POST a.b" } },
		{ "LOCALHOST,a.b",                { "LOCALHOST", "a.b" } },
		{ "10.0.0.0/8:80,443,::1",        { "10.0.0.0/8:80,443", "::1" } },
		{ "a.b,,c.d",                     { "a.b", "", "c.d" } },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *at = cases[i].text;
		struct rf_span rule;
		size_t n = 0;

		for (; rf_net_rule_next(&at, &rule); n++)
			RF_CHECK(n < 4 && cases[i].parts[n] &&
					 rf_span_is(rule, rf_span_of(cases[i].parts[n])),
				 "%s: %.*s", cases[i].text, RF_SPAN_ARG(rule));
		RF_CHECK(!cases[i].parts[n], "%s: %zu", cases[i].text, n);
	}
}

RF_TEST(paths_match_by_their_parts)
{
	/* clang-format off */
	static const struct { const char *pattern, *path; bool match; } cases[] = {
		{ "/a",           "/a",         true },
		{ "/a",           "/a/",        false },
		{ "/a",           "/ab",        false },
		{ "/a/*",         "/a/b",       true },
		{ "/a/*",         "/a/",        true },
		{ "/a/*",         "/a",         false },
		{ "/a/*",         "/a/b/c",     false },
		{ "/a/**",        "/a/b/c",     true },
		{ "/a/**",        "/a/",        true },
		{ "/a/**",        "/a",         false },
		{ "/a/**",        "/ab",        false },
		{ "/a/**/z",      "/a/z",       true },
		{ "/a/**/z",      "/a/b/c/z",   true },
		{ "/a/**/z",      "/a/bz",      false },
		{ "/a/**/b/*/d",  "/a/b/b/c/d", true },
		{ "/**/b/**/d",   "/b/x/d",     true },
		{ "/a*c/d",       "/abc/d",     true },
		{ "/a*c/d",       "/ab/c/d",    false },
		{ "/*/x/*y",      "/q/x/zyy",   true },
		{ "/**/a*/b",     "/ax/ay/b",   true },
		{ "/**/",         "/a/b/",      true },
		{ "/**/",         "/a/b",       false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(rf_net_path_match(cases[i].pattern, rf_span_of(cases[i].path)) ==
				 cases[i].match,
			 "%s against %s", cases[i].path, cases[i].pattern);
}

/* --- Verdicts --- */

static struct rf_net_verdict ask(const struct rf_net *net, const char *host, uint16_t port,
				 const char *method, const char *path)
{
	struct rf_host name = host_of(host);
	struct rf_url_path form;
	char room[1024];

	RF_REQUIRE(rf_url_path_read(rf_span_of(path), room, sizeof(room), &form) == RF_FAULT_NONE,
		   "%s", path);
	return rf_net_judge_request(net, &name, port, rf_span_of(method), &form);
}

RF_TEST(rules_decide_and_deny_wins)
{
	static const char text[] = "network:\n"
				   "  allow:\n"
				   "    - \"GET,POST api.example/repos/acme/*\"\n"
				   "    - \"*.pkgs.example:443\"\n"
				   "    - \"**.tree.example\"\n"
				   "    - open.example:*\n"
				   "    - 10.0.0.0/8:8080\n"
				   "    - ::/0\n"
				   "  deny:\n"
				   "    - bad.tree.example\n"
				   "    - DELETE open.example\n"
				   "    - open.example/admin/**\n"
				   "    - 10.9.0.0/16\n";
	/* clang-format off */
	static const struct { const char *host; int port; const char *method, *path; bool is_allowed; } cases[] = {
		{ "api.example",      443,  "GET",    "/repos/acme/x",   true },
		{ "api.example",      443,  "POST",   "/repos/acme/x",   true },
		{ "api.example",      443,  "PUT",    "/repos/acme/x",   false },
		{ "api.example",      443,  "GET",    "/repos/acme/x/y", false },
		{ "api.example",      8080, "GET",    "/repos/acme/x",   false },
		{ "api.example",      443,  "GET",    "/repos/acme/a%2fb", false },
		{ "xapi.example",     443,  "GET",    "/repos/acme/x",   false },
		{ "a.pkgs.example",   443,  "PUT",    "/",               true },
		{ "a.b.pkgs.example", 443,  "PUT",    "/",               true },
		{ "pkgs.example",     443,  "GET",    "/",               false },
		{ "a.pkgs.example",   80,   "GET",    "/",               false },
		{ "tree.example",     80,   "GET",    "/",               true },
		{ "x.tree.example",   80,   "GET",    "/a;b",            true },
		{ "bad.tree.example", 80,   "GET",    "/",               false },
		{ "bad.tree.example", 8080, "GET",    "/",               false },
		{ "x.bad.tree.example", 80, "GET",    "/",               true },
		{ "open.example",     22,   "GET",    "/",               true },
		{ "open.example",     22,   "BREW",   "/",               true },
		{ "open.example",     22,   "DELETE", "/",               false },
		{ "open.example",     22,   "GET",    "/admin/x",        false },
		{ "open.example",     22,   "GET",    "/x/%2e%2e/admin/x", false },
		{ "open.example",     22,   "GET",    "//admin/x",       false },
		{ "10.1.2.3",         8080, "GET",    "/",               true },
		{ "[::ffff:10.1.2.3]", 8080, "GET",   "/",               true },
		{ "10.1.2.3",         80,   "GET",    "/",               false },
		{ "10.9.2.3",         8080, "GET",    "/",               false },
		{ "11.1.2.3",         80,   "GET",    "/",               false },
		{ "[::ffff:11.1.2.3]", 80,  "GET",    "/",               false },
		{ "[2001:db8::1]",    80,   "GET",    "/",               true },
		{ "other.example",    443,  "GET",    "/",               false },
	};
	/* clang-format on */
	struct rf_net *net = net_of(text);
	struct rf_host open = host_of("open.example"), tree = host_of("tree.example");

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_net_verdict verdict = ask(net, cases[i].host, (uint16_t)cases[i].port,
						    cases[i].method, cases[i].path);

		RF_CHECK(verdict.is_allowed == cases[i].is_allowed && !verdict.is_reported,
			 "%s %s:%d%s: %s", cases[i].method, cases[i].host, cases[i].port,
			 cases[i].path, verdict.reason);
		RF_CHECK(!verdict.is_allowed || verdict.rule, "%s is allowed by nothing",
			 cases[i].host);
	}
	RF_CHECK(net->link == RF_LINK_GATEWAY && net->needs_tls,
		 "a rule needs a gateway, and a path TLS");
	RF_CHECK(rf_net_looks_inside(net, &open, 443) && !rf_net_looks_inside(net, &tree, 443),
		 "only what rules are about is looked into");
	rf_net_free(net);
}

RF_TEST(a_host_is_reachable_if_anything_of_it_is)
{
	struct rf_net *net =
		net_of("network:\n  allow: [\"GET a.example/x\", \"b.example:8443\", 10.0.0.1]\n"
		       "  deny: [\"b.example:22\", \"GET a.example/x/y\", c.example]\n");
	/* clang-format off */
	static const struct { const char *host; int port; bool is_allowed; } cases[] = {
		{ "a.example", 443, true }, { "a.example", 0, true }, { "a.example", 8443, false },
		{ "b.example", 8443, true }, { "b.example", 0, true }, { "b.example", 443, false },
		{ "c.example", 0, false }, { "d.example", 0, false }, { "10.0.0.1", 80, true }, { "10.0.0.2", 80, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_host host = host_of(cases[i].host);

		RF_CHECK(rf_net_judge_host(net, &host, (uint16_t)cases[i].port).is_allowed ==
				 cases[i].is_allowed,
			 "%s:%d", cases[i].host, cases[i].port);
	}
	rf_net_free(net);
}

RF_TEST(an_empty_list_allows_nothing_and_modes_let_pass)
{
	struct rf_net *none = net_of("network: {link: gateway, allow: []}");
	struct rf_net *report =
		net_of("network: {mode: report, allow: [a.example], deny: [b.example]}");
	struct rf_net *open = net_of("network: {mode: open, deny: [b.example]}");
	struct rf_net_verdict verdict;

	RF_CHECK(!ask(none, "a.example", 443, "GET", "/").is_allowed, "nothing is allowed");
	RF_CHECK(none->link == RF_LINK_GATEWAY && report->link == RF_LINK_GATEWAY &&
			 open->link == RF_LINK_GATEWAY,
		 "links");
	verdict = ask(report, "a.example", 443, "GET", "/");
	RF_CHECK(verdict.is_allowed && !verdict.is_reported, "what is allowed is not reported");
	verdict = ask(report, "c.example", 443, "GET", "/");
	RF_CHECK(verdict.is_allowed && verdict.is_reported && !verdict.rule, "what is not, is");
	RF_CHECK(!ask(report, "b.example", 443, "GET", "/").is_allowed, "denied in report");
	verdict = ask(open, "c.example", 443, "GET", "/");
	RF_CHECK(verdict.is_allowed && !verdict.is_reported, "open");
	RF_CHECK(!ask(open, "b.example", 443, "GET", "/").is_allowed, "denied in open");
	rf_net_free(none);
	rf_net_free(report);
	rf_net_free(open);
}

/* --- The index agrees with a plain look at every rule --- */

static const char *const hosts[] = { "a.example", "b.a.example",   "c.b.a.example",
				     "x.example", "example",       "10.0.0.1",
				     "10.0.7.1",  "[2001:db8::1]", "[::1]" };
static const char *const wholes[] = { "a.example",  "b.a.example", "*.a.example", "**.a.example",
				      "*.example",  "**.example",  "*",           "x.example",
				      "10.0.0.0/8", "10.0.0.0/24", "10.0.0.1",    "2001:db8::/32",
				      "::/0" };
static const char *const patterns[] = { "",     "/",     "/a",
					"/a/*", "/a/**", "/a/b",
					"/*/b", "/**/c", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/*",
					"/a*",  "/a/b/" };
static const char *const asked[] = {
	"/",  "/a",   "/a/b", "/a/b/", "/a/b/c", "/ab", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r",
	"/c", "/x/b", "/a;x", "/a//b"
};
static const char *const verbs[] = { "GET", "POST", "BREW" };
static const char *const ports[] = { "", ":443", ":80-90", ":*", ":22,443" };

static void random_rule(char *text, size_t size)
{
	const char *whole = wholes[pick(RF_LEN(wholes))];
	bool is_address = whole[0] >= '0' && whole[0] <= '9';
	const char *port = ports[pick(RF_LEN(ports))];

	if (whole[0] == ':' || strchr(whole, ':'))
		snprintf(text, size, "[%s]%s", whole, port);
	else if (is_address)
		snprintf(text, size, "%s%s", whole, port);
	else
		snprintf(text, size, "%s%s%s%s",
			 pick(3)   ? ""
			 : pick(2) ? "GET "
				   : "GET,POST ",
			 whole, port, patterns[pick(3) ? pick(RF_LEN(patterns)) : 0]);
}

static struct rf_policy *random_policy(unsigned rules)
{
	static const char *const modes[] = { "enforce", "enforce", "enforce", "report", "open" };
	struct rf_policy *policy = rf_policy_new_empty();
	struct rf_err err = RF_ERR_INIT;
	char text[256];

	RF_REQUIRE(policy, "memory");
	for (unsigned i = pick(rules); i > 0; i--) {
		random_rule(text, sizeof(text));
		RF_REQUIRE(rf_policy_set(policy, pick(4) ? "network.allow" : "network.deny", text,
					 "/", "/", &err) == 0,
			   "%s: %s", text, err.msg);
	}
	RF_REQUIRE(rf_policy_set(policy, "network.mode", modes[pick(RF_LEN(modes))], "/", "/",
				 &err) == 0 &&
			   rf_policy_set(policy, "network.link", pick(8) ? "gateway" : "host", "/",
					 "/", &err) == 0,
		   "%s", err.msg);
	return policy;
}

static struct rf_net *made(const struct rf_policy *policy)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_net *net = NULL;

	RF_REQUIRE(rf_net_make(policy, &net, &err) == 0, "%s", err.msg);
	return net;
}

/* One rule after the other, as the header says it. */
static bool plainly(const struct rf_net *net, const struct rf_host *host, uint16_t port,
		    const char *method, const struct rf_url_path *path)
{
	uint32_t bit = rf_net_method_bit(rf_span_of(method));
	bool is_allowed = net->mode != RF_NET_ENFORCE;

	for (size_t i = 0; i < net->rule_count; i++) {
		const struct rf_net_rule *rule = &net->rules[i];

		if (!rf_net_rule_has_host(rule, host) || !rf_net_rule_has_port(rule, port))
			continue;
		if (rule->path && path->odd) {
			if (rule->is_deny)
				return false;
			continue;
		}
		if (!rf_net_rule_has_method(rule, bit) ||
		    (rule->path && !rf_net_path_match(rule->path, path->text)))
			continue;
		if (rule->is_deny)
			return false;
		is_allowed = true;
	}
	return is_allowed;
}

static const uint16_t some_ports[] = { 80, 443, 22, 85 };

struct question {
	struct rf_host host;
	uint16_t port;
	const char *method;
	struct rf_url_path path;
	char room[256];
};

static void random_question(struct question *q)
{
	q->host = host_of(hosts[pick(RF_LEN(hosts))]);
	q->port = some_ports[pick(RF_LEN(some_ports))];
	q->method = verbs[pick(RF_LEN(verbs))];
	RF_REQUIRE(rf_url_path_read(rf_span_of(asked[pick(RF_LEN(asked))]), q->room,
				    sizeof(q->room), &q->path) == RF_FAULT_NONE,
		   "path");
}

static bool is_allowed(const struct rf_net *net, const struct question *q)
{
	return rf_net_judge_request(net, &q->host, q->port, rf_span_of(q->method), &q->path)
		.is_allowed;
}

RF_TEST(the_index_finds_what_a_plain_look_finds)
{
	start();
	for (int round = 0; round < 2000; round++) {
		struct rf_policy *policy = random_policy(round % 10 ? 8 : 200);
		struct rf_net *net = made(policy);

		for (int i = 0; i < 50; i++) {
			struct question q;

			random_question(&q);
			RF_CHECK(is_allowed(net, &q) ==
					 plainly(net, &q.host, q.port, q.method, &q.path),
				 "round %d: %s %s:%u%.*s", round, q.method, q.host.text, q.port,
				 RF_SPAN_ARG(q.path.text));
		}
		rf_net_free(net);
		rf_policy_free(policy);
	}
}

/* What a side lets pass: all, if its link is the host's.  A bare address is judged once more before it is dialled. */
static bool passes(const struct rf_net *net, const struct question *q)
{
	struct rf_address address;

	if (net->link == RF_LINK_HOST)
		return true;
	return net->link == RF_LINK_GATEWAY && is_allowed(net, q) &&
	       (!rf_net_address_of(&q->host, address.octets) ||
		rf_net_judge_dial(net, &address, q->port, false, false).is_allowed);
}

RF_TEST(a_meet_allows_nothing_that_a_side_does_not)
{
	unsigned both = 0, met = 0;

	start();
	for (int round = 0; round < 2000; round++) {
		struct rf_policy *a = random_policy(8), *b = random_policy(8), *m = NULL;
		struct rf_net *x = made(a), *y = made(b), *z;
		struct rf_err err = RF_ERR_INIT;

		/* Rules beside a link to the host are refused by a plan; there is none without them. */
		if (x->link == RF_LINK_HOST || y->link == RF_LINK_HOST) {
			rf_list_done(
				&(x->link == RF_LINK_HOST ? a : b)->values[RF_KEY_NET_DENY].list);
		}
		RF_REQUIRE(rf_policy_meet(a, b, &m, &err) == 0, "%s", err.msg);
		z = made(m);
		for (int i = 0; i < 50; i++) {
			struct question q;
			bool in_a, in_b, in_m;

			random_question(&q);
			in_a = passes(x, &q);
			in_b = passes(y, &q);
			in_m = passes(z, &q);
			RF_CHECK(!in_m || (in_a && in_b), "round %d: %s %s:%u%.*s: %d %d", round,
				 q.method, q.host.text, q.port, RF_SPAN_ARG(q.path.text), in_a,
				 in_b);
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
	/* Sound, and not by allowing nothing: of what both allow nearly all is left. */
	RF_CHECK(met * 100 >= both * 97, "%u of %u", met, both);
}

/* --- Keys --- */

static void check_round_trip(const char *text)
{
	struct rf_policy *policy = policy_of(text), *again = NULL;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out = { 0 }, second = { 0 };

	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	rf_buf_init(&second, RF_MAX_POLICY_BYTES);
	rf_policy_format(policy, &out);
	RF_REQUIRE(rf_policy_parse(out.data, out.len, "/w", "/home", &again, &err) == 0, "%s\n%s",
		   err.msg, out.data);
	rf_policy_format(again, &second);
	RF_CHECK(strcmp(out.data, second.data) == 0, "%s\n%s", out.data, second.data);
	rf_policy_free(policy);
	rf_policy_free(again);
}

#define WHOLE                                                                                      \
	"network:\n"                                                                               \
	"  mode: report\n"                                                                         \
	"  allow: [\"GET,POST api.github.com/repos/acme/*\", \"*.pkgs.example:443\", "             \
	"10.0.0.0/8]\n"                                                                            \
	"  deny: [gist.github.com, '2001:db8::/32']\n"                                             \
	"  hosts: { Api.Example: 127.0.0.1:8080, b.example: '::1' }\n"                             \
	"  publish: [8080, 9090:90, '0.0.0.0:1:2']\n"                                              \
	"  connections: 10\n"                                                                      \
	"  rate: 100/min\n"                                                                        \
	"  bandwidth: 10M\n"                                                                       \
	"  bandwidth_up: 1M\n"                                                                     \
	"  request_size: 1M\n"                                                                     \
	"  connect_time: 5s\n"                                                                     \
	"credentials:\n"                                                                           \
	"  github: { from: \"env:GITHUB_TOKEN\", hosts: [api.github.com], budget: 1000/day, "      \
	"cost: 0.002, money: 1.5/h }\n"                                                            \
	"  stripe: { from: 'file:key.txt', hosts: \"POST api.stripe.com/v1/*\", basic: '{}:' }\n"  \
	"  aws: { from: 'cmd:aws-key --raw', hosts: ['*.amazonaws.com'], sigv4: us-east-1/s3, "    \
	"env: KEY }\n"                                                                             \
	"  map: { from: 'stdin:', hosts: [maps.example], query: key }\n"                           \
	"  hook: { from: 'env:HOOK', hosts: [hooks.example], body: on }\n"                         \
	"  user: { from: 'env:PASS', hosts: [git.example], basic: x-token }\n"

RF_TEST(a_policy_with_rules_reads_back_as_it_was)
{
	check_round_trip(WHOLE);
	check_round_trip("network: {allow: [], deny: [], hosts: {}}\ncredentials: {}\n");
	check_round_trip("network: {rate: 5/s burst 50}\n");
}

RF_TEST(everything_that_is_written_is_compiled)
{
	struct rf_net *net = net_of(WHOLE);
	struct rf_host api = host_of("API.example"), other = host_of("c.example");
	const struct rf_net_credential *c = net->credentials;
	const struct rf_net_alias *alias = rf_net_alias_of(net, &api);

	RF_CHECK(net->mode == RF_NET_REPORT && net->rule_count == 5 && net->alias_count == 2 &&
			 net->publish_count == 3 && net->credential_count == 6 && net->needs_tls,
		 "counts");
	RF_CHECK(alias && alias->port == 8080 && alias->address[12] == 127, "an alias");
	RF_CHECK(!rf_net_alias_of(net, &other), "no alias");
	RF_CHECK(net->publish[0].port == 8080 && net->publish[0].inside == 8080 &&
			 net->publish[0].address[12] == 127 && net->publish[1].port == 9090 &&
			 net->publish[1].inside == 90 && net->publish[2].address[12] == 0 &&
			 net->publish[2].inside == 2,
		 "published");
	RF_CHECK(net->limits[RF_NET_CONNECTIONS] == 10 &&
			 rf_limit_rate_burst(net->limits[RF_NET_RATE]) == 100 &&
			 rf_limit_rate_per_day(net->limits[RF_NET_RATE]) == 144000 &&
			 net->limits[RF_NET_BANDWIDTH_UP] == 1 << 20 &&
			 net->limits[RF_NET_BANDWIDTH_DOWN] == 10 << 20 &&
			 net->limits[RF_NET_CONNECT_TIME] == 5000 &&
			 net->limits[RF_NET_IDLE_TIME] == 300000 &&
			 net->limits[RF_NET_TOTAL_TIME] == RF_LIMIT_NONE,
		 "limits");
	RF_CHECK(strcmp(c[0].name, "github") == 0 && c[0].from == RF_NET_FROM_ENV &&
			 strcmp(c[0].source, "GITHUB_TOKEN") == 0 && c[0].how == RF_NET_HEADER &&
			 strcmp(c[0].field, "Authorization") == 0 &&
			 strcmp(c[0].format, "Bearer {}") == 0 &&
			 strcmp(c[0].variable, "GITHUB_TOKEN") == 0 && c[0].budget == 1000 &&
			 c[0].budget_ms == 86400000 && c[0].cost == 2000 && c[0].money == 1500000 &&
			 c[0].money_ms == 3600000,
		 "a header");
	RF_CHECK(c[1].from == RF_NET_FROM_FILE && strcmp(c[1].source, "/w/key.txt") == 0 &&
			 c[1].how == RF_NET_BASIC && strcmp(c[1].format, "{}:") == 0 &&
			 !c[1].variable && c[1].budget == RF_LIMIT_NONE && c[1].cost == 0 &&
			 c[1].money == RF_LIMIT_NONE && c[1].rules[0].path,
		 "a user");
	RF_CHECK(c[2].from == RF_NET_FROM_COMMAND && strcmp(c[2].source, "aws-key --raw") == 0 &&
			 c[2].how == RF_NET_SIGV4 && strcmp(c[2].field, "us-east-1") == 0 &&
			 strcmp(c[2].format, "s3") == 0 && strcmp(c[2].variable, "KEY") == 0,
		 "a signature");
	RF_CHECK(c[3].from == RF_NET_FROM_STDIN && c[3].how == RF_NET_QUERY &&
			 strcmp(c[3].field, "key") == 0,
		 "a parameter");
	RF_CHECK(c[4].how == RF_NET_BODY, "a body");
	RF_CHECK(c[5].how == RF_NET_BASIC && strcmp(c[5].format, "x-token:{}") == 0, "a password");
	rf_net_free(net);
}

RF_TEST(a_credential_goes_only_where_it_is_bound)
{
	static const char text[] = "network:\n"
				   "  mode: %s\n"
				   "  allow: [api.example, \"*.example\"]\n"
				   "credentials:\n"
				   "  k: { from: 'env:K', hosts: [\"GET api.example/v1/**\"] }\n";
	/* clang-format off */
	static const struct { const char *mode, *host, *method, *path; bool is_bound; } cases[] = {
		{ "enforce", "api.example", "GET",  "/v1/x",     true },
		{ "enforce", "api.example", "POST", "/v1/x",     false },
		{ "enforce", "api.example", "GET",  "/v2/x",     false },
		{ "enforce", "api.example", "GET",  "/v1/..;/x", false },
		{ "enforce", "b.example",   "GET",  "/v1/x",     false },
		{ "enforce", "c.d",         "GET",  "/v1/x",     false },
		{ "report",  "api.example", "GET",  "/v1/x",     true },
		{ "open",    "api.example", "GET",  "/v1/x",     false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char policy[512], room[256];
		struct rf_host host = host_of(cases[i].host);
		struct rf_net_verdict verdict;
		struct rf_url_path path = { 0 };
		struct rf_net *net;

		snprintf(policy, sizeof(policy), text, cases[i].mode);
		net = net_of(policy);
		if (rf_url_path_read(rf_span_of(cases[i].path), room, sizeof(room), &path) ==
		    RF_FAULT_NONE) {
			verdict = rf_net_judge_request(net, &host, 443, rf_span_of(cases[i].method),
						       &path);
			RF_CHECK(rf_net_is_bound(net, &net->credentials[0], &verdict, &host, 443,
						 rf_span_of(cases[i].method),
						 &path) == cases[i].is_bound,
				 "%s %s%s in %s", cases[i].method, cases[i].host, cases[i].path,
				 cases[i].mode);
		}
		rf_net_free(net);
	}
}

RF_TEST(wrong_keys_say_what_would_be_right)
{
	/* clang-format off */
	static const struct { const char *text, *msg; } cases[] = {
		{ "network: {allow: [https://a.b]}", "network.allow: \"https://a.b\" is a URL, not a rule" },
		{ "network: {hosts: {10.0.0.1: 10.0.0.2}}", "network.hosts: \"10.0.0.1\" is not the name of a host" },
		{ "network: {hosts: {a.b: c.d}}", "network.hosts: \"c.d\" is not an address" },
		{ "network: {rate: 5}", "network.rate: \"5\" is not a rate" },
		{ "network: {rate: 0/s}", "network.rate: \"0/s\" is out of range" },
		{ "network: {publish: [0]}", "network.publish: \"0\" is not a port to publish" },
		{ "network: {publish: [host:80]}", "network.publish: \"host:80\" is not a port to publish" },
		{ "credentials: {a: b}", "credentials.a: a mapping is needed here, not plain text" },
		{ "credentials: {a: {hosts: [a.b]}}", "credentials.a: from: missing, so it has no value" },
		{ "credentials: {a: {from: 'env:A'}}", "credentials.a: hosts: missing, so it would be sent nowhere" },
		{ "credentials: {a: {from: 'env:A', hosts: ['*']}}", "credentials.a: hosts: \"*\": a credential is bound to names" },
		{ "credentials: {a: {from: ghp_secret, hosts: [a.b]}}", "credentials.a: from: \"ghp_...\" does not say where the value comes from" },
		{ "credentials: {a: {from: 'env:A', form: b, hosts: [a.b]}}", "credentials.a: form: unknown key" },
		{ "credentials: {a: {from: 'env:A', header: 'Host: {}', hosts: [a.b]}}", "credentials.a: header: \"Host: {}\" is not a header for a credential" },
		{ "credentials: {a: {from: 'env:A', header: 'X: {}', query: k, hosts: [a.b]}}", "credentials.a: more than one way to send it" },
		{ "credentials: {-a: {from: 'env:A', hosts: [a.b]}}", "credentials: \"-a\" is not the name of a credential" },
		{ "credentials: {a: {from: 'env:A', hosts: [a.b], money: 5/day}}", "credentials.a: money: nothing says what a request costs" },
		{ "credentials: {a: {from: 'env:A', hosts: [a.b], cost: 1, money: 5/min}}", "credentials.a: money: \"5/min\" is not an amount of money in a time" },
		{ "credentials: {a: {from: 'env:A', hosts: [a.b], cost: 1, money: 5}}", "credentials.a: money: \"5\" is not an amount of money in a time" },
		{ "credentials: {a: {from: 'env:A', hosts: [a.b], cost: 0.0000001}}", "credentials.a: cost: \"0.0000001\" is not an amount of money" },
		{ "credentials: {a: {from: 'env:A', hosts: [a.b], cost: 0}}", "credentials.a: cost: \"0\" is out of range" },
		{ "credentials: {a: {from: 'env:A', hosts: [a.b], cost: -1}}", "credentials.a: cost: \"-1\" is not an amount of money" },
		{ "credentials: {a: {from: 'env:A', hosts: [a.b], budget: 5/min burst 2}}", "credentials.a: budget: \"5/min burst 2\": a budget has no burst" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *policy = NULL;
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_policy_parse(cases[i].text, strlen(cases[i].text), "/", "/", &policy,
					 &err) < 0,
			 "%s", cases[i].text);
		RF_CHECK(strcmp(err.msg, cases[i].msg) == 0 && err.line == 1, "%s: %d: %s",
			 cases[i].text, err.line, err.msg);
	}
}

RF_TEST(rules_that_are_final_can_only_become_less)
{
	/* clang-format off */
	static const struct { const char *base, *over; bool is_kept; } cases[] = {
		{ "network: {allow: ['**.a.b']}\nfinal: [network.allow]", "network: {allow: [c.a.b]}", true },
		{ "network: {allow: ['**.a.b']}\nfinal: [network.allow]", "network: {allow: ['GET a.b/x']}", true },
		{ "network: {allow: ['**.a.b']}\nfinal: [network.allow]", "network: {allow: [c.b]}", false },
		{ "network: {allow: ['**.a.b']}\nfinal: [network.allow]", "network: {allow: ['a.b:22']}", false },
		{ "network: {allow: ['0.0.0.0/0:*']}\nfinal: [network.allow]", "network: {allow: ['127.0.0.1:80']}", false },
		{ "network: {allow: ['0.0.0.0/0:*']}\nfinal: [network.allow]", "network: {allow: ['1.1.1.1:80']}", true },
		{ "network: {deny: [a.b]}\nfinal: [network.deny]", "network: {deny: [c.d]}", true },
		{ "network: {rate: 10/s}\nfinal: [network.rate]", "network: {rate: 5/s}", true },
		{ "network: {rate: 10/s}\nfinal: [network.rate]", "network: {rate: 500/min}", false },
		{ "network: none\nfinal: [network.link]", "network: {allow: [a.b]}", false },
		{ "final: [credentials]", "credentials: {a: {from: 'env:A', hosts: [a.b]}}", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *base = policy_of(cases[i].base), *over = policy_of(cases[i].over);
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK((rf_policy_merge(base, over, &err) == 0) == cases[i].is_kept,
			 "%s with %s: %s", cases[i].base, cases[i].over, err.msg);
		rf_policy_free(base);
		rf_policy_free(over);
	}
}
