/* Budgets: src/watch/budget.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/budget.h"

#define HOUR UINT64_C(3600000)
#define DAY  (24 * HOUR)
#define BOOT "6a1e5b1c"

static struct rf_budget_set *new_set(size_t cap)
{
	struct rf_budget_set *set = rf_budget_new(&(struct rf_budget_options){ .cap = cap });

	RF_REQUIRE(set, "no memory");
	return set;
}

static struct rf_budget_rule limit(enum rf_budget what, enum rf_budget_period period, uint64_t most)
{
	struct rf_budget_rule rule = rf_budget_rule_none();

	rule.limits[what][period] = most;
	return rule;
}

static struct rf_budget_answer ask(struct rf_budget_set *set, const char *name,
				   const struct rf_budget_rule *rule, uint64_t now)
{
	struct rf_budget_answer answer;

	rf_budget_ask(set, RF_TABLE_AGENT, name, rule, now, &answer);
	return answer;
}

static void spend(struct rf_budget_set *set, const char *name, enum rf_budget what, uint64_t amount,
		  uint64_t now)
{
	int code = rf_budget_spend(set, RF_TABLE_AGENT, name, what, amount, now);

	RF_REQUIRE(code == 0, "%s", strerror(-code));
}

RF_TEST(a_budget_is_spent_when_its_amount_is_reached)
{
	struct rf_budget_rule rule = limit(RF_BUDGET_CPU_MS, RF_BUDGET_HOUR, 600000);
	struct rf_budget_set *set = new_set(4);
	struct rf_budget_answer answer;

	RF_CHECK(!ask(set, "a", &rule, 0).is_spent, "by nobody");
	spend(set, "a", RF_BUDGET_CPU_MS, 599999, 0);
	RF_CHECK(!ask(set, "a", &rule, 0).is_spent, "a millisecond is left");
	spend(set, "a", RF_BUDGET_CPU_MS, 13000, 0);
	answer = ask(set, "a", &rule, 0);
	RF_CHECK(answer.is_spent && answer.what == RF_BUDGET_CPU_MS &&
			 answer.period == RF_BUDGET_HOUR && answer.used == 612999,
		 "%" PRIu64, answer.used);
	RF_CHECK(strcmp(answer.reason,
			"the budget is spent: 612 of 600 s of processor time in an hour") == 0,
		 "%s", answer.reason);
	RF_CHECK(!ask(set, "b", &rule, 0).is_spent, "another's");
	RF_CHECK(rf_budget_used(set, RF_TABLE_CREDENTIAL, "a", RF_BUDGET_CPU_MS, RF_BUDGET_HOUR,
				0) == 0,
		 "another kind's");
	rf_budget_free(set);
}

RF_TEST(what_was_spent_is_held_for_its_period_and_hardly_longer)
{
	/* clang-format off */
	static const struct { enum rf_budget_period period; uint64_t ms; } cases[] = {
		{ RF_BUDGET_HOUR, HOUR }, { RF_BUDGET_DAY, DAY },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		for (uint64_t start = 0; start < cases[i].ms; start += cases[i].ms / 997) {
			struct rf_budget_rule rule = limit(RF_BUDGET_RUNS, cases[i].period, 1);
			struct rf_budget_set *set = new_set(4);
			uint64_t wait;

			spend(set, "a", RF_BUDGET_RUNS, 1, start);
			wait = ask(set, "a", &rule, start).retry_ms;
			RF_CHECK(wait >= cases[i].ms && wait <= cases[i].ms + cases[i].ms / 32,
				 "from %" PRIu64 ": %" PRIu64, start, wait);
			RF_CHECK(ask(set, "a", &rule, start + wait - 1).is_spent, "too soon");
			RF_CHECK(!ask(set, "a", &rule, start + wait).is_spent, "too late");
			rf_budget_free(set);
		}
}

RF_TEST(in_no_hour_wherever_it_begins_is_more_admitted_than_its_budget)
{
	enum {
		MOST = 20,
		COUNT = 20000
	};
	struct rf_budget_rule rule = limit(RF_BUDGET_REQUESTS, RF_BUDGET_HOUR, MOST);
	struct rf_budget_set *set = new_set(4);
	uint64_t *admitted = calloc(COUNT, sizeof(*admitted)), now = 12345,
		 random = 88172645463325252;
	size_t count = 0, refused = 0;

	RF_REQUIRE(admitted, "no memory");
	for (int i = 0; i < COUNT; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		now += random % (i / 2000 % 2 ? 20000 : 400000);
		if (ask(set, "a", &rule, now).is_spent) {
			refused++;
			continue;
		}
		spend(set, "a", RF_BUDGET_REQUESTS, 1, now);
		admitted[count++] = now;
		if (count > MOST)
			RF_CHECK(now - admitted[count - 1 - MOST] >= HOUR, "%d more in %" PRIu64,
				 MOST + 1, now - admitted[count - 1 - MOST]);
	}
	RF_CHECK(count > 1000 && refused > 1000, "%zu admitted, %zu refused", count, refused);
	rf_budget_free(set);
	free(admitted);
}

RF_TEST(the_budget_that_recovers_last_says_when)
{
	struct rf_budget_rule rule = limit(RF_BUDGET_RUNS, RF_BUDGET_DAY, 2);
	struct rf_budget_set *set = new_set(4);

	rule.limits[RF_BUDGET_TIMEOUTS][RF_BUDGET_HOUR] = 1;
	spend(set, "a", RF_BUDGET_TIMEOUTS, 1, 0);
	RF_CHECK(ask(set, "a", &rule, 0).what == RF_BUDGET_TIMEOUTS, "the only one");
	spend(set, "a", RF_BUDGET_RUNS, 2, 0);
	RF_CHECK(ask(set, "a", &rule, 0).what == RF_BUDGET_RUNS, "the longer one");
	RF_CHECK(ask(set, "a", &rule, 0).retry_ms >= DAY, "its time");
	RF_CHECK(rf_budget_reset(set, RF_TABLE_AGENT, "a") == 0, "reset");
	RF_CHECK(!ask(set, "a", &rule, 0).is_spent, "after a reset");
	RF_CHECK(rf_budget_reset(set, RF_TABLE_AGENT, "a") == -ENOENT, "again");
	rf_budget_free(set);
}

RF_TEST(sums_do_not_wrap)
{
	struct rf_budget_rule rule = limit(RF_BUDGET_BYTES, RF_BUDGET_DAY, UINT64_MAX - 1);
	struct rf_budget_set *set = new_set(4);

	spend(set, "a", RF_BUDGET_BYTES, UINT64_MAX, 0);
	spend(set, "a", RF_BUDGET_BYTES, UINT64_MAX, HOUR);
	spend(set, "a", RF_BUDGET_BYTES, 5, 2 * HOUR);
	RF_CHECK(ask(set, "a", &rule, 2 * HOUR).is_spent, "wrapped");
	RF_CHECK(ask(set, "a", &rule, UINT64_MAX).is_spent == false, "the end of time");
	spend(set, "a", RF_BUDGET_BYTES, 5, UINT64_MAX);
	RF_CHECK(rf_budget_used(set, RF_TABLE_AGENT, "a", RF_BUDGET_BYTES, RF_BUDGET_DAY,
				UINT64_MAX) == 5,
		 "at the end of time");
	rf_budget_free(set);
}

RF_TEST(names_that_somebody_invents_push_out_no_budget)
{
	struct rf_budget_set *set = new_set(100);
	char name[32];
	int code = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "name-%d", i);
		code = rf_budget_spend(set, RF_TABLE_AGENT, name, RF_BUDGET_RUNS, 1, (uint64_t)i);
		RF_CHECK(code == (i < 100 ? 0 : -ENOSPC), "%s: %d", name, code);
	}
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "name-%d", i);
		RF_CHECK(rf_budget_used(set, RF_TABLE_AGENT, name, RF_BUDGET_RUNS, RF_BUDGET_DAY,
					1000) == 1,
			 "%s", name);
	}
	/* When a day has passed for one of them there is room again. */
	spend(set, "name-0", RF_BUDGET_RUNS, 1, DAY);
	code = rf_budget_spend(set, RF_TABLE_AGENT, "new", RF_BUDGET_RUNS, 1, DAY + 3 * HOUR);
	RF_CHECK(code == 0, "%d", code);
	RF_CHECK(rf_budget_count(set) == 100, "%zu", rf_budget_count(set));
	RF_CHECK(rf_budget_used(set, RF_TABLE_AGENT, "name-0", RF_BUDGET_RUNS, RF_BUDGET_DAY,
				DAY + 3 * HOUR) == 1,
		 "who spent lately was forgotten");
	RF_CHECK(rf_budget_spend(set, RF_TABLE_AGENT, "a b", RF_BUDGET_RUNS, 1, 0) == -EINVAL,
		 "a bad name");
	rf_budget_free(set);
}

RF_TEST(a_successor_goes_on_where_the_old_one_ended)
{
	struct rf_budget_rule rule = limit(RF_BUDGET_RUNS, RF_BUDGET_HOUR, 1);
	struct rf_budget_set *set = new_set(4), *next = new_set(4), *small = new_set(1);
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf buf;
	uint64_t wait;

	spend(set, "a", RF_BUDGET_RUNS, 1, 1000);
	spend(set, "b", RF_BUDGET_CPU_MS, 7, 2000);
	wait = ask(set, "a", &rule, 2000).retry_ms;
	rf_buf_init(&buf, 1 << 20);
	rf_budget_pack(set, BOOT, &buf);
	for (size_t len = 0; len < buf.len; len++) {
		RF_CHECK(rf_budget_unpack(next, BOOT, 2000, buf.data, len, &err) == -EBADMSG &&
				 rf_budget_count(next) == 0,
			 "cut at %zu", len);
	}
	RF_CHECK(rf_budget_unpack(small, BOOT, 2000, buf.data, buf.len, &err) == -EBADMSG,
		 "no room");
	RF_REQUIRE(rf_budget_unpack(next, BOOT, 62000, buf.data, buf.len, &err) == 0, "%s",
		   err.msg);
	RF_CHECK(ask(next, "a", &rule, 62000).retry_ms == wait - 60000, "the same boot");
	RF_CHECK(rf_budget_used(next, RF_TABLE_AGENT, "b", RF_BUDGET_CPU_MS, RF_BUDGET_DAY,
				62000) == 7,
		 "the other one");
	rf_budget_free(next);
	next = new_set(4);
	RF_REQUIRE(rf_budget_unpack(next, "another", 5, buf.data, buf.len, &err) == 0, "%s",
		   err.msg);
	RF_CHECK(ask(next, "a", &rule, 5).retry_ms == wait, "another boot");
	rf_budget_free(set);
	rf_budget_free(next);
	rf_budget_free(small);
}
