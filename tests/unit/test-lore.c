/* Policies that were read before: src/warden/lore.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/plan.h"
#include "warden/lore.h"

static char *words[] = { (char[]){ "true" }, NULL };
static char *nothing[] = { NULL };

static struct rf_errand asking(const char *policy)
{
	return (struct rf_errand){ .policy = policy,
				   .folder = "/",
				   .home = "/home/ada",
				   .cwd = "/srv",
				   .argv = words,
				   .env = nothing };
}

static const struct rf_policy *find(struct rf_lore *lore, const char *text)
{
	struct rf_errand errand = asking(text);
	struct rf_err err = RF_ERR_INIT;
	const struct rf_policy *policy = NULL;

	errand.drops_beyond = true; /* as a run's is */
	RF_REQUIRE(rf_lore_find(lore, &errand, &policy, &err) == 0, "%s: %s", text, err.msg);
	return policy;
}

static struct rf_plan *plan_of(const struct rf_policy *policy)
{
	struct rf_facts facts = { .uid = 1,
				  .gid = 1,
				  .cwd = "/srv",
				  .home = "/home/ada",
				  .env = nothing,
				  .argv = words };
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = NULL;

	RF_REQUIRE(rf_plan_make(policy, &facts, &plan, &err) == 0, "%s", err.msg);
	return plan;
}

static struct rf_lore *make(const struct rf_policy *ceiling)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_lore *lore = NULL;

	RF_REQUIRE(rf_lore_new(ceiling, &lore, &err) == 0, "%s", err.msg);
	return lore;
}

RF_TEST(the_same_text_is_read_once)
{
	struct rf_lore *lore = make(NULL);
	const struct rf_policy *first = find(lore, "limits: { time: 1s }");

	find(lore, "limits: { time: 2s }");
	RF_CHECK(find(lore, "limits: { time: 1s }") == first, "it is remembered");
	RF_CHECK(find(lore, "limits: { time: 2s }") != first, "another text is another policy");
	rf_lore_free(lore);
}

RF_TEST(so_many_texts_are_remembered_and_the_oldest_is_forgotten)
{
	struct rf_lore *lore = make(NULL);
	char text[64];

	for (int round = 0; round < 3; round++)
		for (int i = 1; i <= 40; i++) {
			struct rf_plan *plan;

			snprintf(text, sizeof(text), "limits: { time: %ds }", i);
			plan = plan_of(find(lore, text));
			RF_CHECK(plan->limits[RF_LIMIT_TIME] == (uint64_t)i * 1000, "%s", text);
			rf_plan_free(plan);
		}
	rf_lore_free(lore);
}

RF_TEST(a_ceiling_bounds_every_text)
{
	static const char text[] = "limits: { time: 5s }\nnetwork: { link: none }\n";
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *ceiling = NULL;
	struct rf_lore *lore;
	struct rf_plan *plan;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &ceiling, &err) == 0, "%s",
		   err.msg);
	lore = make(ceiling);
	plan = plan_of(find(lore, "limits: { time: 60s }"));
	RF_CHECK(plan->limits[RF_LIMIT_TIME] == 5000, "what is beyond it becomes it");
	rf_plan_free(plan);
	plan = plan_of(find(lore, "limits: { time: 1s }"));
	RF_CHECK(plan->limits[RF_LIMIT_TIME] == 1000, "what is within it stays");
	rf_plan_free(plan);
	rf_lore_free(lore);
	rf_policy_free(ceiling);
}

RF_TEST(what_is_beyond_the_ceiling_is_told_or_refused)
{
	static const char text[] = "limits: { time: 5s, memory: 64M }\n";
	struct rf_errand kept = asking("limits: { time: 1m }");
	struct rf_err err = RF_ERR_INIT;
	const struct rf_policy *policy = NULL;
	struct rf_policy *ceiling = NULL;
	struct rf_result result;
	struct rf_lore *lore;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &ceiling, &err) == 0, "%s",
		   err.msg);
	lore = make(ceiling);
	rf_result_init(&result, NULL);
	rf_lore_warn(lore, find(lore, "limits: { time: 1s }"), &result);
	rf_lore_warn(lore, find(lore, "limits: { memory: 512M }"), &result);
	RF_CHECK(result.warning_count == 0, "what is within it, or a default: %s",
		 result.warnings[0]);
	rf_lore_warn(lore, find(lore, "limits: { time: 2m }\nfiles: { read: [/srv] }"), &result);
	RF_CHECK(result.warning_count == 1 &&
			 strstr(result.warnings[0], "not given: limits.time: 2m, files.read: /srv"),
		 "%s", result.warnings[0]);
	RF_CHECK(rf_lore_find(lore, &kept, &policy, &err) == -EPERM &&
			 strstr(err.msg, "limits.time: 1m is beyond the warden's ceiling"),
		 "%s", err.msg);
	rf_result_done(&result);
	rf_lore_free(lore);
	rf_policy_free(ceiling);
}

RF_TEST(what_is_told_of_a_policy_is_what_was_granted_and_no_secret)
{
	static const char text[] = "limits: { time: 5s }\n";
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *ceiling = NULL;
	const struct rf_policy *policy;
	struct rf_lore *lore;
	const char *told;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &ceiling, &err) == 0, "%s",
		   err.msg);
	lore = make(ceiling);
	policy = find(lore, "limits: { time: 60s }\nenv: { set: { TOKEN: hunter2 } }");
	told = rf_lore_told(lore, policy);
	RF_REQUIRE(told, "there is a text");
	RF_CHECK(strstr(told, "time: 5s") && !strstr(told, "hunter2"), "%s", told);
	RF_CHECK(rf_lore_told(lore, policy) == told, "it is written once");
	RF_CHECK(!rf_lore_told(lore, ceiling), "one that was not asked for has none");
	rf_lore_free(lore);
	rf_policy_free(ceiling);
}

RF_TEST(what_can_t_be_read_is_not_remembered)
{
	static const char *const cases[] = { "limits: [", "no_such_key: 1",
					     "extends: /etc/passwd" };
	struct rf_lore *lore = make(NULL);

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < RF_LEN(cases); i++) {
			struct rf_errand errand = asking(cases[i]);
			struct rf_err err = RF_ERR_INIT;
			const struct rf_policy *policy = NULL;

			RF_CHECK(rf_lore_find(lore, &errand, &policy, &err) < 0 && err.msg[0], "%s",
				 cases[i]);
		}
	rf_lore_free(lore);
}

RF_TEST(what_is_for_an_agent_stays_within_what_that_may_do)
{
	struct rf_lore *lore = make(NULL);
	struct rf_errand errand = asking("limits: { time: 9s, memory: 32M }");
	struct rf_err err = RF_ERR_INIT;
	const struct rf_policy *first = NULL, *second = NULL, *third = NULL;
	struct rf_plan *plan;

	RF_REQUIRE(rf_lore_find(lore, &errand, &first, &err) == 0, "%s", err.msg);
	errand.agent = "limits: { time: 2s, memory: 64M }";
	RF_CHECK(rf_lore_find(lore, &errand, &second, &err) == -EPERM &&
			 strstr(err.msg, "limits.time: 9s is beyond the agent's ceiling"),
		 "%s", err.msg);
	errand.drops_beyond = true; /* as the client says */
	err = RF_ERR_INIT;
	RF_REQUIRE(rf_lore_find(lore, &errand, &second, &err) == 0, "%s", err.msg);
	plan = plan_of(second);
	RF_CHECK(first != second && plan->limits[RF_LIMIT_TIME] == 2000 &&
			 plan->limits[RF_LIMIT_MEMORY] == 32u << 20,
		 "%llu", (unsigned long long)plan->limits[RF_LIMIT_TIME]);
	rf_plan_free(plan);
	RF_CHECK(rf_lore_find(lore, &errand, &third, &err) == 0 && third == second, "known");
	errand.agent = "limits: {";
	RF_CHECK(rf_lore_find(lore, &errand, &third, &err) < 0, "an agent that is none");
	rf_lore_free(lore);
}
