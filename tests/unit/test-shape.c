/* Which plans have one box: src/warden/shape.c; and which can be told to a box that waits: src/jail/box.c. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "init/orders.h"
#include "jail/box.h"
#include "warden/shape.h"

static char *words[] = { (char[]){ "true" }, NULL };
static char *others[] = { (char[]){ "python3" }, (char[]){ "-c" }, (char[]){ "pass" }, NULL };
static char *caller_env[] = { (char[]){ "LANG=C.UTF-8" }, NULL };

static struct rf_plan *make(const char *text, const char *cwd, char **argv)
{
	struct rf_facts facts = { .uid = 1001,
				  .gid = 1002,
				  .cwd = cwd,
				  .home = "/home/ada",
				  .env = caller_env,
				  .argv = argv };
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *policy = NULL;
	struct rf_plan *plan = NULL;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/srv/p", "/home/ada", &policy, &err) == 0 &&
			   rf_plan_make(policy, &facts, &plan, &err) == 0,
		   "%s: %s", text, err.msg);
	rf_policy_free(policy);
	return plan;
}

static bool is_same(const char *one, const char *other)
{
	struct rf_plan *a = make(one, "/srv/p", words), *b = make(other, "/srv/p", others);
	bool same = rf_shape_is_same(a, b);

	RF_CHECK(rf_shape_is_same(b, a) == same, "%s against %s, both ways", one, other);
	rf_plan_free(a);
	rf_plan_free(b);
	return same;
}

RF_TEST(words_are_no_part_of_a_shape)
{
	/* clang-format off */
	static const char *const cases[] = {
		"{}",
		"env: { set: { COLOUR: blue } }",
		"workdir: /tmp",
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		RF_CHECK(is_same("{}", cases[i]), "%s", cases[i]);
}

RF_TEST(whatever_a_box_is_built_from_is)
{
	/* clang-format off */
	static const char *const cases[] = {
		"limits: { memory: 64M }",
		"limits: { time: 1s }",
		"limits: { open_files: 20 }",
		"limits: { require: hard }",
		"files: { read: [/srv/other] }",
		"files: { write: [/srv/other] }",
		"files: { credentials: show }",
		"network: { link: host }",
		"network: { loopback: off }",
		"network: { unix: on }",
		"syscalls: strict",
		"weaker: allow",
		"isolation: process",
		"hostname: other",
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_policy *policy = NULL;

		if (rf_policy_parse(cases[i], strlen(cases[i]), "/", "/", &policy, &err) < 0) {
			RF_CHECK(false, "%s: %s", cases[i], err.msg);
			continue;
		}
		rf_policy_free(policy);
		RF_CHECK(!is_same("{}", cases[i]), "%s", cases[i]);
	}
}

RF_TEST(the_current_directory_is_what_it_shows)
{
	struct rf_plan *a = make("{}", "/srv/p", words), *b = make("{}", "/srv/q", words);

	RF_CHECK(!rf_shape_is_same(a, b), "another current directory");
	rf_plan_free(a);
	rf_plan_free(b);
}

RF_TEST(what_is_like_no_other_is_not_even_like_itself)
{
	/* clang-format off */
	static const char *const cases[] = {
		"commands: [sh]",
		"files: { deny: ['**/*.pem'] }",
		"seccomp: [/srv/p/profile.json]",
		"files: { canaries: [/home/box/.aws/credentials] }",
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_plan *plan = make(cases[i], "/srv/p", words);

		RF_CHECK(!rf_shape_is_common(plan), "%s", cases[i]);
		RF_CHECK(!rf_shape_is_same(plan, plan), "%s", cases[i]);
		rf_plan_free(plan);
	}
}

RF_TEST(a_box_with_a_workspace_of_its_own_is_made_for_no_other)
{
	struct rf_plan *plan = make("{}", "/srv/p", words);

	RF_CHECK(rf_shape_is_common(plan), "there is none");
	plan->places[0].is_site = true;
	RF_CHECK(!rf_shape_is_common(plan), "one that waits would keep it from being removed");
	rf_plan_free(plan);
}

/* Who adds a field asks whether a box is built from it, and then says so in shape.c and here. */
RF_TEST(every_field_of_a_plan_has_been_thought_of)
{
	struct rf_plan
		plan; /* its net is a gateway's, its origin a record's: no box is built from these */

	size_t known =
		sizeof(plan.limits) + sizeof(plan.quotas) + sizeof(plan.alarms) + sizeof(plan.seed);

	RF_CHECK(sizeof(plan) - known == 216, "%zu bytes besides those", sizeof(plan) - known);
}

/* ------------------------------------------------------------- words */

static struct rf_plan telling(char **argv, char **env)
{
	return (struct rf_plan){ .argv = argv, .env = env, .workdir = "/" };
}

RF_TEST(a_box_that_waits_can_be_told_so_many_words)
{
	char **many = calloc(RF_WORDS_COUNT + 2, sizeof(*many)), *none[] = { NULL };
	struct rf_plan plan = telling(many, none);

	for (size_t i = 0; i < RF_WORDS_COUNT; i++)
		many[i] = words[0];
	RF_CHECK(rf_box_can_wait(&plan), "as many as there is room for");
	plan = telling(words, many);
	RF_CHECK(rf_box_can_wait(&plan), "as many variables");
	many[RF_WORDS_COUNT] = words[0];
	RF_CHECK(!rf_box_can_wait(&plan), "one variable more");
	plan = telling(many, none);
	RF_CHECK(!rf_box_can_wait(&plan), "one word more");
	free(many);
}

RF_TEST(and_so_many_bytes)
{
	char *long_word = calloc(1, RF_WORDS_BYTES + 1), *argv[] = { long_word, NULL };
	char *none[] = { NULL };
	struct rf_plan plan = telling(argv, none);

	memset(long_word, 'x', RF_WORDS_BYTES);
	long_word[RF_WORDS_BYTES - sizeof("/") - 1] = '\0';
	RF_CHECK(rf_box_can_wait(&plan), "a word that fills it");
	long_word[RF_WORDS_BYTES - sizeof("/") - 1] = 'x';
	long_word[RF_WORDS_BYTES - sizeof("/")] = '\0';
	RF_CHECK(!rf_box_can_wait(&plan), "one byte more");
	free(long_word);
}

RF_TEST(a_terminal_and_profiles_are_not_waited_with)
{
	char *none[] = { NULL };
	struct rf_plan plan = telling(words, none);

	plan.has_terminal = true;
	RF_CHECK(!rf_box_can_wait(&plan), "a terminal");
	plan.has_terminal = false;
	plan.seccomp = words;
	RF_CHECK(!rf_box_can_wait(&plan), "a profile");
	plan.seccomp = none;
	RF_CHECK(rf_box_can_wait(&plan), "none");
}
