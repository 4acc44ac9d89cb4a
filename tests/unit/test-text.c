/* Policies as text: src/policy/text.c and src/policy/format.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "harness.h"
#include "policy/policy.h"

static int parse(const char *text, struct rf_policy **ret, struct rf_err *err)
{
	return rf_policy_parse(text, strlen(text), "/work", "/home/ada", ret, err);
}

/* What the policy looks like when written, to be freed. */
static char *written(const struct rf_policy *policy)
{
	struct rf_buf buf;

	rf_buf_init(&buf, RF_MAX_POLICY_BYTES * 8);
	rf_policy_format(policy, &buf);
	return rf_buf_take(&buf);
}

RF_TEST(yaml_and_json_are_read_and_written_in_one_form)
{
	/* clang-format off */
	static const struct { const char *text, *want; } cases[] = {
		{ "",                               "{}\n" },
		{ "# nothing but a comment\n",      "{}\n" },
		{ "---\n",                          "{}\n" },
		{ "{}",                             "{}\n" },
		{ "\xef\xbb\xbfversion: 1",         "version: 1\n" },
		{ "version: 1\nisolation: process", "version: 1\nisolation: process\n" },
		{ "limits: { memory: 1.5G, time: 90s }", "limits:\n  memory: 1536M\n  time: 1m30s\n" },
		{ "{\"limits\": {\"memory\": \"64M\", \"pids\": 5}}", "limits:\n  memory: 64M\n  pids: 5\n" },
		{ "{\n\t\"limits\":{\"pids\":5},\n\t\"files\":{\"read\":[\"\\/a\"]}\n}\n",
		  "limits:\n  pids: 5\nfiles:\n  read:\n    - /a\n" },
		{ "network: none",                  "network:\n  link: none\n" },
		{ "network: { link: host, loopback: true }", "network:\n  link: host\n  loopback: on\n" },
		{ "network: {loopback: off}",       "network:\n  loopback: off\n" },
		{ "files:\n  read: [./a, b:/c, ~/d, ./a]\n",
		  "files:\n  read:\n    - /work/a\n    - \"/work/b:/c\"\n    - /home/ada/d\n" },
		{ "files: {read: []}",              "files:\n  read: []\n" },
		{ "env: {pass: [LANG], set: {A: \"x\\ny\", B: on, C: ''}}",
		  "env:\n  pass:\n    - LANG\n  set:\n    A: \"x\\u000Ay\"\n    B: on\n    C: \"\"\n" },
		{ "final: [limits.memory, env]",
		  "final:\n  - limits.memory\n  - env.pass\n  - env.set\n" },
		{ "seccomp: p.json",                "seccomp:\n  - /work/p.json\n" },
		{ "seccomp: [~/p.json, /q, ./r, /q]",
		  "seccomp:\n  - /home/ada/p.json\n  - /q\n  - /work/r\n" },
		{ "seccomp: []\nsyscalls: floor",   "syscalls: floor\nseccomp: []\n" },
		{ "agent: ci-bot@acme:7",           "agent: \"ci-bot@acme:7\"\n" },
		{ "budgets: {cpu_per_hour: 600s, runs_per_day: 100}\n"
		  "breaker: { failures: 5, rate: 50%, of: 10, within: 60s, open: 60s }",
		  "breaker:\n  failures: 5\n  rate: 50%\n  of: 10\n  within: 1m\n  open: 1m\n"
		  "budgets:\n  runs_per_day: 100\n  cpu_per_hour: 10m\n" },
		{ "alarms: {forks: 200, writes: 500M, on_forks: kill, on_writes: freeze, breaker: on, rollback: on}",
		  "alarms:\n  forks: 200\n  writes: 500M\n  on_forks: kill\n  on_writes: freeze\n  breaker: on\n  rollback: on\n" },
		{ "breaker: {counts: failures, failures: none, open: none}",
		  "breaker:\n  counts: failures\n  failures: none\n  open: none\n" },
		{ "hostname: a-b\nworkdir: /x//y/", "hostname: a-b\nworkdir: /x/y\n" },
		{ "limits:\n  output: none\n  require: hard\nsyscalls: strict\nweaker: allow",
		  "weaker: allow\nsyscalls: strict\nlimits:\n  output: none\n  require: hard\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_policy *policy = NULL, *again = NULL;
		char *text, *twice;

		RF_REQUIRE(parse(cases[i].text, &policy, &err) == 0, "%s: %s", cases[i].text,
			   err.msg);
		text = written(policy);
		RF_CHECK(strcmp(text, cases[i].want) == 0, "%s: %s", cases[i].text, text);
		RF_REQUIRE(parse(text, &again, &err) == 0, "%s: %s", text, err.msg);
		twice = written(again);
		RF_CHECK(strcmp(text, twice) == 0, "%s: %s", text, twice);
		free(text);
		free(twice);
		rf_policy_free(policy);
		rf_policy_free(again);
	}
}

RF_TEST(every_error_says_where_and_what_to_do)
{
	/* clang-format off */
	static const struct { const char *text; int line, column; const char *msg, *hint; } cases[] = {
		/* keys */
		{ "limits:\n  memroy: 1G", 2, 3, "limits.memroy: unknown key", "did you mean \"memory\"?" },
		{ "limit: {}", 1, 1, "limit: unknown key", "did you mean \"limits\"?" },
		{ "memory: 1G", 1, 1, "memory: unknown key", "did you mean \"limits.memory\"?" },
		{ "zzzzzz: 1", 1, 1, "zzzzzz: unknown key", "" },
		{ "limits.memory: 1G", 1, 1, "limits.memory: a key can't hold a point", "write it as a section with the key beneath" },
		{ "version: 1\nversion: 1", 2, 1, "version: the key is here twice", "" },
		{ "limits: {pids: 1}\nlimits: {}", 2, 1, "limits: the key is here twice", "" },
		{ "limits: {pids: 1, pids: 2}", 1, 19, "limits.pids: the key is here twice", "" },
		{ "env: {set: {A: 1, A: 1}}", 1, 19, "env.set.A: the name is here twice", "" },
		{ "[a]: b", 1, 1, "a key is needed here, not a list", "" },
		/* what can't be hidden */
		{ "files: {deny: [/a/../b]}", 1, 16, "files.deny: a path with \"..\" in it",
		  "write the path that is meant, without \"..\"" },
		{ "files: {deny: [/a], read: [/a/b]}", 1, 28, "files.read shows /a/b, and files.deny hides /a",
		  "take one of the two out" },
		{ "files: {write: [/a/b], deny: [/x, '**/b']}", 1, 35,
		  "files.write shows /a/b, and files.deny hides /**/b", "take one of the two out" },
		/* what this version can't do */
		{ "commands: [git, a/b]", 1, 17, "commands: \"a/b\" is neither a name nor an absolute path",
		  "write the program's name, or its whole path in the box" },
		{ "network: {alow: [a]}", 1, 11, "network.alow: unknown key", "did you mean \"allow\"?" },
		{ "isolation: vm", 1, 12, "isolation: \"vm\" is not supported by this version", "this version knows: auto, process" },
		{ "version: 2", 1, 10, "version: \"2\" is not one of the choices", "write one of: 1" },
		/* values */
		{ "limits:\n  time: 60", 2, 9, "limits.time: \"60\" has no unit", "write 60s for 60 seconds" },
		{ "limits: {memory: }", 1, 18, "limits.memory: \"\" is not a size", "write a size such as 64M, from 4M to 16T" },
		{ "weaker: maybe", 1, 9, "weaker: \"maybe\" is not one of the choices", "write one of: refuse, allow" },
		{ "network: {loopback: maybe}", 1, 21, "network.loopback: \"maybe\" is not one of the choices", "write one of: off, on" },
		{ "network: bridge", 1, 10, "network.link: \"bridge\" is not one of the choices", "write one of: none, gateway, host" },
		{ "hostname: a.b", 1, 11, "hostname: \"a.b\" is not a host name", "use 1 to 63 letters, digits and inner hyphens" },
		{ "workdir: x", 1, 10, "workdir: \"x\" is not an absolute path", "" },
		{ "files:\n  read: [../x]", 2, 10, "files.read: a path with \"..\" in it", "write the path that is meant, without \"..\"" },
		{ "files:\n  read: [\"a\\nb\"]", 2, 10, "files.read: a path with a control character", "" },
		{ "env: {pass: [1A]}", 1, 14, "env.pass: \"1A\" is not the name of a variable", "use letters, digits and _, and no digit first" },
		{ "env: {set: {A-B: 1}}", 1, 13, "env.set: \"A-B\" is not the name of a variable", "use letters, digits and _, and no digit first" },
		{ "final: [limits.mem]", 1, 9, "final: limits.mem: unknown key", "did you mean \"memory\"?" },
		{ "hostname: \"\\e[31m\"", 1, 11, "hostname: \"?[31m\" is not a host name", "use 1 to 63 letters, digits and inner hyphens" },
		{ "breaker: {failure: 5}", 1, 11, "breaker.failure: unknown key", "did you mean \"failures\"?" },
		{ "breakers: {}", 1, 1, "breakers: unknown key", "did you mean \"breaker\"?" },
		{ "budgets: {cpu: 5s}", 1, 11, "budgets.cpu: unknown key", "did you mean \"limits.cpu\"?" },
		{ "budgets: {runs_pr_day: 5}", 1, 11, "budgets.runs_pr_day: unknown key", "did you mean \"runs_per_day\"?" },
		{ "breaker: {rate: 50}", 1, 17, "breaker.rate: \"50\" has no unit", "write 50%" },
		{ "breaker: {rate: 101%}", 1, 17, "breaker.rate: \"101%\" is out of range", "write a share such as 50%, from 1% to 100%, or none" },
		{ "breaker: {of: none}", 1, 15, "breaker.of: \"none\" is not possible here", "write a number such as 64, from 1 to 1000" },
		{ "breaker: {within: 60}", 1, 19, "breaker.within: \"60\" has no unit", "write 60s for 60 seconds" },
		{ "alarms: {on_forks: stop}", 1, 20, "alarms.on_forks: \"stop\" is not one of the choices", "write one of: record, freeze, kill" },
		{ "breaker: {counts: all}", 1, 19, "breaker.counts: \"all\" is not one of the choices", "write one of: limits, failures" },
		{ "agent: a b", 1, 8, "agent: \"a b\" is not the name of an agent",
		  "use 1 to 64 letters, digits and . _ - : @ +, a letter or digit first" },
		{ "agent: ../x", 1, 8, "agent: \"../x\" is not the name of an agent",
		  "use 1 to 64 letters, digits and . _ - : @ +, a letter or digit first" },
		/* shapes */
		{ "files: {read: ./x}", 1, 15, "files.read: a list is needed here, not plain text", "write [one, two], or [] for none" },
		{ "files: {read: {a: b}}", 1, 15, "files.read: a list is needed here, not a mapping", "write [one, two], or [] for none" },
		{ "files: {read: [[a]]}", 1, 16, "files.read: plain text is needed here, not a list", "" },
		{ "env: {set: [A]}", 1, 12, "env.set: a mapping is needed here, not a list", "write { NAME: value }, or {} for none" },
		{ "limits: 5", 1, 9, "limits: a mapping is needed here, not plain text", "write the keys of limits beneath it, or {} for none" },
		{ "weaker: [allow]", 1, 9, "weaker: plain text is needed here, not a list", "" },
		{ "- a", 1, 1, "a policy is a mapping of keys, not a list", "begin with `version: 1`" },
		{ "hello", 1, 1, "a policy is a mapping of keys, not plain text", "begin with `version: 1`" },
		/* contradictions */
		{ "files:\n  read: [a]\n  write: [./a]", 3, 11, "files.write: \"/work/a\" is listed under files.read, too",
		  "files.write includes reading; list it there only" },
		{ "files:\n  read: [a:/x, b:/x]", 2, 16, "files.read: both \"/work/a\" and \"/work/b\" would show at /x", "" },
		/* what makes YAML surprising */
		{ "weaker: &a allow", 1, 9, "anchors (&) are not part of the policy language", "" },
		{ "limits: &a {pids: 1}", 1, 9, "anchors (&) are not part of the policy language", "" },
		{ "weaker: *a", 1, 9, "aliases (*) are not part of the policy language", "" },
		{ "weaker: !!str allow", 1, 9, "tags (!) are not part of the policy language", "" },
		{ "limits: !x {pids: 1}", 1, 9, "tags (!) are not part of the policy language", "" },
		{ "limits: {<<: {pids: 1}}", 1, 10, "merge keys (<<) are not part of the policy language", "write the keys out" },
		{ "version: 1\n---\nversion: 1", 2, 1, "a second document", "" },
		{ "version: 1\n...\n---\n{}", 3, 1, "a second document", "" },
		{ "hostname: \"a\\0b\"", 1, 11, "a NUL character", "" },
		/* bytes and syntax */
		{ "version: 1\nhostname: \xff", 2, 11, "not UTF-8 text", "" },
		{ "\xfe\xff\x01", 1, 1, "not UTF-8 text", "" },
		{ "version: 1\nhostname: \x01", 2, 11, "a control character: U+0001",
		  "take it out; \"\\u0001\" in double quotes means it" },
		{ "version: [", 1, 10, "version: plain text is needed here, not a list", "" },
		{ "limits: {pids: 1", 2, 1, "not YAML: did not find expected ',' or '}'", "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_policy *policy = NULL;

		RF_CHECK(parse(cases[i].text, &policy, &err) == -EINVAL && !policy, "accepted: %s",
			 cases[i].text);
		RF_CHECK(err.line == cases[i].line && err.column == cases[i].column,
			 "%s: line %d, column %d", cases[i].text, err.line, err.column);
		RF_CHECK(strcmp(err.msg, cases[i].msg) == 0, "%s: %s", cases[i].text, err.msg);
		RF_CHECK(strcmp(err.hint, cases[i].hint) == 0, "%s: %s", cases[i].text, err.hint);
		rf_policy_free(policy);
	}
}

RF_TEST(what_a_reviewer_does_not_see_is_refused_with_its_place)
{
	/* clang-format off */
	static const struct { const char *text; int line, column; const char *msg; } cases[] = {
		/* what ends a comment for YAML, and a line for hardly anybody else */
		{ "# note\xe2\x80\xa8network: host",     1, 7,  "U+2028" },
		{ "# note\xe2\x80\xa9network: host",     1, 7,  "U+2029" },
		{ "# note\xc2\x85network: host",         1, 7,  "U+0085" },
		{ "# note\rnetwork: host",               1, 7,  "a carriage return that ends no line" },
		{ "version: 1\r\n# note\rnetwork: host", 2, 7,  "a carriage return that ends no line" },
		{ "version: 1\r",                        1, 11, "a carriage return that ends no line" },
		{ "version: 1\r\r\n",                    1, 11, "a carriage return that ends no line" },
		{ "a: \"b\xe2\x80\xa8\"",                1, 6,  "U+2028" },
		{ "hostname: 'a\xc2\x85'",               1, 13, "U+0085" },
		{ "files:\n  # \xc3\xa4 x\xe2\x80\xa8  write: [/]", 2, 8, "U+2028" },
		/* controls */
		{ "# \x1b[2K\x1b[1A",                   1, 3,  "a control character: U+001B" },
		{ "# a\x08\x08",                        1, 4,  "U+0008" },
		{ "# \x7f",                             1, 3,  "U+007F" },
		{ "# \x0c",                             1, 3,  "U+000C" },
		{ "# \xc2\x9b" "2K",                    1, 3,  "U+009B" },
		/* what turns the direction, or is not there to be seen */
		{ "# \xe2\x80\xae",                     1, 3,  "U+202E" },
		{ "# \xe2\x80\xaa",                     1, 3,  "U+202A" },
		{ "# \xe2\x81\xa6 \xe2\x81\xa9",        1, 3,  "U+2066" },
		{ "# \xe2\x80\x8e",                     1, 3,  "U+200E" },
		{ "# \xe2\x80\x8f",                     1, 3,  "U+200F" },
		{ "# \xd8\x9c",                         1, 3,  "U+061C" },
		{ "files: {deny: [/a\xe2\x80\x8b]}",    1, 18, "U+200B" },
		{ "files: {deny: [/a\xe2\x80\x8d]}",    1, 18, "U+200D" },
		{ "files: {deny: [/a\xc2\xad]}",         1, 18, "U+00AD" },
		{ "files: {deny: [/a\xf3\xa0\x81\x81]}", 1, 18, "U+E0041" },
		{ "# 1\xef\xb8\x8f first",             1, 4,  "U+FE0F" },
		{ "# a\xef\xb8\x8f\xe2\x83\xa3",       1, 4,  "U+FE0F" },
		{ "limits: {pids: 1\xef\xb8\x8f}",     1, 17, "U+FE0F" },
		{ "version: 1\n\xef\xbb\xbfnetwork: host", 2, 1, "U+FEFF" },
		{ "\xef\xbb\xbf\xef\xbb\xbfversion: 1",  1, 1, "U+FEFF" },
	};
	static const char *const good[] = {
		"\xef\xbb\xbfversion: 1\r\n# note\r\n", "version: 1\t# a\tb\n",
		"# gr\xc3\xbc\xc3\x9f\xe2\x82\xac\n", "# \xe2\x9a\xa0\xef\xb8\x8f and \xe2\x80\xa6\n",
		"# \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb\n",
		"# 1\xef\xb8\x8f\xe2\x83\xa3 first, #\xef\xb8\x8f\xe2\x83\xa3\n", "# *\xef\xb8\x8f\xe2\x83\xa3",
		"env: {set: {A: \"\\u2028\\u202E\\r\\N\\L\\U000E0041\\e\"}}",
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_policy *policy = NULL;

		RF_CHECK(parse(cases[i].text, &policy, &err) < 0, "case %zu was accepted", i);
		RF_CHECK(err.line == cases[i].line && err.column == cases[i].column,
			 "case %zu: at %d:%d", i, err.line, err.column);
		RF_CHECK(strstr(err.msg, cases[i].msg) && err.hint[0], "case %zu: %s (%s)", i,
			 err.msg, err.hint);
		rf_policy_free(policy);
	}
	for (size_t i = 0; i < RF_LEN(good); i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_policy *policy = NULL;

		RF_CHECK(parse(good[i], &policy, &err) == 0, "good %zu: %d:%d: %s", i, err.line,
			 err.column, err.msg);
		rf_policy_free(policy);
	}
}

RF_TEST(what_is_meant_by_an_escape_is_written_as_one)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *policy = NULL;
	char *text;

	RF_REQUIRE(parse("env: {set: {A: \"\\u2028\\u0085\\r\\u202E\\u200B\\U000E0041\\u00fc\"}}",
			 &policy, &err) == 0,
		   "%s", err.msg);
	text = written(policy);
	RF_CHECK(text && strcmp(text, "env:\n  set:\n    A: \"\\u2028\\u0085\\u000D\\u202E\\u200B"
				      "\\U000E0041\xc3\xbc\"\n") == 0,
		 "%s", text);
	free(text);
	rf_policy_free(policy);
}

/* `count` times `unit` between `head` and `tail`, to be freed. */
static char *repeated(const char *head, const char *unit, size_t count, const char *tail)
{
	struct rf_buf buf;

	rf_buf_init(&buf, 64 * 1024 * 1024);
	rf_buf_puts(&buf, head);
	for (size_t i = 0; i < count; i++)
		rf_buf_puts(&buf, unit);
	rf_buf_puts(&buf, tail);
	return rf_buf_take(&buf);
}

RF_TEST(hostile_texts_are_refused_quickly)
{
	/* clang-format off */
	static const struct { const char *head, *unit; size_t count; const char *tail; } cases[] = {
		{ "# ", "x", 10 * 1024 * 1024, "\n" },
		{ "", "[", 10000, "" },
		{ "", "{", 10000, "" },
		{ "", "{a: ", 10000, "" },
		{ "", "- ", 10000, "a" },
		{ "", "? ", 10000, "a" },
		{ "", "[\n", 10000, "" },
		{ "files: {read: ", "[", 10000, "" },
		{ "files: {read: [", "a, ", 300000, "..]}" },
		{ "env: {pass: [", "A,", 500000, "B C]}" },
		{ "hostname: \"", "\\u0041", 170000, "\"" },
		{ "hostname: ", "a ", 500000, "" },
		{ "hostname: 'a", "\n", 1000000, "'" },
		{ "version: 1\n", "...\n", 250000, "x" },
		{ "", "%A a\n", 200000, "x" },
		{ "", "&a ", 300000, "" },
		{ "", "!", 1000000, "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		char *text = repeated(cases[i].head, cases[i].unit, cases[i].count, cases[i].tail);
		struct rf_err err = RF_ERR_INIT;
		struct rf_policy *policy = NULL;
		clock_t start = clock();

		RF_REQUIRE(text, "no memory");
		RF_CHECK(parse(text, &policy, &err) < 0, "case %zu was accepted", i);
		RF_CHECK(clock() - start < 2 * CLOCKS_PER_SEC, "case %zu took %g s: %s", i,
			 (double)(clock() - start) / CLOCKS_PER_SEC, err.msg);
		rf_policy_free(policy);
		free(text);
	}
}

RF_TEST(lists_have_an_end)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *policy = NULL;
	struct rf_buf buf;

	rf_buf_init(&buf, RF_MAX_POLICY_BYTES);
	rf_buf_puts(&buf, "env:\n  pass:\n");
	for (int i = 0; i < RF_MAX_LIST; i++)
		rf_buf_printf(&buf, "  - A%d\n", i);
	RF_REQUIRE(parse(buf.data, &policy, &err) == 0, "%s", err.msg);
	rf_policy_free(policy);
	rf_buf_puts(&buf, "  - B\n");
	RF_CHECK(parse(buf.data, &policy, &err) == -E2BIG, "%s", err.msg);
	RF_CHECK(err.line == RF_MAX_LIST + 3 && err.column == 5, "%d:%d", err.line, err.column);
	rf_buf_done(&buf);
}
