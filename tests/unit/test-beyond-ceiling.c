/* What a request names beyond a ceiling: src/policy/beyond-ceiling.c. */
#include "policy/beyond-ceiling.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "harness.h"
#include "policy/key.h"

static struct rf_policy *read(const char *text)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0, "%s: %s",
		   text, err.msg);
	return policy;
}

static struct rf_beyond_ceiling *compare(const char *ceiling, const char *request)
{
	struct rf_policy *a = read(ceiling), *b = read(request);
	struct rf_beyond_ceiling *beyond = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_beyond_ceiling_new(a, b, &beyond, &err) == 0, "%s against %s: %s", request,
		   ceiling, err.msg);
	rf_policy_free(a);
	rf_policy_free(b);
	return beyond;
}

#define NET              "network: { allow: [\"*.test:443\"] }"
#define CREDENTIAL(host) NET "\ncredentials: { a: { from: \"env:A\", hosts: [" host "] } }"

/*
 * A row for every key: what is within the ceiling, and what is beyond it, with the element that is told.  A key whose
 * request can't go beyond has no `asked`.
 */
/* clang-format off */
static const struct row { const char *key, *ceiling, *within, *beyond, *asked; } rows[] = {
	{ "version",                  "version: 1", "version: 1", NULL, NULL },
	{ "extends",                  "version: 1", "extends: [python]", NULL, NULL },
	{ "isolation",                "isolation: process", "isolation: process", "isolation: auto", "auto" },
	{ "weaker",                   "weaker: refuse", "weaker: refuse", "weaker: allow", "allow" },
	{ "hostname",                 "hostname: a", "hostname: b", NULL, NULL },
	{ "workdir",                  "workdir: /a", "workdir: /b", NULL, NULL },
	{ "agent",                    "agent: a", "agent: a", "agent: b", "b" },
	{ "syscalls",                 "syscalls: default", "syscalls: strict", "syscalls: floor", "floor" },
	{ "seccomp",                  "version: 1", "seccomp: [/p.json]", NULL, NULL },
	{ "limits.memory",            "version: 1", "limits: { memory: 512M }", "limits: { memory: 2G }", "2G" },
	{ "limits.cpu",               "limits: { cpu: 50% }", "limits: { cpu: 50% }", "limits: { cpu: 51% }", "51%" },
	{ "limits.cpu_time",          "limits: { cpu_time: 1m }", "limits: { cpu_time: 60s }", "limits: { cpu_time: none }", "none" },
	{ "limits.time",              "limits: { time: 1m }", "limits: { time: 1s }", "limits: { time: 2m }", "2m" },
	{ "limits.pids",              "limits: { pids: 5 }", "limits: { pids: 5 }", "limits: { pids: 6 }", "6" },
	{ "limits.open_files",        "limits: { open_files: 50 }", "limits: { open_files: 50 }", "limits: { open_files: 51 }", "51" },
	{ "limits.file_size",         "limits: { file_size: 1M }", "limits: { file_size: 1M }", "limits: { file_size: 2M }", "2M" },
	{ "limits.disk",              "limits: { disk: 1M }", "limits: { disk: 1M }", "limits: { disk: 2M }", "2M" },
	{ "limits.inodes",            "limits: { inodes: 100 }", "limits: { inodes: 100 }", "limits: { inodes: 101 }", "101" },
	{ "limits.output",            "limits: { output: 1M }", "limits: { output: 1M }", "limits: { output: 2M }", "2M" },
	{ "limits.require",           "limits: { require: hard }", "limits: { require: hard }", "limits: { require: any }", "any" },
	{ "files.read",               "files: { read: [/a] }", "files: { read: [/a/b] }", "files: { read: [/a/b, /c] }", "/c" },
	{ "files.write",              "files: { read: [/a], write: [/w] }", "files: { write: [/w/b] }", "files: { write: [/a] }", "/a" },
	{ "files.current",            "files: { current: none }", "files: { current: none }", "files: { current: read }", "read" },
	{ "files.deny",               "version: 1", "files: { deny: [/a] }", NULL, NULL },
	{ "files.credentials",        "files: { credentials: hide }", "files: { credentials: hide }", "files: { credentials: show }", "show" },
	{ "files.attributes",         "files: { attributes: refuse }", "files: { attributes: refuse }", "files: { attributes: keep }", "keep" },
	{ "files.canaries",           "version: 1", "files: { canaries: [/root/.aws/credentials] }", NULL, NULL },
	{ "env.pass",                 "env: { pass: [A] }", "env: { pass: [A] }", "env: { pass: [A, B] }", "B" },
	{ "env.set",                  "env: { pass: [A], set: { C: d } }", "env: { set: { A: x, C: d } }", "env: { set: { C: e } }", "C" },
	{ "network.link",             NET, "network: { link: gateway }", "network: host", "host" },
	{ "network.loopback",         "network: { loopback: off }", "network: { loopback: off }", "network: { loopback: on }", "on" },
	{ "network.unix",             "version: 1", "network: { unix: off }", "network: { unix: on }", "on" },
	{ "network.mode",             NET, "network: { mode: enforce }", "network: { mode: open }", "open" },
	{ "network.allow",            NET, "network: { allow: [\"a.test:443\"] }", "network: { allow: [\"a.test:443\", \"b.example:443\"] }", "b.example:443" },
	{ "network.deny",             NET, "network: { deny: [\"a.test\"] }", NULL, NULL },
	{ "network.hosts",            "network: { allow: [\"a.test:443\"], hosts: { a.test: 192.0.2.1 } }",
	                              "network: { hosts: { a.test: 192.0.2.1 } }", "network: { hosts: { a.test: 192.0.2.2 } }", "a.test" },
	{ "network.publish",          "network: { publish: [8080] }", "network: { publish: [8080] }", "network: { publish: [8081] }", NULL },
	{ "network.filter",           "network: { allow: [\"a.test\"], filter: on }", "network: { filter: on }", "network: { filter: off }", "off" },
	{ "network.mask",             NET, "network: { mask: [\"abc\"] }", NULL, NULL },
	{ "network.roots",            "network: { allow: [\"a.test\"], roots: [/a.pem] }", "network: { roots: [/a.pem] }", "network: { roots: [/b.pem] }", "/b.pem" },
	{ "network.writes",           "network: { allow: [\"a.test\"], writes: hold }", "network: { writes: hold }", "network: { writes: pass }", "pass" },
	{ "network.connections",      "network: { connections: 5 }", "network: { connections: 5 }", "network: { connections: 6 }", "6" },
	{ "network.pending",          "network: { pending: 5 }", "network: { pending: 5 }", "network: { pending: 6 }", "6" },
	{ "network.rate",             "network: { rate: 5/s }", "network: { rate: 5/s }", "network: { rate: 6/s }", NULL },
	{ "network.bandwidth",        "network: { bandwidth: 1M }", "network: { bandwidth: 1M }", "network: { bandwidth: 2M }", NULL },
	{ "network.bandwidth_up",     "network: { bandwidth_up: 1M }", "network: { bandwidth_up: 1M }", "network: { bandwidth_up: 2M }", NULL },
	{ "network.bandwidth_down",   "network: { bandwidth_down: 1M }", "network: { bandwidth_down: 1M }", "network: { bandwidth_down: 2M }", NULL },
	{ "network.request_size",     "network: { request_size: 1M }", "network: { request_size: 1M }", "network: { request_size: 2M }", "2M" },
	{ "network.response_size",    "network: { response_size: 1M }", "network: { response_size: 1M }", "network: { response_size: 2M }", "2M" },
	{ "network.connect_time",     "network: { connect_time: 5s }", "network: { connect_time: 5s }", "network: { connect_time: 6s }", "6s" },
	{ "network.idle_time",        "network: { idle_time: 5s }", "network: { idle_time: 5s }", "network: { idle_time: 6s }", "6s" },
	{ "network.total_time",       "network: { total_time: 5s }", "network: { total_time: 5s }", "network: { total_time: 6s }", "6s" },
	{ "network.approval_time",    "network: { approval_time: 5s }", "network: { approval_time: 5s }", "network: { approval_time: 6s }", "6s" },
	{ "credentials",              CREDENTIAL("a.test"), CREDENTIAL("a.test"), CREDENTIAL("b.test"), "a" },
	{ "commands",                 "commands: [git]", "commands: [git]", "commands: [git, sh]", "sh" },
	{ "audit",                    "audit: required", "audit: required", "audit: off", "off" },
	{ "breaker.counts",           "breaker: { counts: failures }", "breaker: { counts: failures }", "breaker: { counts: limits }", "limits" },
	{ "breaker.failures",         "breaker: { failures: 5 }", "breaker: { failures: 5 }", "breaker: { failures: 6 }", "6" },
	{ "breaker.rate",             "breaker: { rate: 50% }", "breaker: { rate: 50% }", "breaker: { rate: 60% }", "60%" },
	{ "breaker.of",               "breaker: { of: 5 }", "breaker: { of: 5 }", "breaker: { of: 6 }", "6" },
	{ "breaker.within",           "breaker: { within: 6m }", "breaker: { within: 6m }", "breaker: { within: 5m }", "5m" },
	{ "breaker.open",             "breaker: { open: 6m }", "breaker: { open: 6m }", "breaker: { open: 5m }", "5m" },
	{ "budgets.runs_per_hour",    "budgets: { runs_per_hour: 5 }", "budgets: { runs_per_hour: 5 }", "budgets: { runs_per_hour: 6 }", "6" },
	{ "budgets.runs_per_day",     "budgets: { runs_per_day: 5 }", "budgets: { runs_per_day: 5 }", "budgets: { runs_per_day: 6 }", "6" },
	{ "budgets.cpu_per_hour",     "budgets: { cpu_per_hour: 5s }", "budgets: { cpu_per_hour: 5s }", "budgets: { cpu_per_hour: 6s }", "6s" },
	{ "budgets.cpu_per_day",      "budgets: { cpu_per_day: 5s }", "budgets: { cpu_per_day: 5s }", "budgets: { cpu_per_day: 6s }", "6s" },
	{ "budgets.denials_per_hour", "budgets: { denials_per_hour: 5 }", "budgets: { denials_per_hour: 5 }", "budgets: { denials_per_hour: 6 }", "6" },
	{ "budgets.denials_per_day",  "budgets: { denials_per_day: 5 }", "budgets: { denials_per_day: 5 }", "budgets: { denials_per_day: 6 }", "6" },
	{ "budgets.timeouts_per_hour", "budgets: { timeouts_per_hour: 5 }", "budgets: { timeouts_per_hour: 5 }", "budgets: { timeouts_per_hour: 6 }", "6" },
	{ "budgets.timeouts_per_day", "budgets: { timeouts_per_day: 5 }", "budgets: { timeouts_per_day: 5 }", "budgets: { timeouts_per_day: 6 }", "6" },
	{ "budgets.requests_per_hour", "budgets: { requests_per_hour: 5 }", "budgets: { requests_per_hour: 5 }", "budgets: { requests_per_hour: 6 }", "6" },
	{ "budgets.requests_per_day", "budgets: { requests_per_day: 5 }", "budgets: { requests_per_day: 5 }", "budgets: { requests_per_day: 6 }", "6" },
	{ "budgets.bytes_per_hour",   "budgets: { bytes_per_hour: 1M }", "budgets: { bytes_per_hour: 1M }", "budgets: { bytes_per_hour: 2M }", "2M" },
	{ "budgets.bytes_per_day",    "budgets: { bytes_per_day: 1M }", "budgets: { bytes_per_day: 1M }", "budgets: { bytes_per_day: 2M }", "2M" },
	{ "budgets.money_per_hour",   "budgets: { money_per_hour: 5 }", "budgets: { money_per_hour: 5 }", "budgets: { money_per_hour: 6 }", "6" },
	{ "budgets.money_per_day",    "budgets: { money_per_day: 5 }", "budgets: { money_per_day: 5 }", "budgets: { money_per_day: 6 }", "6" },
	{ "alarms.forks",             "alarms: { forks: 100 }", "alarms: { forks: 100 }", "alarms: { forks: 200 }", NULL },
	{ "alarms.writes",            "alarms: { writes: 1M }", "alarms: { writes: 1M }", "alarms: { writes: 2M }", NULL },
	{ "alarms.on_forks",          "alarms: { on_forks: kill }", "alarms: { on_forks: kill }", "alarms: { on_forks: freeze }", "freeze" },
	{ "alarms.on_writes",         "alarms: { on_writes: kill }", "alarms: { on_writes: kill }", "alarms: { on_writes: freeze }", "freeze" },
	{ "alarms.breaker",           "alarms: { breaker: on }", "alarms: { breaker: on }", "alarms: { breaker: off }", "off" },
	{ "alarms.rollback",          "alarms: { rollback: on }", "alarms: { rollback: on }", "alarms: { rollback: off }", "off" },
	{ "final",                    "version: 1", "final: [weaker]", NULL, NULL },
};
/* clang-format on */

RF_TEST(every_key_is_decided_and_tried)
{
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		size_t at = 0;

		while (at < RF_LEN(rows) && strcmp(rows[at].key, rf_key_table[i].path) != 0)
			at++;
		RF_CHECK(at < RF_LEN(rows), "%s has no row here", rf_key_table[i].path);
		RF_CHECK(rf_beyond_ceiling_decides(rf_key_table[i].path), "%s has no row there",
			 rf_key_table[i].path);
	}
}

RF_TEST(what_is_within_is_not_told)
{
	for (size_t i = 0; i < RF_LEN(rows); i++) {
		struct rf_beyond_ceiling *beyond = compare(rows[i].ceiling, rows[i].within);
		const struct rf_beyond_ceiling_item *item = rf_beyond_ceiling_item(beyond, 0);

		RF_CHECK(!item, "%s: %s told as %s: %s", rows[i].key, rows[i].within,
			 item ? item->key : "", item ? item->asked : "");
		rf_beyond_ceiling_free(beyond);
	}
}

RF_TEST(what_is_beyond_is_told_by_its_key_with_the_rule)
{
	for (size_t i = 0; i < RF_LEN(rows); i++) {
		struct rf_beyond_ceiling *beyond;
		const struct rf_beyond_ceiling_item *item;
		struct rf_err err = RF_ERR_INIT;

		if (!rows[i].beyond)
			continue;
		beyond = compare(rows[i].ceiling, rows[i].beyond);
		item = rf_beyond_ceiling_item(beyond, 0);
		RF_REQUIRE(item, "%s: %s is beyond", rows[i].key, rows[i].beyond);
		RF_CHECK(!rf_beyond_ceiling_item(beyond, 1), "%s is told once: %s", rows[i].key,
			 rf_beyond_ceiling_item(beyond, 1)->key);
		RF_CHECK(strcmp(item->key, rows[i].key) == 0, "%s, not %s", rows[i].key, item->key);
		RF_CHECK(item->asked[0] &&
				 (!rows[i].asked || strcmp(item->asked, rows[i].asked) == 0),
			 "%s: %s", rows[i].key, item->asked);
		RF_CHECK(item->rule[0], "%s has a rule", rows[i].key);
		RF_CHECK(rf_beyond_ceiling_fail(beyond, "the ceiling", &err) < 0 &&
				 strstr(err.msg, rows[i].key) && strstr(err.msg, "the ceiling (") &&
				 err.hint[0],
			 "%s: %s", rows[i].key, err.msg);
		rf_beyond_ceiling_free(beyond);
	}
}

/* What one key hides of another. */
static const struct row joint[] = {
	{ "files.read", "files: { read: [/a], deny: [/a/b] }", NULL,
	  "files: { read: [/a/b, /a/c] }", "/a/b" },
	{ "files.write", "files: { write: [/a], deny: [/a/b/**] }", NULL,
	  "files: { write: [/a/b/c] }", "/a/b/c" },
	{ "env.set", "version: 1", NULL, "env: { pass: [A], set: { A: x } }", "A" },
};

RF_TEST(what_is_narrowed_is_within)
{
	for (size_t i = 0; i < RF_LEN(rows) + RF_LEN(joint); i++) {
		const struct row *row = i < RF_LEN(rows) ? &rows[i] : &joint[i - RF_LEN(rows)];
		struct rf_policy *ceiling, *policy;
		struct rf_beyond_ceiling *beyond = NULL, *again = NULL;
		struct rf_err err = RF_ERR_INIT;
		RF_AUTO_BUF struct rf_buf text;

		rf_buf_init(&text, RF_MAX_POLICY_BYTES);
		if (!row->beyond)
			continue;
		ceiling = read(row->ceiling);
		policy = read(row->beyond);
		RF_REQUIRE(rf_beyond_ceiling_new(ceiling, policy, &beyond, &err) == 0 &&
				   rf_beyond_ceiling_narrow(beyond, policy, &err) == 0 &&
				   rf_beyond_ceiling_new(ceiling, policy, &again, &err) == 0,
			   "%s: %s", row->key, err.msg);
		RF_CHECK(!rf_beyond_ceiling_item(again, 0), "%s is still beyond", row->key);
		rf_policy_format(policy, &text);
		rf_policy_free(policy);
		policy = read(text.data ? text.data : ""); /* and can be written down */
		rf_policy_free(policy);
		rf_policy_free(ceiling);
		rf_beyond_ceiling_free(beyond);
		rf_beyond_ceiling_free(again);
	}
}

RF_TEST(the_rule_says_what_bounds_it)
{
	/* clang-format off */
	static const struct { const char *ceiling, *request, *key, *asked, *rule; } cases[] = {
		{ "version: 1", "limits: { memory: 2G }", "limits.memory", "2G", "limits.memory: 512M" },
		{ "version: 1", "network: { unix: on }", "network.unix", "on", "network.unix: off" },
		{ "version: 1", "network: { allow: [\"a.test:443\"] }", "network.allow", "a.test:443", "network: none" },
		{ "version: 1", "network: { mode: open }", "network.mode", "open", "network.mode: enforce" },
		{ NET, "network: { allow: [\"a.example:443\"] }", "network.allow", "a.example:443", "network.allow: *.test:443" },
		{ "network: { allow: [\"*.test\"], deny: [\"a.test\"] }", "network: { allow: [\"a.test:443\"] }", "network.allow", "a.test:443",
		  "network.deny: a.test" },
		/* A denial without ports is one of all ports, and one of addresses whatever their kind. */
		{ "network: { allow: [\"*.test:*\"], deny: [\"a.test\"] }", "network: { allow: [\"a.test:8080\"] }", "network.allow", "a.test:8080",
		  "network.deny: a.test" },
		{ "network: { allow: [\"10.0.0.0/8:*\"], deny: [\"10.0.0.0/7\"] }", "network: { allow: [\"10.1.2.3:22\"] }", "network.allow", "10.1.2.3:22",
		  "network.deny: 10.0.0.0/7" },
		{ "files: { read: [/a], deny: [/a/secret] }", "files: { read: [/a/secret/key] }", "files.read", "/a/secret/key",
		  "files.deny: /a/secret" },
		{ "version: 1", "files: { read: [/etc] }", "files.read", "/etc", "files.write: nothing; files.read: nothing" },
		{ "version: 1", "env: { set: { A: secret } }", "env.set", "A", "env.pass: nothing" },
		{ "env: { set: { A: b } }", "env: { pass: [A] }", "env.pass", "A", "env.pass: nothing" },
		{ "version: 1", "network: host", "network.link", "host", "network.link: none" },
		{ "network: { mode: open }", "network: host", "network.link", "host", "network.link: gateway" },
		/* These lose nothing. */
		{ "network: { allow: [\"*.test\"], deny: [\"a.test\"] }", "network: { allow: [\"a.test\"], deny: [\"a.test\"] }", NULL, NULL, NULL },
		{ "network: { mode: open }", "network: { mode: open, allow: [\"a.test\"] }", NULL, NULL, NULL },
		{ "network: { mode: open }", "network: { allow: [\"a.test\"] }", NULL, NULL, NULL },
		{ "network: host", "network: { allow: [\"a.test\"] }", NULL, NULL, NULL },
		{ "limits: { memory: 2G }", "version: 1", NULL, NULL, NULL },
		{ "version: 1", "extends: [python, agent]", NULL, NULL, NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_beyond_ceiling *beyond = compare(cases[i].ceiling, cases[i].request);
		const struct rf_beyond_ceiling_item *item = rf_beyond_ceiling_item(beyond, 0);

		RF_CHECK(!item == !cases[i].key, "case %zu: %s", i, item ? item->key : "nothing");
		if (item && cases[i].key)
			RF_CHECK(strcmp(item->key, cases[i].key) == 0 &&
					 strcmp(item->asked, cases[i].asked) == 0 &&
					 strcmp(item->rule, cases[i].rule) == 0,
				 "case %zu: %s: %s (%s)", i, item->key, item->asked, item->rule);
		rf_beyond_ceiling_free(beyond);
	}
}

/* The front compares what strangers send, and serves others meanwhile. */
RF_TEST(thousands_of_rules_are_compared_at_once)
{
	static const char *const ceilings[] = { "network: { allow: [\"*.test:443\"] }",
						"network: { mode: open }" };
	RF_AUTO_BUF struct rf_buf text;

	rf_buf_init(&text, RF_MAX_POLICY_BYTES);
	rf_buf_puts(&text, "network: { allow: [");
	for (int i = 0; i < RF_MAX_NET_RULES; i++)
		rf_buf_printf(&text, "%s\"a%d.test:%s\"", i ? ", " : "", i,
			      i % 2 ? "443" : "80,443");
	rf_buf_puts(&text, "] }");
	for (size_t i = 0; i < RF_LEN(ceilings); i++) {
		clock_t begin = clock();
		struct rf_beyond_ceiling *beyond = compare(ceilings[i], text.data);
		double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
		size_t count = 0;

		while (rf_beyond_ceiling_item(beyond, count))
			count++;
		RF_CHECK(count == (i ? 0 : RF_MAX_NET_RULES / 2), "%zu items", count);
		RF_CHECK(seconds < 5, "%s: %.1f seconds", ceilings[i], seconds);
		rf_beyond_ceiling_free(beyond);
	}
}
