/* What extends what, in which order, and where it ends: src/policy/chain.c, profile.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "policy/chain.h"
#include "policy/policy.h"
#include "policy/profile.h"

/* The texts of a test: a loader's whole world. */
struct shelf {
	const char *name, *text;
};

static int load(void *context, const char *name, const struct rf_chain_text *from,
		struct rf_chain_text *ret_text, struct rf_err *err)
{
	for (const struct shelf *s = context; s->name; s++) {
		if (strcmp(s->name, name) != 0)
			continue;
		*ret_text = (struct rf_chain_text){
			.name = strdup(name),
			.path = strchr(name, '/') ? strdup(name) : NULL,
			.id = strdup(name),
			.folder = strdup("/w"),
			.text = strdup(s->text),
			.len = strlen(s->text),
		};
		return 0;
	}
	return rf_fail_say(err, -ENOENT, "no %s", name);
}

/* "a b c": the names in the order in which they are merged. */
static void tell_order(const struct rf_chain *chain, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < chain->count; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", len ? " " : "",
					chain->links[i].name);
}

static const struct shelf diamond[] = {
	{ "base", "limits: {memory: 1G, pids: 9}" },
	{ "left", "{limits: {memory: 2G}, extends: base}" },
	{ "right", "extends: [base]\nlimits: {cpu: 50%}" },
	{ "both", "extends: [left, right]\nhostname: both" },
	{ "twice", "extends: [base, base, left]" },
	{ "none", "extends: []" },
	{ "empty", "" },
	{ "over-empty", "extends: empty" },
	{ 0 },
};

RF_TEST(what_is_extended_comes_first_and_once)
{
	/* clang-format off */
	static const struct { const char *add[3], *order; } cases[] = {
		{ { "base" },                  "base" },
		{ { "left" },                  "base left" },
		{ { "both" },                  "base left right both" },
		{ { "left", "right" },         "base left right" },
		{ { "base", "both", "left" },  "base left right both" },
		{ { "twice" },                 "base left twice" },
		{ { "none" },                  "none" },
		{ { "over-empty" },            "empty over-empty" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_chain chain = { .load = load, .context = (void *)(uintptr_t)diamond };
		struct rf_err err = RF_ERR_INIT;
		char order[128];

		for (size_t k = 0; k < RF_LEN(cases[i].add) && cases[i].add[k]; k++)
			RF_CHECK(rf_chain_add(&chain, cases[i].add[k], &err) == 0, "%s", err.msg);
		tell_order(&chain, order, sizeof(order));
		RF_CHECK(strcmp(order, cases[i].order) == 0, "%s: %s", cases[i].order, order);
		rf_chain_done(&chain);
	}
}

RF_TEST(a_profile_that_two_others_extend_does_not_undo_the_first)
{
	struct rf_chain chain = { .load = load, .context = (void *)(uintptr_t)diamond };
	struct rf_policy *policy = rf_policy_new_empty();
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_err err = RF_ERR_INIT;

	rf_buf_init(&buf, 4096);
	RF_REQUIRE(rf_chain_add(&chain, "both", &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_chain_merge(&chain, policy, &err) == 0, "%s", err.msg);
	rf_policy_format(policy, &buf);
	RF_CHECK(strcmp(buf.data, "hostname: both\nlimits:\n  memory: 2G\n  cpu: 50%\n"
				  "  pids: 9\n") == 0,
		 "%s", buf.data);
	rf_policy_free(policy);
	rf_chain_done(&chain);
}

RF_TEST(what_leads_nowhere_is_an_error_at_its_place)
{
	/* clang-format off */
	static const struct { const char *name; int code, line, column; const char *file, *msg; } cases[] = {
		{ "./self",  -ELOOP,  1, 10, "./self",  "extends: goes in a circle: ./self → ./self" },
		{ "./one",   -ELOOP,  2, 12, "./three", "extends: goes in a circle: ./one → ./two → ./three → ./one" },
		{ "./into",  -ELOOP,  1, 10, "./self",  "extends: goes in a circle: ./self → ./self" },
		{ "./lost",  -ENOENT, 2, 14, "./lost",  "extends: no nowhere" },
		{ "./wrong", -EINVAL, 2, 1,  "./bad",   "limit: unknown key" },
		{ "built",   -ENOENT, 1, 10, NULL,      "profile built: extends: no nowhere" },
		{ "./final", -EPERM,  0, 0,  "./final", "limits.pids: an earlier profile made this key final" },
		{ "nowhere", -ENOENT, 0, 0,  NULL,      "no nowhere" },
	};
	static const struct shelf shelf[] = {
		{ "./self", "extends: ./self" },
		{ "./one", "extends: ./two" },
		{ "./two", "extends: ./three" },
		{ "./three", "version: 1\nextends: [ ./one ]" },
		{ "./into", "extends: ./self" },
		{ "./lost", "limits: {}\nextends: [ab,nowhere]" },
		{ "ab", "" },
		{ "./wrong", "extends: ./bad" },
		{ "./bad", "\nlimit: {}" },
		{ "built", "extends: nowhere" },
		{ "./final", "{extends: tight, limits: {pids: 9}}" },
		{ "tight", "{limits: {pids: 8}, final: [limits]}" },
		{ 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_chain chain = { .load = load, .context = (void *)(uintptr_t)shelf };
		struct rf_policy *policy = rf_policy_new_empty();
		struct rf_err err = RF_ERR_INIT;
		int r = rf_chain_add(&chain, cases[i].name, &err);

		if (r == 0)
			r = rf_chain_merge(&chain, policy, &err);
		RF_CHECK(r == cases[i].code && strcmp(err.msg, cases[i].msg) == 0, "%s: %d %s",
			 cases[i].name, r, err.msg);
		RF_CHECK(err.line == cases[i].line && err.column == cases[i].column, "%s: %d:%d",
			 cases[i].name, err.line, err.column);
		RF_CHECK(!chain.file == !cases[i].file &&
				 (!chain.file || strcmp(chain.file, cases[i].file) == 0),
			 "%s: %s", cases[i].name, chain.file);
		rf_policy_free(policy);
		rf_chain_done(&chain);
	}
}

/* Profiles "1", "2" ... each of which extends the next. */
static int load_next(void *context, const char *name, const struct rf_chain_text *from,
		     struct rf_chain_text *ret_text, struct rf_err *err)
{
	int number = (int)strtol(name, NULL, 10), last = *(const int *)context;
	char text[32] = "";

	if (number < last)
		snprintf(text, sizeof(text), "extends: \"%d\"", number + 1);
	*ret_text = (struct rf_chain_text){
		.name = strdup(name), .id = strdup(name), .text = strdup(text), .len = strlen(text)
	};
	return 0;
}

RF_TEST(a_chain_has_an_end)
{
	for (int last = RF_MAX_CHAIN_DEPTH; last <= RF_MAX_CHAIN_DEPTH + 1; last++) {
		struct rf_chain chain = { .load = load_next, .context = &last };
		struct rf_err err = RF_ERR_INIT;
		int r = rf_chain_add(&chain, "1", &err);

		RF_CHECK(r == (last > RF_MAX_CHAIN_DEPTH ? -ELOOP : 0), "%d: %d %s", last, r,
			 err.msg);
		rf_chain_done(&chain);
	}
}

RF_TEST(a_chain_holds_only_so_many)
{
	struct rf_chain chain = { .load = load_next, .context = &(int){ 0 } };
	struct rf_err err = RF_ERR_INIT;
	char name[16];

	for (int i = 1; i <= RF_MAX_CHAIN; i++) {
		snprintf(name, sizeof(name), "%d", i);
		RF_REQUIRE(rf_chain_add(&chain, name, &err) == 0, "%s", err.msg);
	}
	RF_CHECK(rf_chain_add(&chain, "0", &err) == -E2BIG, "%s", err.msg);
	rf_chain_done(&chain);
}

RF_TEST(without_a_loader_there_are_only_the_built_in_profiles)
{
	/* clang-format off */
	static const struct { const char *text; int code; const char *msg; } cases[] = {
		{ "extends: strict",            0,       "" },
		{ "extends: [python, default]", 0,       "" },
		{ "extends: stirct",            -ENOENT, "extends: there is no profile \"stirct\"" },
		{ "extends: ./x.yaml",          -EPERM,  "extends: \"./x.yaml\": a file can't be extended here" },
		{ "extends: /etc/passwd",       -EPERM,  "extends: \"/etc/passwd\": a file can't be extended here" },
		{ "extends: x.json",            -EPERM,  "extends: \"x.json\": a file can't be extended here" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_chain chain = { 0 };
		struct rf_chain_text text = { .name = strdup("request"),
					      .path = strdup("request"),
					      .id = strdup("request"),
					      .text = strdup(cases[i].text),
					      .len = strlen(cases[i].text) };
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_chain_add_text(&chain, &text, &err) == cases[i].code &&
				 strcmp(err.msg, cases[i].msg) == 0,
			 "%s: %s", cases[i].text, err.msg);
		rf_chain_done(&chain);
	}
}

RF_TEST(a_name_is_a_name_and_a_path_is_a_path)
{
	/* clang-format off */
	static const struct { const char *text; bool is_path, is_name; } cases[] = {
		{ "python", false, true },         { "a", false, true },
		{ "my.team_2-x", false, true },    { "0", false, true },
		{ "a.yaml", true, true },          { "./a", true, false },
		{ "/a", true, false },             { "~/a", true, false },
		{ "..", false, false },            { "a b", false, false },
		{ "Python", false, false },        { "", false, false },
		{ "-a", false, false },            { ".a", false, false },
		{ "ä", false, false },             { "a\n", false, false },
		{ ".yaml", false, false },         { "a.json", true, true },
		{ "abcdefghijabcdefghijabcdefghijabcdefghij", false, true },
		{ "abcdefghijabcdefghijabcdefghijabcdefghijk", false, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_chain_is_path(cases[i].text) == cases[i].is_path, "%s", cases[i].text);
		RF_CHECK((rf_chain_check_name(cases[i].text, &err) == 0) == cases[i].is_name, "%s",
			 cases[i].text);
	}
}

RF_TEST(a_profiles_first_comment_is_its_summary)
{
	/* clang-format off */
	static const struct { const char *text, *summary; } cases[] = {
		{ "# For cats.\nversion: 1\n",     "For cats." },
		{ "\n##  For dogs.  \r\n",         "For dogs.  " },
		{ "\xef\xbb\xbf# For birds.",      "For birds." },
		{ "version: 1\n# not this\n",      "" },
		{ "",                              "" },
		{ "#",                             "" },
		{ "# 0123456789012345678901234567", "0123456789012345678" },
	};
	/* clang-format on */
	char summary[20];

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		rf_profile_summary(cases[i].text, summary, sizeof(summary));
		RF_CHECK(strcmp(summary, cases[i].summary) == 0, "%s: %s", cases[i].text, summary);
	}
}
