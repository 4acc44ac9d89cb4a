/* Two policies compared: src/policy/diff.c, words.c. */
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/diff.h"
#include "policy/key.h"

static struct rf_policy *whole(const char *text)
{
	struct rf_policy *policy = rf_policy_new(RF_COMMAND_RUN), *over = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/w", "/h", &over, &err) == 0, "%s: %s",
		   text, err.msg);
	RF_REQUIRE(policy && rf_policy_merge(policy, over, &err) == 0, "%s: %s", text, err.msg);
	rf_policy_free(over);
	return policy;
}

static void check_diff(const char *a, const char *b, const char *want)
{
	struct rf_policy *x = whole(a), *y = whole(b);
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct rf_diff diff;

	rf_buf_init(&out, 1 << 20);
	RF_REQUIRE(rf_diff_make(x, y, &diff, &err) == 0, "%s", err.msg);
	rf_diff_text(&diff, "A", "B", &out);
	RF_CHECK(strcmp(out.data, want) == 0, "%s against %s:\n%s", b, a, out.data);
	rf_diff_done(&diff);
	rf_policy_free(x);
	rf_policy_free(y);
}

RF_TEST(every_difference_is_told_with_what_it_means)
{
	/* clang-format off */
	static const struct { const char *a, *b, *want; } cases[] = {
		{ "", "", "A and B allow the same.\n" },
		{ "", "{weaker: refuse, limits: {memory: 512M, time: 60s}}", "A and B allow the same.\n" },
		{ "", "network: host", "network.link: none → host (MORE OPEN)\nB is looser than A.\n" },
		{ "network: host", "", "network.link: host → none (stricter)\nB is stricter than A.\n" },
		{ "", "limits: {memory: 2G}", "limits.memory: 512M → 2G (more)\nB is looser than A.\n" },
		{ "", "limits: {time: none}", "limits.time: 1m → none (more)\nB is looser than A.\n" },
		{ "limits: {output: none}", "limits: {output: 1}", "limits.output: none → 1 (less)\nB is stricter than A.\n" },
		{ "", "isolation: process", "isolation: auto → process (stricter)\nB is stricter than A.\n" },
		{ "isolation: process", "", "isolation: process → auto (WEAKER)\nB is looser than A.\n" },
		{ "", "breaker: {failures: 3}", "breaker.failures: not set → 3 (stricter)\nB is stricter than A.\n" },
		{ "", "alarms: {rollback: on}", "alarms.rollback: not set → on (stricter)\nB is stricter than A.\n" },
		{ "", "breaker: {failures: 9}", "breaker.failures: not set → 9 (looser)\nB is looser than A.\n" },
		{ "budgets: {runs_per_day: 5}", "", "budgets.runs_per_day: 5 → not set (looser)\nB is looser than A.\n" },
		{ "agent: a", "agent: b", "agent: a → b\nNeither is looser.\n" },
		{ "", "hostname: x", "hostname: box → x\nNeither is looser.\n" },
		{ "", "workdir: /x", "workdir: not set → /x\nNeither is looser.\n" },
		{ "workdir: /x", "", "workdir: /x → not set\nNeither is looser.\n" },
		{ "", "files: {write: [out]}", "files.write: adds /w/out (writable)\nB is looser than A.\n" },
		{ "files: {read: ['a:/b']}", "", "files.read: removes /w/a:/b (no longer readable)\nB is stricter than A.\n" },
		{ "files: {read: [a]}", "files: {write: [a]}", "files.write: adds /w/a (writable; was read-only)\nB is looser than A.\n" },
		{ "files: {write: [a]}", "files: {read: [a]}", "files.write: removes /w/a (now read-only)\nB is stricter than A.\n" },
		{ "env: {pass: [A]}", "env: {pass: [B]}",
		  "env.pass: adds B (passed on)\nenv.pass: removes A (no longer passed on)\n"
		  "B is looser than A in 1 point, and stricter in 1.\n" },
		{ "env: {set: {A: 1, B: 1}}", "env: {set: {A: 2, C: 3}}",
		  "env.set: A=1 → A=2\nenv.set: adds C=3\nenv.set: removes B=1\nNeither is looser.\n" },
		{ "", "env: {set: {A: \"x\\e[2Jy\"}}", "env.set: adds A=x\\u001B[2Jy\nNeither is looser.\n" },
		{ "", "final: [limits.pids, network]",
		  "final: adds limits.pids (can't be loosened later)\nfinal: adds network (can't be loosened later)\n"
		  "B is stricter than A.\n" },
		{ "final: [env]", "final: [env.set]", "final: removes env.pass (can be changed later)\nB is looser than A.\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		check_diff(cases[i].a, cases[i].b, cases[i].want);
}

RF_TEST(the_most_dangerous_difference_comes_first)
{
	check_diff(
		"{syscalls: strict, limits: {pids: 9}, files: {current: none}}",
		"{limits: {memory: 1G, cpu: 10%}, files: {write: [/a], read: [/b]}, weaker: allow,"
		" network: {link: host, unix: on}, hostname: x, env: {pass: [A], set: {B: c}}}",
		"network.link: none → host (MORE OPEN)\n"
		"weaker: refuse → allow (MORE OPEN)\n"
		"network.unix: off → on (MORE OPEN)\n"
		"syscalls: strict → default (MORE OPEN)\n"
		"files.write: adds /a (writable)\n"
		"files.read: adds /b (readable)\n"
		"files.current: none → read (MORE OPEN)\n"
		"env.pass: adds A (passed on)\n"
		"limits.memory: 512M → 1G (more)\n"
		"limits.pids: 9 → 256 (more)\n"
		"env.set: adds B=c\n"
		"hostname: box → x\n"
		"limits.cpu: 100% → 10% (less)\n"
		"B is looser than A in 10 points, and stricter in 1.\n");
}

/* A ceiling bounds; but a rule that it narrows, or takes the right to write from, is read anew. */
RF_TEST(what_a_meet_gives_is_never_called_looser)
{
	static const char *const texts[] = {
		"",
		"network: host",
		"{limits: {memory: 4G, pids: 9}, files: {read: [/a], write: [/b]}}",
		"{weaker: allow, syscalls: strict, env: {pass: [A, B]}, files: {write: [/a]}}",
		"{isolation: process, files: {current: none, read: [/b]}, final: [limits]}",
	};

	for (size_t i = 0; i < RF_LEN(texts); i++)
		for (size_t k = 0; k < RF_LEN(texts); k++) {
			struct rf_policy *a = whole(texts[i]), *b = whole(texts[k]), *met = NULL;
			struct rf_err err = RF_ERR_INIT;
			struct rf_diff diff;

			RF_REQUIRE(rf_policy_meet(a, b, &met, &err) == 0, "%s", err.msg);
			RF_REQUIRE(rf_diff_make(a, met, &diff, &err) == 0, "%s", err.msg);
			for (size_t d = 0; d < diff.count; d++)
				RF_CHECK(diff.rows[d].way != RF_DIFF_LOOSER ||
						 diff.rows[d].key == RF_KEY_READ,
					 "%s met %s: %s", texts[i], texts[k],
					 rf_key_table[diff.rows[d].key].path);
			rf_diff_done(&diff);
			rf_policy_free(a);
			rf_policy_free(b);
			rf_policy_free(met);
		}
}

RF_TEST(a_program_reads_the_same)
{
	struct rf_policy *a = whole(""), *b = whole("{network: host, env: {set: {A: \"\\\"\"}}}");
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct rf_diff diff;

	rf_buf_init(&out, 1 << 20);
	RF_REQUIRE(rf_diff_make(a, b, &diff, &err) == 0, "%s", err.msg);
	rf_diff_json(&diff, "x", "y", &out);
	RF_CHECK(strstr(out.data, "\"same\": false,\n  \"looser\": 1,\n  \"stricter\": 0,"), "%s",
		 out.data);
	RF_CHECK(strstr(out.data, "\"b\": \"A=\\\"\""), "%s", out.data);
	rf_diff_done(&diff);
	rf_diff_done(&diff);
	rf_policy_free(a);
	rf_policy_free(b);
}
