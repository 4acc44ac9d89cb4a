/* A plan in words: src/policy/explain.c. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/explain.h"

static char *argv[] = { (char[]){ "true" }, NULL };

static struct rf_plan *make_plan(const char *text)
{
	struct rf_facts facts = {
		.uid = 1000, .gid = 1000, .cwd = "/root", .home = "/root", .argv = argv
	};
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = NULL;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/p", "/root", &policy, &err) == 0 &&
			   rf_plan_make(policy, &facts, &plan, &err) == 0,
		   "%s", err.msg);
	rf_policy_free(policy);
	return plan;
}

static const struct rf_explain_call rows[] = {
	{ "read", "allowed", "files" },
	{ "write", "allowed", "files" },
	{ "mount", "refused", "changes the box" },
};
static const struct rf_explain_calls calls = { rows, RF_LEN(rows) };

RF_TEST(a_person_reads_what_the_box_will_be)
{
	static const char *const parts[] = {
		"Files\n  /usr ",
		"  r-x  from the host  programs and libraries [default]\n",
		"  rwx  from the host  named by the policy (shows /p/w) [files.write]\n",
		"  ---  hidden         the host's memory [default, if there]\n",
		"\nNetwork\n  none: sockets reach the box itself and nothing else\n",
		"\nLimits\n  memory           64M  memory of all processes together, swap off;",
		"; then the box is killed\n",
		"  time            none  time on the clock\n",
		"\nSystem calls\n  filter: default\n  allowed: files\n    read write\n  refused: ",
		"  refused: changes the box\n    mount\n",
		"\nEnvironment\n  PATH=/usr/local/bin:/usr/bin:/bin\n",
		"\nIdentity\n  user       box (uid 1000, gid 1000), without capabilities\n",
		"\nNotes\n  the current directory /root is your home",
	};
	struct rf_plan *plan =
		make_plan("{limits: {memory: 64M, time: none}, files: {write: [w:/w]}}");
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	rf_explain_text(plan, &calls, &out);
	RF_REQUIRE(!out.has_failed, "no memory");
	for (size_t i = 0; i < RF_LEN(parts); i++)
		RF_CHECK(strstr(out.data, parts[i]), "missing: %s\nin:\n%s", parts[i], out.data);
	rf_plan_free(plan);
}

RF_TEST(a_program_reads_the_same_as_json)
{
	static const char *const parts[] = {
		"\"isolation\": \"auto\"", "\"path\": \"/w\"",    "\"source\": \"/p/w\"",
		"\"rights\": \"rwx\"",     "\"loopback\": false", "\"value\": null",
		"\"filter\": \"strict\"",  "\"name\": \"mount\"", "\"workdir\": \"/home/box\"",
	};
	struct rf_plan *plan = make_plan("{limits: {time: none}, syscalls: strict, "
					 "network: {loopback: off}, files: {write: [w:/w]}}");
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	rf_explain_json(plan, &calls, &out);
	RF_REQUIRE(!out.has_failed, "no memory");
	for (size_t i = 0; i < RF_LEN(parts); i++)
		RF_CHECK(strstr(out.data, parts[i]), "missing: %s\nin:\n%s", parts[i], out.data);
	rf_plan_free(plan);
}

RF_TEST(whose_breaker_and_budgets_it_goes_by_is_told)
{
	static const char *const lines[] = {
		"\nAgent\n  ci\n",
		"  breaker  opens after 3 failures in a row\n",
		"  breaker  opens when 50% of the last 10 failed within 1m\n",
		("  breaker  stays open for good, until it is reset; a failure is a run that did "
		 "not "
		 "end well\n"),
		"  budget   cpu_per_day              1h\n",
		"  a watcher must stand to keep these, or nothing runs\n",
	};
	static const char *const parts[] = { "\"agent\": \"ci\"", "\"failures\": \"3\"",
					     "\"open\": \"none\"", "\"cpu_per_day\": \"1h\"",
					     "\"needs_watch\": true" };
	struct rf_plan *plan = make_plan("{agent: ci, breaker: {failures: 3, counts: failures, "
					 "open: none}, budgets: {cpu_per_day: 1h}}");
	RF_AUTO_BUF struct rf_buf text, json;

	rf_buf_init(&text, 1 << 20);
	rf_buf_init(&json, 1 << 20);
	rf_explain_text(plan, NULL, &text);
	rf_explain_json(plan, NULL, &json);
	for (size_t i = 0; i < RF_LEN(lines); i++)
		RF_CHECK(strstr(text.data, lines[i]), "missing: %s\nin:\n%s", lines[i], text.data);
	for (size_t i = 0; i < RF_LEN(parts); i++)
		RF_CHECK(strstr(json.data, parts[i]), "missing: %s\nin:\n%s", parts[i], json.data);
	rf_plan_free(plan);
}

RF_TEST(the_calls_may_be_left_out)
{
	struct rf_plan *plan = make_plan("{}");
	RF_AUTO_BUF struct rf_buf text, json;

	rf_buf_init(&text, 1 << 20);
	rf_buf_init(&json, 1 << 20);
	rf_explain_text(plan, NULL, &text);
	rf_explain_json(plan, NULL, &json);
	RF_CHECK(strstr(text.data, "filter: default\n\nEnvironment"), "%s", text.data);
	RF_CHECK(strstr(json.data, "\"calls\": []"), "%s", json.data);
	rf_plan_free(plan);
}
