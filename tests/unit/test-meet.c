/*
 * Meet and merge as operators: src/policy/meet.c.
 *
 * Random policies over a few names and paths, so that rules often touch.  A failure prints the seed;
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
#include "policy/files.h"
#include "policy/key.h"

static uint64_t state, seed;

static unsigned pick(unsigned below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % below;
}

static void start(void)
{
	const char *given = getenv("RF_SEED");

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	state = seed;
	printf("# seed %llu\n", (unsigned long long)seed);
}

static const char *const paths[] = { "/a", "/a/b", "/a/b/c", "/a/bc", "/d", "/d/e", "/f" };
static const char *const names[] = { "A", "B", "C" };
static const char *const programs[] = { "git", "sh", "/usr/bin/env", "perl" };

static void set(struct rf_policy *policy, const char *key, const char *text)
{
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_set(policy, key, text, "/", "/", &err) == 0, "%s %s: %s", key, text,
		   err.msg);
}

static void add_random_files(struct rf_policy *policy)
{
	for (unsigned i = pick(4); i > 0; i--) {
		char rule[32];

		snprintf(rule, sizeof(rule), "%s:%s", paths[pick(RF_LEN(paths))],
			 paths[pick(RF_LEN(paths))]);
		set(policy, pick(2) ? "files.read" : "files.write",
		    pick(3) ? paths[pick(RF_LEN(paths))] : rule);
	}
}

static struct rf_policy *random_policy(void)
{
	/* clang-format off */
	static const struct { const char *key, *texts[4]; } scalars[] = {
		{ "limits.memory",    { "64M", "1G", "512M", "4M" } },
		{ "limits.time",      { "1s", "none", "2h", "60s" } },
		{ "limits.output",    { "1", "none", "1K", "1G" } },
		{ "limits.require",   { "any", "hard", "any", "hard" } },
		{ "weaker",           { "allow", "refuse", "allow", "refuse" } },
		{ "syscalls",         { "default", "strict", "floor", "strict" } },
		{ "isolation",        { "auto", "process", "auto", "process" } },
		{ "network",          { "none", "host", "host", "none" } },
		{ "network.loopback", { "on", "off", "on", "off" } },
		{ "network.unix",     { "on", "off", "on", "off" } },
		{ "files.current",    { "none", "read", "none", "read" } },
		{ "breaker.counts",   { "limits", "failures", "limits", "failures" } },
		{ "breaker.failures", { "1", "none", "5", "100" } },
		{ "breaker.within",   { "1s", "60s", "2h", "1ms" } },
		{ "breaker.open",     { "1s", "none", "60s", "1h" } },
		{ "alarms.forks",     { "1", "none", "1000", "5" } },
		{ "alarms.writes",    { "1M", "none", "1G", "5M" } },
		{ "alarms.on_forks",  { "record", "freeze", "kill", "record" } },
		{ "alarms.on_writes", { "record", "freeze", "kill", "freeze" } },
		{ "alarms.breaker",   { "on", "off", "on", "off" } },
		{ "alarms.rollback",  { "on", "off", "on", "off" } },
		{ "budgets.cpu_per_day", { "1s", "none", "1h", "1m" } },
	};
	/* clang-format on */
	struct rf_policy *policy = rf_policy_new_empty();

	RF_REQUIRE(policy, "no memory");
	for (size_t i = 0; i < RF_LEN(scalars); i++)
		if (pick(2))
			set(policy, scalars[i].key, scalars[i].texts[pick(4)]);
	add_random_files(policy);
	for (unsigned i = pick(3); i > 0; i--)
		set(policy, "commands", pick(2) ? "git" : "sh,/usr/bin/env");
	for (size_t i = 0; i < RF_LEN(names); i++) {
		char text[16];

		snprintf(text, sizeof(text), "%s=%u", names[i], pick(2));
		if (pick(3) == 0)
			set(policy, "env.set", text);
		if (pick(3) == 0)
			set(policy, "env.pass", names[i]);
	}
	if (pick(3) == 0) /* one and the same, so that the order of the sides does not show */
		set(policy, "seccomp", "/p.json");
	return policy;
}

static struct rf_policy *meet(const struct rf_policy *a, const struct rf_policy *b)
{
	struct rf_policy *out = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_meet(a, b, &out, &err) == 0, "%s", err.msg);
	return out;
}

static char *written(const struct rf_policy *policy)
{
	struct rf_buf buf;

	rf_buf_init(&buf, RF_MAX_POLICY_BYTES);
	rf_policy_format(policy, &buf);
	return rf_buf_take(&buf);
}

static const struct rf_list *list_of(const struct rf_policy *policy, enum rf_key key)
{
	return &policy->values[key].list;
}

static enum rf_files_right right_of(const struct rf_policy *p, const char *source, const char *dest)
{
	return rf_files_look(list_of(p, RF_KEY_READ), list_of(p, RF_KEY_WRITE), source, dest);
}

/* 0: not there, 1: set to `value`, 2: passed, so any content may come. */
static int may_have(const struct rf_policy *policy, const char *name, const char *value)
{
	if (rf_list_find(list_of(policy, RF_KEY_SET), name))
		return rf_list_has(list_of(policy, RF_KEY_SET), name, value);
	return rf_list_find(list_of(policy, RF_KEY_PASS), name) ? 2 : 0;
}

static bool may_run(const struct rf_policy *policy, const char *program)
{
	return !(policy->set & RF_KEY_BIT(RF_KEY_COMMANDS)) ||
	       rf_list_find(list_of(policy, RF_KEY_COMMANDS), program);
}

/* Checks that `m` allows nothing that `side` does not. */
static void check_not_weaker(const struct rf_policy *m, const struct rf_policy *side)
{
	struct rf_policy *whole = rf_policy_new(RF_COMMAND_RUN);
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_merge(whole, side, &err) == 0, "%s", err.msg);
	for (int k = 0; k < RF_KEY_COUNT; k++)
		if (rf_key_table[k].strict <= RF_KEY_STRICT_MORE)
			RF_CHECK(rf_key_is_as_strict((enum rf_key)k,
						     rf_key_number(m, (enum rf_key)k),
						     rf_key_number(whole, (enum rf_key)k)),
				 "%s, seed %llu", rf_key_table[k].path, (unsigned long long)seed);
	for (size_t s = 0; s < RF_LEN(paths); s++)
		for (size_t d = 0; d < RF_LEN(paths); d++)
			RF_CHECK(right_of(m, paths[s], paths[d]) <=
					 right_of(side, paths[s], paths[d]),
				 "%s at %s, seed %llu", paths[s], paths[d],
				 (unsigned long long)seed);
	for (size_t i = 0; i < list_of(side, RF_KEY_SECCOMP)->count; i++)
		RF_CHECK(rf_list_has(list_of(m, RF_KEY_SECCOMP),
				     list_of(side, RF_KEY_SECCOMP)->items[i].name, NULL),
			 "a profile is gone, seed %llu", (unsigned long long)seed);
	for (size_t i = 0; i < RF_LEN(names); i++) {
		RF_CHECK(may_have(m, names[i], "0") <= may_have(side, names[i], "0"),
			 "%s, seed %llu", names[i], (unsigned long long)seed);
		RF_CHECK(may_have(m, names[i], "1") <= may_have(side, names[i], "1"),
			 "%s, seed %llu", names[i], (unsigned long long)seed);
	}
	for (size_t i = 0; i < RF_LEN(programs); i++)
		RF_CHECK(!may_run(m, programs[i]) || may_run(side, programs[i]), "%s, seed %llu",
			 programs[i], (unsigned long long)seed);
	rf_policy_free(whole);
}

RF_TEST(a_meet_is_never_weaker_than_either_side)
{
	start();
	for (int round = 0; round < 3000; round++) {
		struct rf_policy *a = random_policy(), *b = random_policy(), *m = meet(a, b);

		check_not_weaker(m, a);
		check_not_weaker(m, b);
		rf_policy_free(a);
		rf_policy_free(b);
		rf_policy_free(m);
	}
}

/* The two allow the same, though their lists may be in another order. */
static void check_same(const struct rf_policy *a, const struct rf_policy *b, const char *what)
{
	for (int k = 0; k < RF_KEY_COUNT; k++) {
		const struct rf_list *x = list_of(a, (enum rf_key)k);
		const struct rf_list *y = list_of(b, (enum rf_key)k);

		RF_CHECK(a->values[k].number == b->values[k].number && x->count == y->count,
			 "%s: %s, seed %llu", what, rf_key_table[k].path, (unsigned long long)seed);
		for (size_t i = 0; i < x->count; i++)
			RF_CHECK(rf_list_has(y, x->items[i].name, x->items[i].value),
				 "%s: %s %s, seed %llu", what, rf_key_table[k].path,
				 x->items[i].name, (unsigned long long)seed);
	}
}

RF_TEST(a_meet_does_not_depend_on_the_order_and_repeating_it_changes_nothing)
{
	start();
	for (int round = 0; round < 3000; round++) {
		struct rf_policy *a = random_policy(), *b = random_policy();
		struct rf_policy *ab = meet(a, b), *ba = meet(b, a);
		struct rf_policy *once = meet(ab, a), *twice = meet(ab, ab);

		check_same(ab, ba, "order");
		check_same(twice, ab, "itself");
		check_not_weaker(once, ab);
		rf_policy_free(a);
		rf_policy_free(b);
		rf_policy_free(ab);
		rf_policy_free(ba);
		rf_policy_free(once);
		rf_policy_free(twice);
	}
}

RF_TEST(merging_the_same_source_again_changes_nothing)
{
	start();
	for (int round = 0; round < 3000; round++) {
		struct rf_policy *a = random_policy(), *b = random_policy();
		struct rf_err err = RF_ERR_INIT;
		char *before, *after;

		RF_REQUIRE(rf_policy_merge(a, b, &err) == 0, "%s", err.msg);
		before = written(a);
		RF_REQUIRE(rf_policy_merge(a, b, &err) == 0, "%s", err.msg);
		after = written(a);
		RF_CHECK(strcmp(before, after) == 0, "seed %llu:\n%s\n%s", (unsigned long long)seed,
			 before, after);
		free(before);
		free(after);
		rf_policy_free(a);
		rf_policy_free(b);
	}
}

RF_TEST(a_ceiling_bounds_a_request)
{
	/* clang-format off */
	static const struct { const char *ceiling, *request, *key, *want; } cases[] = {
		{ "limits: {memory: 1G}", "limits: {memory: 2G}", "memory: ", "1G" },
		{ "limits: {memory: 1G}", "{}", "memory: ", "512M" }, /* what the request would get alone */
		{ "{}", "limits: {memory: 2G}", "memory: ", "512M" }, /* what the ceiling would give alone */
		{ "limits: {time: none}", "limits: {time: none}", "  time: ", "none" },
		{ "files: {read: [/a]}", "files: {read: [/a/b, /c]}", "read:\n    - ", "/a/b\n" },
		{ "files: {write: [/a]}", "files: {read: [/a]}", "read:\n    - ", "/a\n" },
		{ "files: {read: [/a]}", "files: {write: [/a]}", "read:\n    - ", "/a\n" },
		{ "files: {read: [/a/b]}", "files: {read: [/a]}", "read:\n    - ", "/a/b\n" },
		{ "files: {read: [\"/a:/x\"]}", "files: {read: [\"/a/b:/x/b\"]}", "read:\n    - ", "\"/a/b:/x/b\"\n" },
		{ "files: {read: [\"/a:/x\"]}", "files: {read: [/a]}", "read:", " []" },
		{ "{files: {write: [/a], read: [/a/b]}}", "files: {write: [/a/b]}", "write:", " []" },
		/* What covered a part of the current directory is gone, so that does not show by itself. */
		{ "files: {read: ['/a:/w/x']}", "{}", "current: ", "none" },
		{ "files: {read: ['/a:/w/x']}", "files: {read: ['/a:/w/x']}", "current: ", "read" },
		{ "files: {read: [/a]}", "{}", "current: ", "read" },
		{ "env: {pass: [A, B]}", "env: {pass: [B, C]}", "pass:\n    - ", "B\n" },
		{ "env: {pass: [A]}", "env: {set: {A: 1}}", "set:\n    ", "A: 1\n" },
		{ "env: {set: {A: 1}}", "env: {set: {A: 2}}", "set:", " {}" },
		{ "env: {set: {A: 1}}", "env: {pass: [A]}", "set:\n    ", "A: 1\n" },
		{ "hostname: a", "hostname: b", "hostname: ", "b" },
		{ "hostname: a", "{}", "hostname: ", "a" },
		{ "weaker: allow", "{}", "weaker: ", "refuse" },
		{ "agent: a", "agent: b", "agent: ", "a\n" }, /* nobody becomes somebody else */
		{ "agent: a", "{}", "agent: ", "a\n" },
		{ "{}", "agent: b", "agent: ", "b\n" },
		{ "breaker: {failures: 3}", "breaker: {failures: 4}", "failures: ", "3\n" },
		{ "breaker: {failures: 9}", "{}", "failures: ", "5\n" },
		{ "{}", "breaker: {failures: none}", "failures: ", "5\n" },
		{ "{}", "breaker: {failures: 2}", "failures: ", "2\n" },
		{ "breaker: {open: 1h}", "breaker: {open: 1s}", "open: ", "1h\n" },
		{ "breaker: {open: none}", "breaker: {open: 1h}", "open: ", "none\n" },
		{ "breaker: {counts: failures}", "breaker: {counts: limits}", "counts: ", "failures\n" },
		{ "alarms: {forks: 3}", "alarms: {forks: 2000}", "forks: ", "3\n" },
		{ "alarms: {forks: 2000}", "{}", "forks: ", "1000\n" },
		{ "alarms: {on_forks: freeze}", "alarms: {on_forks: kill}", "on_forks: ", "kill\n" },
		{ "alarms: {on_writes: freeze}", "{}", "on_writes: ", "freeze\n" },
		{ "alarms: {rollback: on}", "alarms: {rollback: off}", "rollback: ", "on\n" },
		{ "alarms: {on_forks: record}", "{}", "on_forks: ", "record\n" }, /* it asks for a watcher */
		{ "{}", "alarms: {on_forks: record}", "on_forks: ", "record\n" },
		{ "{}", "budgets: {runs_per_day: 7}", "runs_per_day: ", "7\n" },
		{ "budgets: {runs_per_day: 7}", "budgets: {runs_per_day: none}", "runs_per_day: ", "7\n" },
		{ "network: {writes: hold}", "network: {writes: pass}", "writes: ", "hold\n" },
		{ "network: {writes: hold}", "{}", "writes: ", "hold\n" },
		{ "{}", "network: {writes: hold}", "writes: ", "hold\n" },
		{ "network: {approval_time: 1m}", "network: {approval_time: 2h}", "approval_time: ", "1m\n" },
		{ "network: host", "network: host", "link: ", "host" },
		{ "network: host", "network: none", "link: ", "none" },
		{ "limits: {require: hard}", "{}", "require: ", "hard" },
		{ "syscalls: default", "{syscalls: floor, seccomp: /q}", "syscalls: ", "default" },
		{ "{syscalls: floor, seccomp: /p}", "{}", "syscalls: ", "default" },
		{ "{syscalls: floor, seccomp: /p}", "{syscalls: floor, seccomp: /q}", "syscalls: ", "floor" },
		{ "seccomp: /p", "{}", "seccomp:\n  - ", "/p\n" },
		{ "{}", "seccomp: /q", "seccomp:\n  - ", "/q\n" },
		{ "seccomp: /p", "seccomp: [/q, /p]", "seccomp:\n  - ", "/p\n  - /q\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *a = NULL, *b = NULL, *m;
		struct rf_err err = RF_ERR_INIT;
		char *text, *at;

		RF_REQUIRE(rf_policy_parse(cases[i].ceiling, strlen(cases[i].ceiling), "/", "/", &a,
					   &err) == 0 &&
				   rf_policy_parse(cases[i].request, strlen(cases[i].request), "/",
						   "/", &b, &err) == 0,
			   "case %zu: %s", i, err.msg);
		m = meet(a, b);
		text = written(m);
		at = strstr(text, cases[i].key);
		RF_CHECK(at && strncmp(at + strlen(cases[i].key), cases[i].want,
				       strlen(cases[i].want)) == 0,
			 "case %zu:\n%s", i, text);
		free(text);
		rf_policy_free(a);
		rf_policy_free(b);
		rf_policy_free(m);
	}
}

RF_TEST(lists_of_programs_meet_in_what_both_name)
{
	/* clang-format off */
	static const struct { const char *a, *b, *both; } cases[] = {
		{ "{}",                   "{}",                   "{}\n" },
		{ "{commands: [git, sh]}", "{}",                  "commands:\n  - git\n  - sh\n" },
		{ "{}",                   "{commands: [git]}",    "commands:\n  - git\n" },
		{ "{commands: [git, sh]}", "{commands: [sh, ls]}", "commands:\n  - sh\n" },
		{ "{commands: [git]}",    "{commands: [sh]}",     "commands: []\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *a = NULL, *b = NULL, *m;
		struct rf_err err = RF_ERR_INIT;
		char *text;

		RF_REQUIRE(rf_policy_parse(cases[i].a, strlen(cases[i].a), "/", "/", &a, &err) ==
					   0 &&
				   rf_policy_parse(cases[i].b, strlen(cases[i].b), "/", "/", &b,
						   &err) == 0,
			   "%s", err.msg);
		m = meet(a, b);
		m->set &= RF_KEY_BIT(RF_KEY_COMMANDS);
		text = written(m);
		RF_CHECK(strcmp(text, cases[i].both) == 0, "case %zu: %s", i, text);
		free(text);
		rf_policy_free(a);
		rf_policy_free(b);
		rf_policy_free(m);
	}
}

RF_TEST(what_either_side_masks_is_masked)
{
	/* clang-format off */
	static const struct { const char *a, *b, *both; } cases[] = {
		{ "{network: {mask: [a1, b2]}}", "{}", "network:\n  mask:\n    - a1\n    - b2\n" },
		{ "{}", "{network: {mask: [a1]}}", "network:\n  mask:\n    - a1\n" },
		{ "{network: {mask: [a1]}}", "{network: {mask: [c3, a1]}}", "network:\n  mask:\n    - a1\n    - c3\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *a = NULL, *b = NULL, *m;
		struct rf_err err = RF_ERR_INIT;
		char *text;

		RF_REQUIRE(rf_policy_parse(cases[i].a, strlen(cases[i].a), "/", "/", &a, &err) ==
					   0 &&
				   rf_policy_parse(cases[i].b, strlen(cases[i].b), "/", "/", &b,
						   &err) == 0,
			   "%s", err.msg);
		m = meet(a, b);
		m->set &= RF_KEY_BIT(RF_KEY_NET_MASK);
		text = written(m);
		RF_CHECK(strcmp(text, cases[i].both) == 0, "case %zu: %s", i, text);
		free(text);
		rf_policy_free(a);
		rf_policy_free(b);
		rf_policy_free(m);
	}
}

RF_TEST(only_roots_of_both_sides_are_trusted)
{
	/* clang-format off */
	static const struct { const char *a, *b; bool has; } cases[] = {
		{ "{network: {roots: [/a.pem, /b.pem]}}", "{network: {roots: /a.pem}}", true },
		{ "{network: {roots: /a.pem}}", "{network: {roots: [/b.pem]}}", false },
		{ "{network: {roots: /a.pem}}", "{}", false },
		{ "{}", "{network: {roots: /a.pem}}", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *a = NULL, *b = NULL, *met = NULL;
		struct rf_err err = RF_ERR_INIT;
		const char *root;

		RF_CHECK(rf_policy_parse(cases[i].a, strlen(cases[i].a), "/", "/", &a, &err) == 0 &&
				 rf_policy_parse(cases[i].b, strlen(cases[i].b), "/", "/", &b,
						 &err) == 0 &&
				 rf_policy_meet(a, b, &met, &err) == 0,
			 "%s", err.msg);
		root = rf_policy_root(met, 0);
		RF_CHECK(cases[i].has ? root && !strcmp(root, "/a.pem") && !rf_policy_root(met, 1)
				      : !root,
			 "%s and %s: %s", cases[i].a, cases[i].b, root);
		rf_policy_free(a);
		rf_policy_free(b);
		rf_policy_free(met);
	}
}

RF_TEST(a_mask_is_one_line_of_bounded_length)
{
	char longest[RF_MAX_MASK_TEXT + 1] = "";
	struct rf_policy *policy = rf_policy_new(RF_COMMAND_RUN);
	struct rf_err err = RF_ERR_INIT;

	memset(longest, 'x', RF_MAX_MASK_TEXT);
	RF_CHECK(rf_policy_set(policy, "network.mask", "", "/", "/", &err) == -EINVAL, "empty");
	RF_CHECK(rf_policy_set(policy, "network.mask", "a\nb", "/", "/", &err) == -EINVAL, "lines");
	RF_CHECK(rf_policy_set(policy, "network.mask", "\xff", "/", "/", &err) == -EINVAL, "UTF-8");
	RF_CHECK(rf_policy_set(policy, "network.mask", longest, "/", "/", &err) == -E2BIG, "long");
	RF_CHECK(rf_policy_set(policy, "network.mask", longest + 1, "/", "/", &err) == 0, "%s",
		 err.msg);
	for (int i = 1; i < RF_MAX_MASKS; i++) {
		char text[16];

		snprintf(text, sizeof(text), "x%d", i);
		set(policy, "network.mask", text);
	}
	RF_CHECK(rf_policy_set(policy, "network.mask", "one more", "/", "/", &err) == -E2BIG,
		 "no more than %d", RF_MAX_MASKS);
	rf_policy_free(policy);
}

/* Several sources of one side may show a file and deny it; one source can't. */
RF_TEST(a_folder_does_not_show_what_was_covered_where_the_other_side_denies_the_cover)
{
	struct rf_policy *a = rf_policy_new_empty(), *b = rf_policy_new_empty(), *over, *m;
	struct rf_err err = RF_ERR_INIT;

	over = rf_policy_new_empty();
	RF_REQUIRE(a && b && over, "no memory");
	set(a, "files.read", "/w");
	set(a, "files.read", "/a:/w/x");
	set(b, "files.read", "/w");
	set(b, "files.read", "/a:/w/x");
	set(over, "files.deny", "/a");
	RF_REQUIRE(rf_policy_merge(b, over, &err) == 0, "%s", err.msg);
	m = meet(a, b);
	RF_CHECK(right_of(m, "/w/x", "/w/x") == RF_FILES_NONE, "what lies beneath");
	RF_CHECK(m->values[RF_KEY_CURRENT].number == RF_CURRENT_NONE, "the current directory");
	rf_policy_free(a);
	rf_policy_free(b);
	rf_policy_free(over);
	rf_policy_free(m);
}

/* The cover stands at its own place, within a folder that lies elsewhere. */
RF_TEST(a_folder_elsewhere_does_not_show_what_was_covered_where_the_other_side_denies_the_cover)
{
	struct rf_policy *a = rf_policy_new_empty(), *b = rf_policy_new_empty(), *over, *m;
	struct rf_err err = RF_ERR_INIT;

	over = rf_policy_new_empty();
	RF_REQUIRE(a && b && over, "no memory");
	set(a, "files.read", "/d:/a");
	set(a, "files.read", "/a/b");
	set(b, "files.read", "/d:/a");
	set(b, "files.read", "/a/b");
	set(over, "files.deny", "/a/**");
	RF_REQUIRE(rf_policy_merge(b, over, &err) == 0, "%s", err.msg);
	m = meet(a, b);
	RF_CHECK(right_of(m, "/d/c", "/a/c") == RF_FILES_NONE, "the folder, with /d/b at /a/b");
	rf_policy_free(m);
	m = meet(b, b);
	RF_CHECK(right_of(m, "/d/c", "/a/c") == RF_FILES_READ,
		 "where both deny it, both show that");
	rf_policy_free(a);
	rf_policy_free(b);
	rf_policy_free(over);
	rf_policy_free(m);
}
