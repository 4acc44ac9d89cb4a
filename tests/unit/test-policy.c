/* The life of a policy, flags, merge and the profiles: src/policy/policy.c, value.c, profile.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "harness.h"
#include "policy/key.h"
#include "policy/policy.h"

static struct rf_policy *read_policy(const char *text)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *policy = NULL;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/w", "/h", &policy, &err) == 0, "%s: %s",
		   text, err.msg);
	return policy;
}

static void check_written(const struct rf_policy *policy, const char *want, const char *what)
{
	RF_AUTO_BUF struct rf_buf buf;

	rf_buf_init(&buf, RF_MAX_POLICY_BYTES);
	rf_policy_format(policy, &buf);
	RF_CHECK(strcmp(buf.data, want) == 0, "%s:\n%s", what, buf.data);
}

RF_TEST(a_new_policy_has_the_defaults_of_its_command)
{
	struct rf_policy *policy = rf_policy_new(RF_COMMAND_RUN);

	RF_REQUIRE(policy, "no memory");
	check_written(policy,
		      "version: 1\nisolation: auto\nweaker: refuse\nhostname: box\n"
		      "syscalls: default\nlimits:\n  memory: 512M\n  cpu: 100%\n  cpu_time: 1m\n"
		      "  time: 1m\n  pids: 256\n  open_files: 1024\n  file_size: 1G\n  disk: 256M\n"
		      "  inodes: 65536\n  output: 16M\n  require: any\nfiles:\n  current: read\n"
		      "  credentials: hide\n"
		      "  attributes: refuse\n"
		      "network:\n  link: none\n  loopback: on\n  unix: off\naudit: auto\n",
		      "run");
	rf_policy_free(policy);
	rf_policy_free(NULL);
}

RF_TEST(flags_set_scalars_and_add_to_lists)
{
	/* clang-format off */
	static const struct { const char *key, *text; } flags[] = {
		{ "limits.memory", "64M" }, { "limits.memory", "1G" },
		{ "files.read", "a" }, { "files.read", "b:/b" }, { "files.read", "a" },
		{ "files.write", "b:/b" }, /* each flag is a source of its own: write wins */
		{ "env.pass", "LANG" }, { "env.set", "A=1=2" }, { "env.set", "A=3" }, { "env.set", "B=" },
		{ "network", "host" }, { "network.loopback", "true" }, { "workdir", "/x" },
	};
	/* clang-format on */
	struct rf_policy *policy = rf_policy_new_empty();
	struct rf_err err = RF_ERR_INIT;

	for (size_t i = 0; i < RF_LEN(flags); i++)
		RF_CHECK(rf_policy_set(policy, flags[i].key, flags[i].text, "/w", "/h", &err) == 0,
			 "%s %s: %s", flags[i].key, flags[i].text, err.msg);
	check_written(
		policy,
		"workdir: /x\nlimits:\n  memory: 1G\nfiles:\n  read:\n    - /w/a\n  write:\n"
		"    - \"/w/b:/b\"\nenv:\n  pass:\n    - LANG\n  set:\n    A: 3\n    B: \"\"\n"
		"network:\n  link: host\n  loopback: on\n",
		"flags");
	rf_policy_free(policy);
}

RF_TEST(wrong_flags_are_refused_and_change_nothing)
{
	/* clang-format off */
	static const struct { const char *key, *text, *msg; } cases[] = {
		{ "limits.memroy", "1G",     "limits.memroy: unknown key" },
		{ "limits",        "1G",     "limits: holds other keys and has no value itself" },
		{ "limits.time",   "60",     "limits.time: \"60\" has no unit" },
		{ "credentials",   "git",    "credentials: \"git\" has no =" },
		{ "credentials",   "git=ghp_secretsecret", "credentials: git: \"ghp_...\" does not say where it may be sent" },
		{ "commands",      "",       "commands: \"\" is not the name of a program" },
		{ "commands",      "git,",   "commands: \"\" is not the name of a program" },
		{ "commands",      "a b",    "commands: \"a b\" is not the name of a program" },
		{ "commands",      "bin/sh", "commands: \"bin/sh\" is neither a name nor an absolute path" },
		{ "commands",      "/a/../b", "commands: a path with \"..\" in it" },
		{ "env.set",       "A",      "env.set: \"A\" has no value" },
		{ "env.set",       "=A",     "env.set: \"\" is not the name of a variable" },
		{ "env.set",       "A=\xff", "env.set: the value is not UTF-8" },
		{ "files.read",    "",       "files.read: an empty path" },
		{ "hostname",      "-",      "hostname: \"-\" is not a host name" },
		{ "version",       "0",      "version: \"0\" is not one of the choices" },
	};
	/* clang-format on */
	struct rf_policy *policy = rf_policy_new_empty();

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_policy_set(policy, cases[i].key, cases[i].text, "/w", "/h", &err) ==
				 -EINVAL,
			 "%s %s", cases[i].key, cases[i].text);
		RF_CHECK(strcmp(err.msg, cases[i].msg) == 0, "%s: %s", cases[i].key, err.msg);
	}
	check_written(policy, "{}\n", "after refusals");
	rf_policy_free(policy);
}

RF_TEST(merge_lets_the_last_scalar_win_and_unites_lists)
{
	/* clang-format off */
	static const struct { const char *base, *over, *want; } cases[] = {
		{ "limits: {pids: 5, cpu: 50%}", "limits: {pids: 9}", "limits:\n  cpu: 50%\n  pids: 9\n" },
		{ "env: {pass: [A, B]}", "env: {pass: [B, C]}", "env:\n  pass:\n    - A\n    - B\n    - C\n" },
		{ "env: {set: {A: 1, B: 2}}", "env: {set: {B: 3}}", "env:\n  set:\n    A: 1\n    B: 3\n" },
		{ "files: {read: [/a]}", "files: {read: [/b]}", "files:\n  read:\n    - /a\n    - /b\n" },
		{ "files: {read: [/a, /b]}", "files: {write: [/a]}", "files:\n  read:\n    - /b\n  write:\n    - /a\n" },
		{ "files: {write: [/a]}", "files: {read: [/a]}", "files:\n  read: []\n  write:\n    - /a\n" },
		{ "{}", "hostname: x", "hostname: x\n" },
		{ "hostname: x", "{}", "hostname: x\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *base = read_policy(cases[i].base);
		struct rf_policy *over = read_policy(cases[i].over);
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_policy_merge(base, over, &err) == 0, "%s: %s", cases[i].over, err.msg);
		check_written(base, cases[i].want, cases[i].over);
		rf_policy_free(base);
		rf_policy_free(over);
	}
}

RF_TEST(a_final_key_can_only_get_stricter)
{
	/* clang-format off */
	static const struct { const char *base, *over, *refused; } cases[] = {
		{ "{limits: {pids: 5}, final: [limits.pids]}", "limits: {pids: 5}", NULL },
		{ "{limits: {pids: 5}, final: [limits.pids]}", "limits: {pids: 4}", NULL },
		{ "{limits: {pids: 5}, final: [limits.pids]}", "limits: {pids: 6}", "limits.pids" },
		{ "{limits: {output: 5}, final: [limits]}", "limits: {output: none}", "limits.output" },
		{ "{limits: {pids: 5}, final: [limits.pids]}", "limits: {cpu: 5%}", NULL },
		{ "{weaker: refuse, final: [weaker]}", "weaker: allow", "weaker" },
		{ "{weaker: allow, final: [weaker]}", "weaker: refuse", NULL },
		{ "{syscalls: strict, final: [syscalls]}", "syscalls: default", "syscalls" },
		{ "{syscalls: default, final: [syscalls]}", "syscalls: floor", "syscalls" },
		{ "{syscalls: floor, final: [syscalls]}", "syscalls: default", NULL },
		{ "{seccomp: /a, final: [seccomp]}", "seccomp: /b", NULL }, /* one more takes away */
		{ "{network: none, final: [network]}", "network: host", "network.link" },
		{ "{agent: a, final: [agent]}", "agent: b", "agent" },
		{ "final: [breaker]", "breaker: {failures: 4}", NULL }, /* stricter than the default */
		{ "final: [breaker]", "breaker: {failures: 6}", "breaker.failures" },
		{ "final: [breaker]", "breaker: {within: 1s}", "breaker.within" },
		{ "final: [alarms]", "alarms: {on_forks: kill, rollback: on}", NULL },
		{ "alarms: {rollback: on}\nfinal: [alarms]", "alarms: {rollback: off}", "alarms.rollback" },
		{ "{budgets: {runs_per_day: 5}, final: [budgets]}", "budgets: {runs_per_day: none}", "budgets.runs_per_day" },
		{ "final: [budgets]", "budgets: {cpu_per_day: 1s}", NULL },
		{ "{hostname: a, final: [hostname]}", "hostname: a", NULL },
		{ "{hostname: a, final: [hostname]}", "hostname: b", "hostname" },
		{ "final: [hostname]", "hostname: b", "hostname" },
		{ "{files: {read: [/a, /b]}, final: [files.read]}", "files: {read: [/b]}", NULL },
		{ "{files: {read: [/a]}, final: [files.read]}", "files: {read: [/a/b]}", "files.read" },
		{ "{env: {set: {A: 1}}, final: [env.set]}", "env: {set: {A: 2}}", "env.set" },
		{ "{env: {pass: [A]}, final: [env]}", "env: {pass: [A]}", NULL },
		{ "final: [final]", "final: [env]", "final" },
		{ "final: [env.pass]", "final: [env.set]", NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *base = read_policy(cases[i].base);
		struct rf_policy *over = read_policy(cases[i].over);
		struct rf_err err = RF_ERR_INIT;
		int r = rf_policy_merge(base, over, &err);

		if (cases[i].refused)
			RF_CHECK(r == -EPERM && strncmp(err.msg, cases[i].refused,
							strlen(cases[i].refused)) == 0,
				 "%s over %s: %d %s", cases[i].over, cases[i].base, r, err.msg);
		else
			RF_CHECK(r == 0, "%s over %s: %s", cases[i].over, cases[i].base, err.msg);
		rf_policy_free(base);
		rf_policy_free(over);
	}
}

RF_TEST(a_list_that_grows_too_long_is_an_error)
{
	struct rf_policy *a = rf_policy_new_empty(), *b = rf_policy_new_empty();
	struct rf_err err = RF_ERR_INIT;
	char name[16];

	for (int i = 0; i < RF_MAX_LIST; i++) {
		snprintf(name, sizeof(name), "A%d", i);
		RF_REQUIRE(rf_policy_set(a, "env.pass", name, "/", "/", &err) == 0, "%s", err.msg);
	}
	RF_CHECK(rf_policy_set(a, "env.pass", "B", "/", "/", &err) == -E2BIG, "%s", err.msg);
	RF_CHECK(rf_policy_set(b, "env.pass", "B", "/", "/", &err) == 0, "%s", err.msg);
	RF_CHECK(rf_policy_merge(a, b, &err) == -E2BIG, "%s", err.msg);
	rf_policy_free(a);
	rf_policy_free(b);
}

RF_TEST(the_profiles_are_there_and_the_default_one_repeats_the_table)
{
	static const char *const names[] = { "default",     "python", "node",    "git",
					     "build-tools", "agent",  "offline", "strict" };
	struct rf_policy *defaults = rf_policy_new(RF_COMMAND_RUN), *policy = NULL;
	struct rf_err err = RF_ERR_INIT;

	for (size_t i = 0; i < RF_LEN(names); i++) {
		RF_REQUIRE(rf_policy_profile(names[i], &policy, &err) == 0, "%s", err.msg);
		for (int k = 0; k < RF_KEY_COUNT && i == 0; k++)
			RF_CHECK(!(policy->set & RF_KEY_BIT(k)) ||
					 policy->values[k].number == defaults->values[k].number,
				 "%s differs from its default", rf_key_table[k].path);
		rf_policy_free(policy);
	}
	RF_CHECK(rf_policy_profile("unheard-of", &policy, &err) == -ENOENT, "%s", err.msg);
	RF_CHECK(strcmp(err.hint, "the profiles are: default, python, node, git, build-tools, "
				  "agent, offline, strict") == 0,
		 "%s", err.hint);
	rf_policy_free(defaults);
}

RF_TEST(nothing_after_the_strict_profile_loosens_it)
{
	static const char *const loose[] = {
		"weaker: allow",        "syscalls: default",      "limits: {memory: 257M}",
		"limits: {time: none}", "network: host",          "network: {loopback: on}",
		"limits: {pids: 33}",   "files: {current: read}", "isolation: auto",
	};

	for (size_t i = 0; i < RF_LEN(loose); i++) {
		struct rf_policy *base = rf_policy_new(RF_COMMAND_RUN), *strict = NULL;
		struct rf_policy *over = read_policy(loose[i]);
		struct rf_err err = RF_ERR_INIT;

		RF_REQUIRE(rf_policy_profile("strict", &strict, &err) == 0, "%s", err.msg);
		RF_REQUIRE(rf_policy_merge(base, strict, &err) == 0, "%s", err.msg);
		RF_CHECK(rf_policy_merge(base, over, &err) == -EPERM, "%s was accepted", loose[i]);
		rf_policy_free(base);
		rf_policy_free(strict);
		rf_policy_free(over);
	}
}

RF_TEST(what_a_record_tells_of_a_policy_has_no_value_of_a_variable)
{
	struct rf_policy *policy =
		read_policy("limits: {time: 3s}\n"
			    "env: {set: {TOKEN: hunter2, LANG: C}, pass: [HOME]}");
	struct rf_policy *only = read_policy("env: {set: {TOKEN: hunter2}}"), *again;
	RF_AUTO_BUF struct rf_buf out, alone;

	rf_buf_init(&out, 4096);
	rf_buf_init(&alone, 4096);
	rf_policy_format_told(policy, &out);
	rf_policy_format_told(only, &alone);
	RF_CHECK(!strstr(out.data, "hunter2") && strstr(out.data, "HOME"), "%s", out.data);
	RF_CHECK(strstr(out.data, RF_POLICY_TOLD_VARS "TOKEN LANG\n"), "%s", out.data);
	again = read_policy(out.data);
	RF_CHECK(rf_key_number(again, RF_KEY_LIMIT + RF_LIMIT_TIME) == 3000 &&
			 !(again->set & RF_KEY_BIT(RF_KEY_SET)),
		 "%s", out.data);
	rf_policy_free(again);
	again = read_policy(alone.data);
	RF_CHECK(again->set == 0, "%s", alone.data);
	rf_policy_free(again);
	rf_policy_free(only);
	rf_policy_free(policy);
}
