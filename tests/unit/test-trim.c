/* A policy trimmed to what was used: src/policy/trim.c. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "policy/key.h"
#include "policy/trim.h"

static struct rf_policy *read_policy(const char *text)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *policy = NULL;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0, "%s: %s",
		   text, err.msg);
	return policy;
}

static bool has_row(const struct rf_trim_row *rows, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].key, key) == 0)
			return true;
	return false;
}

static const struct rf_trim_row *row_of(const struct rf_trim_row *rows, size_t count,
					const char *key)
{
	size_t i = 0;

	RF_REQUIRE(has_row(rows, count, key), "%s has a row", key);
	while (strcmp(rows[i].key, key) != 0)
		i++;
	return &rows[i];
}

RF_TEST(a_figure_keeps_room_becomes_round_and_never_grows)
{
	/* clang-format off */
	static const struct {
		enum rf_limit limit;
		const char *granted;
		struct rf_trim_seen seen;
		const char *tighter; /* "": it stays */
	} cases[] = {
		{ RF_LIMIT_MEMORY,   "512M", { 40u << 20, true, true, false },  "96M" },
		{ RF_LIMIT_MEMORY,   "512M", { 40u << 20, true, false, false }, "192M" },
		{ RF_LIMIT_MEMORY,   "512M", { 1, true, true, false },          "16M" },
		{ RF_LIMIT_MEMORY,   "512M", { 1, true, false, false },         "32M" },
		{ RF_LIMIT_MEMORY,   "64M",  { 40u << 20, true, true, false },  "" },
		{ RF_LIMIT_MEMORY,   "96M",  { 40u << 20, true, true, false },  "" },
		{ RF_LIMIT_MEMORY,   "8M",   { 1, true, true, false },          "" },
		{ RF_LIMIT_MEMORY,   "512M", { 0, false, false, false },        "" },
		{ RF_LIMIT_MEMORY,   "512M", { 40u << 20, true, true, true },   "" },
		{ RF_LIMIT_MEMORY,   "16T",  { UINT64_MAX - 1, true, true, false }, "" },
		{ RF_LIMIT_TIME,     "1h",   { 61000, true, true, false },      "3m" },
		{ RF_LIMIT_TIME,     "none", { 10, true, true, false },         "5s" },
		{ RF_LIMIT_TIME,     "none", { 50ull * 3600 * 1000, true, true, false }, "120h" },
		{ RF_LIMIT_CPU_TIME, "1m",   { 600, true, true, false },        "2s" },
		{ RF_LIMIT_PIDS,     "256",  { 5, true, true, false },          "12" },
		{ RF_LIMIT_PIDS,     "256",  { 1, true, true, false },          "8" },
		{ RF_LIMIT_OUTPUT,   "16M",  { 100000, true, true, false },     "256K" },
		{ RF_LIMIT_INODES,   "1000", { 1, false, false, false },        "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_trim_use use = { 0 };
		struct rf_trim_row rows[RF_TRIM_ROWS];
		const struct rf_trim_row *row;
		struct rf_policy *policy;
		char text[128];
		uint64_t before;
		enum rf_key key = (enum rf_key)(RF_KEY_LIMIT + cases[i].limit);
		size_t count = 0;

		snprintf(text, sizeof(text), "limits: {%s: %s}", rf_limit_table[cases[i].limit].key,
			 cases[i].granted);
		policy = read_policy(text);
		before = rf_key_number(policy, key);
		use.limits[cases[i].limit] = cases[i].seen;
		rf_trim(policy, &use, rows, &count);
		row = row_of(rows, count, rf_key_table[key].path);
		RF_CHECK(strcmp(row->tighter, cases[i].tighter) == 0, "%s: `%s`, not `%s`", text,
			 row->tighter, cases[i].tighter);
		RF_CHECK(strcmp(row->granted, cases[i].granted) == 0, "%s: %s", text, row->granted);
		RF_CHECK(rf_key_number(policy, key) <= before, "%s grew", text);
		RF_CHECK((rf_key_number(policy, key) < before) == (row->tighter[0] != '\0'),
			 "%s: the row is the policy", text);
		rf_policy_free(policy);
	}
}

RF_TEST(scratch_is_bounded_by_memory_and_processors_by_threads)
{
	struct rf_trim_use use = { .limits = {
					   [RF_LIMIT_DISK] = { 4096, true, true, false },
					   [RF_LIMIT_MEMORY] = { 50u << 20, true, true, false },
					   [RF_LIMIT_CPU] = { 20, true, true, false },
					   [RF_LIMIT_PIDS] = { 2, true, true, false },
				   } };
	static const char text[] = "limits: {disk: 1G, cpu: 800%}";
	struct rf_trim_row rows[RF_TRIM_ROWS];
	size_t count;
	struct rf_policy *policy = read_policy(text);

	rf_trim(policy, &use, rows, &count);
	RF_CHECK(strcmp(row_of(rows, count, "limits.disk")->tighter, "64M") == 0, "%s",
		 row_of(rows, count, "limits.disk")->tighter);
	RF_CHECK(strcmp(row_of(rows, count, "limits.cpu")->tighter, "200%") == 0, "%s",
		 row_of(rows, count, "limits.cpu")->tighter);
	rf_policy_free(policy);
	policy = read_policy(text);
	use.limits[RF_LIMIT_MEMORY].is_exact = use.limits[RF_LIMIT_PIDS].is_exact = false;
	RF_CHECK(rf_trim(policy, &use, rows, &count) == 0, "what was looked at bounds nothing");
	rf_policy_free(policy);
}

RF_TEST(budgets_are_trimmed_where_they_are_set_and_known)
{
	struct rf_trim_use use = { .quotas = {
					   [RF_QUOTA_RUNS_HOUR] = { 30, true, true, false },
					   [RF_QUOTA_RUNS_DAY] = { 30, false, true, false },
					   [RF_QUOTA_CPU_DAY] = { 3000, true, true, false },
					   [RF_QUOTA_TIMEOUTS_DAY] = { 1, true, true, false },
				   } };
	struct rf_trim_row rows[RF_TRIM_ROWS];
	struct rf_policy *policy =
		read_policy("budgets: {runs_per_hour: 1000, runs_per_day: 5000, cpu_per_day: 2h}");
	size_t count;

	RF_CHECK(rf_trim(policy, &use, rows, &count) == 2, "two are known");
	RF_CHECK(strcmp(row_of(rows, count, "budgets.runs_per_hour")->tighter, "64") == 0, "%s",
		 row_of(rows, count, "budgets.runs_per_hour")->tighter);
	RF_CHECK(strcmp(row_of(rows, count, "budgets.cpu_per_day")->tighter, "1m") == 0, "%s",
		 row_of(rows, count, "budgets.cpu_per_day")->tighter);
	RF_CHECK(row_of(rows, count, "budgets.runs_per_day")->note, "why it stays");
	RF_CHECK(!has_row(rows, count, "budgets.timeouts_per_day"), "none is invented");
	rf_policy_free(policy);
}

RF_TEST(what_nobody_sees_is_named_and_stays)
{
	static const char text[] = "version: 1\nlimits: {time: 1m}\nfiles: {read: [/a, /b]}\n"
				   "env: {pass: [HOME]}\nnetwork: {link: host}\n";
	struct rf_trim_use use = { .limits = { [RF_LIMIT_TIME] = { 1, true, true, false } } };
	struct rf_trim_row rows[RF_TRIM_ROWS];
	struct rf_policy *policy = read_policy(text), *same = read_policy(text);
	size_t count;

	RF_CHECK(rf_trim(policy, &use, rows, &count) == 1, "the time");
	RF_CHECK(strcmp(row_of(rows, count, "files.read")->granted, "2 entries") == 0 &&
			 strcmp(row_of(rows, count, "files.read")->note,
				"known of runs under `ringfort policy learn` alone") == 0,
		 "files");
	RF_CHECK(has_row(rows, count, "env.pass") && has_row(rows, count, "network.link") &&
			 !has_row(rows, count, "files.write") &&
			 !has_row(rows, count, "network.unix"),
		 "what is granted, and nothing else");
	RF_CHECK(policy->set == same->set && policy->values[RF_KEY_READ].list.count == 2 &&
			 policy->values[RF_KEY_LINK].number == same->values[RF_KEY_LINK].number,
		 "all else is as it was");
	rf_policy_free(policy);
	rf_policy_free(same);
}

RF_TEST(what_no_run_has_used_of_the_network_goes)
{
	/* clang-format off */
	static const struct {
		struct rf_trim_list rules, credentials;
		const char *policy; /* a part of what is left; NULL: all is */
		const char *note;   /* of network.allow */
	} cases[] = {
		{ { { { "GET,POST api.example", "GET" }, { "b.example", "" } }, 2, true },
		  { { { "k", "" } }, 1, true },
		  "  allow:\n    - \"GET api.example\"\n    - b.example\ncredentials:\n  k:\n", "never used: *.c.example" },
		{ { { { "GET,POST api.example", "GET" }, { "GET,POST api.example", "POST" }, { "b.example", "" }, { "*.c.example", "PUT" } }, 4, true },
		  { { { "k", "" }, { "l", "" } }, 2, true }, NULL, NULL },
		{ { { { "GET,POST api.example", "GET" }, { "GET,POST api.example", "BREW" }, { "b.example", "" }, { "*.c.example", "" } }, 4, true },
		  { { { "k", "" }, { "l", "" } }, 2, true }, NULL, NULL }, /* a method that no rule can name: it stays */
		{ { { { "default", "" } }, 1, true }, { { { "" } }, 0, true },
		  "  allow: []\ncredentials: {}\n", "never used: GET,POST api.example, b.example, *.c.example" },
		{ { { { "" } }, 0, false }, { { { "" } }, 0, false }, NULL, "not recorded, or too many to tell" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *policy =
			read_policy("network:\n  allow: [\"POST,GET api.example/**\", b.example, "
				    "\"*.c.example\"]\n"
				    "credentials:\n  k: {from: \"env:K\", hosts: [api.example]}\n"
				    "  l: {from: \"env:L\", hosts: [b.example]}\n");
		struct rf_trim_use use = { .rules = cases[i].rules,
					   .credentials = cases[i].credentials };
		struct rf_trim_row rows[RF_TRIM_ROWS];
		const struct rf_trim_row *row;
		RF_AUTO_BUF struct rf_buf before, after;
		size_t count = 0;
		unsigned tighter;

		rf_buf_init(&before, 1 << 16);
		rf_buf_init(&after, 1 << 16);
		rf_policy_format(policy, &before);
		tighter = rf_trim(policy, &use, rows, &count);
		rf_policy_format(policy, &after);
		row = row_of(rows, count, "network.allow");
		RF_CHECK((tighter > 0) == (cases[i].policy != NULL), "case %zu: %u", i, tighter);
		RF_CHECK(strcmp(row->granted, "3 entries") == 0, "case %zu: %s", i, row->granted);
		RF_CHECK(cases[i].policy ? strstr(after.data, cases[i].policy) != NULL
					 : strcmp(before.data, after.data) == 0,
			 "case %zu: %s", i, after.data);
		RF_CHECK(cases[i].note ? row->note && strcmp(row->note, cases[i].note) == 0
				       : !row->note,
			 "case %zu: %s", i, row->note);
		rf_policy_free(policy);
	}
}

RF_TEST(a_rule_that_says_tcp_goes_back_to_what_it_was_used_for)
{
	/* clang-format off */
	static const struct { struct rf_trim_list rules; const char *left; } cases[] = {
		{ { { { "TCP a.example:9000", "GET" } }, 1, true },                                 "    - \"a.example:9000\"\n" },
		{ { { { "TCP a.example:9000", "" } }, 1, true },                                    "    - \"a.example:9000\"\n" },
		{ { { { "TCP a.example:9000", "TCP" } }, 1, true },                                 "    - \"TCP a.example:9000\"\n" },
		{ { { { "TCP a.example:9000", "GET" }, { "TCP a.example:9000", "TCP" } }, 2, true }, "    - \"TCP a.example:9000\"\n" },
		{ { { { "default", "" } }, 1, true },                                               "  allow: []\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *policy =
			read_policy("network:\n  allow: [\"TCP a.example:9000\"]\n");
		struct rf_trim_use use = { .rules = cases[i].rules };
		struct rf_trim_row rows[RF_TRIM_ROWS];
		RF_AUTO_BUF struct rf_buf after;
		size_t count = 0;

		rf_buf_init(&after, 1 << 16);
		rf_trim(policy, &use, rows, &count);
		rf_policy_format(policy, &after);
		RF_CHECK(strstr(after.data, cases[i].left), "case %zu: %s", i, after.data);
		rf_policy_free(policy);
	}
}

RF_TEST(money_is_rounded_to_two_digits)
{
	struct rf_policy *policy = read_policy("agent: a\nbudgets: {money_per_day: 100}\n");
	struct rf_trim_use use = { .quotas[RF_QUOTA_MONEY_DAY] = { 1234567, true, true, false } };
	struct rf_trim_row rows[RF_TRIM_ROWS];
	const struct rf_trim_row *row;
	size_t count = 0;

	rf_trim(policy, &use, rows, &count);
	row = row_of(rows, count, "budgets.money_per_day");
	RF_CHECK(strcmp(row->granted, "100") == 0 && strcmp(row->used, "1.234567") == 0 &&
			 strcmp(row->tighter, "2.5") == 0,
		 "%s, %s, %s", row->granted, row->used, row->tighter);
	rf_policy_free(policy);
}

/* What runs used, as they tell it, under one policy; and what is left of another. */
static void check_learnt(const char *under_text, const struct rf_trim_list *learnt,
			 const char *text, const char *expected)
{
	struct rf_policy *under[] = { read_policy(under_text) };
	struct rf_policy *policy = read_policy(text);
	struct rf_trim_use use = { .learnt = *learnt, .under = under, .under_count = 1 };
	struct rf_trim_row rows[RF_TRIM_ROWS];
	RF_AUTO_BUF struct rf_buf out;
	size_t count;

	rf_buf_init(&out, 1 << 16);
	rf_trim(policy, &use, rows, &count);
	rf_policy_format(policy, &out);
	RF_CHECK(strcmp(out.data, expected) == 0, "%s", out.data);
	rf_policy_free(policy);
	rf_policy_free(under[0]);
}

RF_TEST(files_and_programs_that_no_learnt_run_used_go)
{
	static const struct rf_trim_list learnt = { { { "/data/a/x", "files.read" },
						      { "/out/log", "files.write" },
						      { "/half/y", "files.read" },
						      { "git", "commands" },
						      { "/opt/tool", "commands" } },
						    5,
						    true };
	static const char all[] =
		"files: {read: [/data, /spare], write: [/out, /half, /idle], current: read}\n"
		"commands: [git, tool, awk]\n";

	check_learnt(
		all, &learnt, all,
		"files:\n  read:\n    - /data\n    - /half\n  write:\n    - /out\n  current: none\n"
		"commands:\n  - git\n  - tool\n");
	/* What the run did not have, nobody knows. */
	check_learnt("files: {read: [/data], write: [/out], current: none}\ncommands: [git]\n",
		     &learnt, all,
		     "files:\n  read:\n    - /data\n    - /spare\n  write:\n    - /out\n    - "
		     "/half\n    - /idle\n"
		     "  current: read\ncommands:\n  - git\n  - tool\n  - awk\n");
	/* A rule within what it had is one that it had. */
	check_learnt("files: {read: [/data]}\n", &learnt, "files: {read: [/data/a, /data/b]}\n",
		     "files:\n  read:\n    - /data/a\ncommands:\n  - git\n  - /opt/tool\n");
}

RF_TEST(programs_of_its_own_keep_every_program_allowed)
{
	static const struct rf_trim_list learnt = {
		{ { "sh", "commands" }, { "*", "commands" }, { "read", "files.current" } }, 3, true
	};

	check_learnt("files: {current: read}\n", &learnt, "files: {current: read}\n",
		     "files:\n  current: read\n");
}
