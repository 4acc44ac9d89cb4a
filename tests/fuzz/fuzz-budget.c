/*
 * The packed state of budgets, from a file that anybody may have written to.  What is taken can be
 * asked, spent from and handed on, and comes out of that the same.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "watch/budget.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

RF_FUZZ(data, size)
{
	const struct rf_budget_options options = { .cap = 16 };
	struct rf_budget_set *set = rf_budget_new(&options), *next = rf_budget_new(&options);
	struct rf_budget_rule rule = rf_budget_rule_none();
	struct rf_budget_answer answer;
	RF_AUTO_BUF struct rf_buf first = { 0 }, second = { 0 };
	struct rf_err err = RF_ERR_INIT;

	require(set && next);
	rule.limits[RF_BUDGET_RUNS][RF_BUDGET_HOUR] = 1;
	rule.limits[RF_BUDGET_CPU_MS][RF_BUDGET_DAY] = 1;
	if (rf_budget_unpack(set, "boot", 1000, data, size, &err) < 0) {
		require(rf_budget_count(set) == 0 && err.msg[0]);
	} else {
		rf_buf_init(&first, 1 << 22);
		rf_buf_init(&second, 1 << 22);
		rf_budget_pack(set, "boot", &first);
		require(rf_budget_unpack(next, "boot", 1000, first.data, first.len, &err) == 0);
		rf_budget_pack(next, "boot", &second);
		require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
		rf_budget_ask(set, RF_TABLE_AGENT, "a", &rule, 2000, &answer);
		require(!answer.is_spent || answer.retry_ms > 0);
		rf_budget_spend(set, RF_TABLE_AGENT, "a", RF_BUDGET_RUNS, 1, 2000);
		rf_budget_spend(set, RF_TABLE_AGENT, "b", RF_BUDGET_CPU_MS, 1, 1ull << 50);
	}
	rf_budget_free(set);
	rf_budget_free(next);
	return 0;
}
