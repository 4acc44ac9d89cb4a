/*
 * The packed state of breakers, from a file that anybody may have written to.  What is taken is as
 * good as any state: it can be asked, told and handed on, and comes out of that the same.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "watch/breaker.h"

static const struct rf_breaker_rule rule = { 5, 50, 10, 60000, 60000 };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void use(void *arg, const struct rf_breaker_view *view)
{
	char(*names)[RF_TABLE_NAME] = arg;

	require(rf_table_takes(view->name) && view->kind < RF_TABLE_KINDS && view->reason);
	if (view->kind != RF_TABLE_AGENT)
		return;
	for (int i = 0; i < 4; i++)
		if (!names[i][0]) {
			snprintf(names[i], sizeof(names[i]), "%s", view->name);
			break;
		}
}

RF_FUZZ(data, size)
{
	const struct rf_breaker_options options = { .cap = 64 };
	struct rf_breaker_set *set = rf_breaker_new(&options), *next = rf_breaker_new(&options);
	char names[4][RF_TABLE_NAME] = { "" };
	struct rf_breaker_answer answer;
	RF_AUTO_BUF struct rf_buf first = { 0 }, second = { 0 };
	struct rf_err err = RF_ERR_INIT;

	require(set && next);
	if (rf_breaker_unpack(set, "boot", 1000, data, size, &err) < 0) {
		require(rf_breaker_count(set) == 0 && err.msg[0]);
	} else {
		rf_breaker_each(set, 1000, use, names);
		rf_buf_init(&first, 1 << 22);
		rf_buf_init(&second, 1 << 22);
		rf_breaker_pack(set, "boot", &first);
		require(!first.has_failed);
		require(rf_breaker_unpack(next, "boot", 1000, first.data, first.len, &err) == 0);
		rf_breaker_pack(next, "boot", &second);
		require(first.len == second.len);
		for (int i = 0; i < 4 && names[i][0]; i++) {
			rf_breaker_admit(set, RF_TABLE_AGENT, names[i], 1000, &answer);
			require(answer.is_admitted || answer.reason[0]);
			rf_breaker_record(set, RF_TABLE_AGENT, names[i], &rule, answer.ticket,
					  RF_BREAKER_FAILED, 61000);
			rf_breaker_trip(set, RF_TABLE_AGENT, names[i], "by hand", 1, 61000);
			require(rf_breaker_reset(set, RF_TABLE_AGENT, names[i], 62000) == 0);
			rf_breaker_admit(set, RF_TABLE_AGENT, names[i], 62000, &answer);
			require(answer.is_admitted);
		}
	}
	rf_breaker_free(set);
	rf_breaker_free(next);
	return 0;
}
