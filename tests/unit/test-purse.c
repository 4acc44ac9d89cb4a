/* The values of credentials, and what stands for them: src/cli/purse.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/purse.h"
#include "harness.h"
#include "policy/plan.h"

static struct rf_net *net_of(const char *text)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_net *net = NULL;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0 &&
			   rf_net_make(policy, &net, &err) == 0,
		   "%s: %s", text, err.msg);
	rf_policy_free(policy);
	return net;
}

RF_TEST(a_placeholder_has_the_form_of_its_value_and_nothing_of_it)
{
	/* clang-format off */
	static const struct { const char *value, *prefix; size_t len; } cases[] = {
		{ "ghp_0123456789abcdefABCDEF0123456789abcd", "ghp_", 40 },
		{ "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA",    "sk-ant-", 37 },
		{ "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "AKIA", 0 },
		{ "xoxb-1234567890-abcdefghijkl",             "xoxb-", 28 },
		{ "hunter2",                                  "", RF_PURSE_SHORTEST },
		{ "----------------------------------------", "", 0 },
		{ "ghp_",                                     "ghp_", RF_PURSE_SHORTEST },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char text[256], again[256];
		struct rf_err err = RF_ERR_INIT;
		const char *value = cases[i].value;

		RF_REQUIRE(rf_purse_placeholder(value, text, &err) == 0 &&
				   rf_purse_placeholder(value, again, &err) == 0,
			   "%s", err.msg);
		RF_CHECK(strncmp(text, cases[i].prefix, strlen(cases[i].prefix)) == 0, "%s", text);
		RF_CHECK(cases[i].len == 0 || strlen(text) == cases[i].len, "%s: %zu", text,
			 strlen(text));
		RF_CHECK(strlen(text) >= RF_PURSE_SHORTEST &&
				 strlen(text) < RF_PURSE_ROOM(strlen(value)),
			 "%s", text);
		RF_CHECK(strcmp(text, value) != 0 && strcmp(text, again) != 0, "%s and %s", text,
			 again);
		/* The last half of the value is nowhere in it. */
		RF_CHECK(strlen(value) < 20 || value[0] == '-' ||
				 !strstr(text, value + strlen(value) / 2),
			 "%s", text);
	}
}

RF_TEST(values_come_from_variables_files_commands_and_standard_input)
{
	static const char text[] =
		"network: { allow: ['*.example'] }\n"
		"credentials:\n"
		"  a: { from: 'env:TOKEN_A', hosts: [a.example] }\n"
		"  b: { from: 'file:%s', hosts: [b.example], env: B }\n"
		"  c: { from: 'cmd:printf of-a-%%s command', hosts: [c.example] }\n"
		"  d: { from: 'stdin:', hosts: [d.example] }\n"
		"  e: { from: 'stdin:', hosts: [d.example] }\n"
		"  f: { from: 'env:TOKEN_A', hosts: [f.example], env: F }\n";
	static const char *const values[] = { "of-a-variable", "of-a-file",  "of-a-command",
					      "of-a-line",     "of-another", "of-a-variable" };
	char path[] = "/tmp/rf-purse-XXXXXX", whole[1024], rest[16] = "";
	struct rf_err err = RF_ERR_INIT;
	struct rf_purse purse;
	struct rf_net *net;
	int file = mkstemp(path), ends[2];
	char *inherited;

	RF_REQUIRE(file >= 0 && write(file, "of-a-file\n", 10) == 10 && pipe(ends) == 0, "set-up");
	RF_REQUIRE(write(ends[1], "of-a-line\nof-another\r\nrest", 26) == 26 &&
			   dup2(ends[0], 0) == 0,
		   "set-up");
	RF_REQUIRE(setenv("TOKEN_A", "of-a-variable", 1) == 0, "set-up");
	inherited = getenv("TOKEN_A");
	snprintf(whole, sizeof(whole), text, path);
	net = net_of(whole);
	RF_CHECK(rf_purse_fill(&purse, net, &err) == 0, "%s", err.msg);
	unlink(path);
	RF_CHECK(getenv("TOKEN_A") == inherited,
		 "the environment is not touched until it is asked");
	RF_CHECK(rf_purse_hide(&purse, &err) == 0, "%s", err.msg);
	RF_REQUIRE(purse.count == RF_LEN(values), "%zu", purse.count);
	for (size_t i = 0; i < RF_LEN(values); i++)
		RF_CHECK(strcmp(purse.items[i].value, values[i]) == 0, "%s is %s",
			 purse.items[i].name, purse.items[i].value);
	RF_CHECK(read(0, rest, sizeof(rest)) == 4 && memcmp(rest, "rest", 4) == 0,
		 "what follows is the program's: %s", rest);
	RF_CHECK(!getenv("TOKEN_A") && inherited[0] == '\0', "the variable is forgotten");
	RF_CHECK(strcmp(getenv(RF_PLAN_STAND_IN "TOKEN_A"), purse.items[0].placeholder) == 0 &&
			 strcmp(getenv(RF_PLAN_STAND_IN "B"), purse.items[1].placeholder) == 0 &&
			 strcmp(getenv(RF_PLAN_STAND_IN "F"), purse.items[5].placeholder) == 0,
		 "what stands for them");
	rf_purse_done(&purse);
	rf_net_free(net);
}

RF_TEST(what_is_no_value_is_refused)
{
	/* clang-format off */
	static const struct { const char *from, *msg; } cases[] = {
		{ "env:NO_SUCH_TOKEN",         "credential a: there is no variable NO_SUCH_TOKEN" },
		{ "env:EMPTY_TOKEN",           "credential a: its value is empty: the variable EMPTY_TOKEN" },
		{ "env:LINES_TOKEN",           "credential a: its value has line feeds or other control characters" },
		{ "file:/tmp/rf-no-such-file", "credential a: there is no file /tmp/rf-no-such-file" },
		{ "cmd:false",                 "credential a: false failed with code 1" },
		{ "cmd:rf-no-such-program x",  "credential a: rf-no-such-program could not be run" },
		{ "cmd:true",                  "credential a: its value is empty: the output of true" },
		{ "cmd:head -c 20000 /dev/zero", "credential a: its value is longer than 16384 bytes" },
	};
	/* clang-format on */

	setenv("EMPTY_TOKEN", "", 1);
	setenv("LINES_TOKEN", "a\nb", 1);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_purse purse;
		struct rf_net *net;
		char text[512];

		snprintf(text, sizeof(text),
			 "network: { allow: [a.example] }\ncredentials: { a: { from: '%s', hosts: "
			 "[a.example] } }\n",
			 cases[i].from);
		net = net_of(text);
		RF_CHECK(rf_purse_fill(&purse, net, &err) < 0, "%s", cases[i].from);
		RF_CHECK(strcmp(err.msg, cases[i].msg) == 0, "%s: %s", cases[i].from, err.msg);
		rf_purse_done(&purse);
		rf_net_free(net);
	}
}

RF_TEST(a_file_that_others_could_have_written_is_no_source)
{
	char path[] = "/tmp/rf-purse-XXXXXX", text[512];
	struct rf_err err = RF_ERR_INIT;
	struct rf_purse purse;
	struct rf_net *net;
	int file = mkstemp(path);

	RF_REQUIRE(file >= 0 && write(file, "value", 5) == 5 && fchmod(file, 0666) == 0, "set-up");
	snprintf(text, sizeof(text),
		 "network: { allow: [a.example] }\ncredentials: { a: { from: 'file:%s', hosts: "
		 "[a.example] } }\n",
		 path);
	net = net_of(text);
	RF_CHECK(rf_purse_fill(&purse, net, &err) == -EPERM, "%d %s", err.code, err.msg);
	unlink(path);
	rf_purse_done(&purse);
	rf_net_free(net);
}

RF_TEST(a_plan_holds_the_placeholder_whatever_the_policy_passes_on)
{
	static const char text[] =
		"network: { allow: [a.example] }\n"
		"env: { pass: [TOKEN_A, TOKEN_B], set: { OTHER: x } }\n"
		"credentials: { a: { from: 'env:TOKEN_A', hosts: [a.example], env: INSIDE } }\n";
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_purse purse;
	struct rf_net *net = net_of(text);
	struct rf_plan *plan = NULL;
	char word[] = "true", *argv[] = { word, NULL };
	struct rf_facts facts = { .uid = 1, .gid = 1, .cwd = "/", .home = "/", .argv = argv };
	bool has_inside = false;

	setenv("TOKEN_A", "secret-secret", 1);
	setenv("TOKEN_B", "with secret-secret in it", 1);
	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0, "%s",
		   err.msg);
	facts.env = environ; /* before anything was read: as `explain` has it */
	RF_REQUIRE(rf_plan_make(policy, &facts, &plan, &err) == 0, "%s", err.msg);
	for (char **env = plan->env; *env; env++)
		RF_CHECK(strncmp(*env, "TOKEN_A=", 8) != 0, "%s", *env);
	rf_plan_free(plan);
	RF_REQUIRE(rf_purse_fill(&purse, net, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_purse_hide(&purse, &err) == 0, "%s", err.msg);
	facts.env = environ;
	RF_REQUIRE(rf_plan_make(policy, &facts, &plan, &err) == 0, "%s", err.msg);
	for (char **env = plan->env; *env; env++)
		has_inside |= strncmp(*env, "INSIDE=", 7) == 0 &&
			      strcmp(*env + 7, purse.items[0].placeholder) == 0;
	RF_CHECK(has_inside, "the placeholder");
	RF_CHECK(rf_purse_check(&purse, plan->env, &err) == -EPERM && strstr(err.msg, "TOKEN_B"),
		 "%s", err.msg);
	rf_plan_free(plan);
	rf_purse_done(&purse);
	rf_net_free(net);
	rf_policy_free(policy);
}

RF_TEST(an_environment_that_is_not_ours_is_copied_without_what_is_secret)
{
	static const char text[] =
		"network: { allow: [a.example] }\n"
		"credentials: { a: { from: 'env:TOKEN_A', hosts: [a.example] },\n"
		"  b: { from: 'env:TOKEN', hosts: [a.example], env: B } }\n";
	char a[] = "TOKEN_A=first-value-of-some-length", b[] = "TOKEN_AND_MORE=stays";
	char forged[] = RF_PLAN_STAND_IN "B=not-ours", c[] = "TOKEN=second-value-of-some-length";
	char *env[] = { a, b, forged, c, NULL }, **copy = NULL, stand_in[256];
	struct rf_err err = RF_ERR_INIT;
	struct rf_purse purse;
	struct rf_net *net = net_of(text);
	size_t count = 0;

	setenv("TOKEN_A", "first-value-of-some-length", 1);
	setenv("TOKEN", "second-value-of-some-length", 1);
	RF_REQUIRE(rf_purse_fill(&purse, net, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_purse_environment(&purse, env, &copy, &err) == 0, "%s", err.msg);
	snprintf(stand_in, sizeof(stand_in), RF_PLAN_STAND_IN "B=%s", purse.items[1].placeholder);
	RF_CHECK(strcmp(copy[0], b) == 0, "%s", copy[0]);
	while (copy[count])
		count++;
	RF_CHECK(strcmp(copy[count - 1], stand_in) == 0, "%s", copy[count - 1]);
	for (char **at = copy; *at; at++)
		RF_CHECK(!strstr(*at, "-value-of-") && !strstr(*at, "not-ours"), "%s", *at);
	RF_CHECK(strcmp(getenv("TOKEN"), "second-value-of-some-length") == 0,
		 "the process keeps its own");
	rf_purse_free_environment(copy);
	rf_purse_done(&purse);
	rf_net_free(net);
}
