/* Whether an agent may begin a run: src/watch/docket.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "watch/docket.h"
#include "wire/books.h"

#define HOUR UINT64_C(3600000)

static struct rf_breaker_set *breakers;
static struct rf_budget_set *budgets;
static struct rf_metrics *metrics;
static struct rf_docket *docket;
static struct rf_quotas quotas;

static void begin(void)
{
	breakers = rf_breaker_new(&(struct rf_breaker_options){ .cap = 16 });
	budgets = rf_budget_new(&(struct rf_budget_options){ .cap = 2 });
	metrics = rf_metrics_new();
	RF_REQUIRE(breakers && budgets && metrics, "no memory");
	docket = rf_docket_new(breakers, budgets, metrics);
	RF_REQUIRE(docket, "no memory");
	for (int i = 0; i < RF_QUOTA_COUNT; i++)
		quotas.figures[i] = i < RF_QUOTA_BUDGETS ? 0 : RF_LIMIT_NONE;
	quotas.figures[RF_QUOTA_FAILURES] = 5;
	quotas.figures[RF_QUOTA_RATE] = 50;
	quotas.figures[RF_QUOTA_OF] = 10;
	quotas.figures[RF_QUOTA_WITHIN] = 60000;
	quotas.figures[RF_QUOTA_OPEN] = 60000;
}

static void end(void)
{
	rf_docket_free(docket);
	rf_metrics_free(metrics);
	rf_budget_free(budgets);
	rf_breaker_free(breakers);
}

static struct rf_breaker_answer ask(const char *agent, uint64_t now)
{
	struct rf_breaker_answer answer;
	struct rf_budget_answer spent;

	rf_docket_ask(docket, agent, &quotas, now, &answer, &spent);
	return answer;
}

static void tell(const char *agent, uint64_t ticket, const char *verdict, uint64_t cpu_ms,
		 uint64_t denials, uint64_t now)
{
	const struct rf_docket_outcome outcome = { rf_docket_end_of(verdict), cpu_ms, denials };

	rf_docket_tell(docket, agent, &quotas, ticket, &outcome, now);
}

RF_TEST(what_a_failure_is_depends_on_the_rule)
{
	/* clang-format off */
	static const struct { const char *verdict; bool opens, opens_strictly; } cases[] = {
		{ "ok", false, false },    { "failed", false, true }, { "timeout", true, true },
		{ "cpu", true, true },     { "memory", true, true },  { "pids", true, true },
		{ "disk", true, true },    { "output", true, true },  { "denied", true, true },
		{ "killed", false, false }, { "error", false, false }, { "?", false, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		for (int strictly = 0; strictly < 2; strictly++) {
			begin();
			quotas.counts_failures = strictly;
			for (int run = 0; run < 5; run++)
				tell("a", ask("a", 0).ticket, cases[i].verdict, 0, 0, 0);
			RF_CHECK(ask("a", 0).is_admitted ==
					 !(strictly ? cases[i].opens_strictly : cases[i].opens),
				 "%s, %d", cases[i].verdict, strictly);
			end();
		}
}

RF_TEST(a_budget_that_is_spent_opens_the_breaker_until_it_is_not)
{
	/* clang-format off */
	static const struct { enum rf_quota quota; const char *verdict; uint64_t cpu_ms, denials; } cases[] = {
		{ RF_QUOTA_RUNS_HOUR,     "ok",      0,   0 },
		{ RF_QUOTA_CPU_HOUR,      "ok",      1,   0 },
		{ RF_QUOTA_DENIALS_HOUR,  "ok",      0,   1 },
		{ RF_QUOTA_TIMEOUTS_HOUR, "timeout", 0,   0 },
		{ RF_QUOTA_RUNS_DAY,      "ok",      0,   0 },
		{ RF_QUOTA_CPU_DAY,       "ok",      1,   0 },
		{ RF_QUOTA_DENIALS_DAY,   "ok",      0,   1 },
		{ RF_QUOTA_TIMEOUTS_DAY,  "timeout", 0,   0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_breaker_answer answer;
		struct rf_breaker_view view;
		uint64_t now = 1000;

		begin();
		quotas.figures[cases[i].quota] = 3;
		for (int run = 0; run < 3; run++) {
			answer = ask("a", now);
			RF_CHECK(answer.is_admitted, "case %zu, run %d: %s", i, run, answer.reason);
			tell("a", answer.ticket, cases[i].verdict, cases[i].cpu_ms,
			     cases[i].denials, now);
		}
		answer = ask("a", now);
		RF_CHECK(!answer.is_admitted && strstr(answer.reason, "the budget is spent"),
			 "case %zu: %s", i, answer.reason);
		RF_CHECK(rf_breaker_look(breakers, RF_TABLE_AGENT, "a", now, &view) &&
				 view.state == RF_BREAKER_OPEN && view.retry_ms == answer.retry_ms,
			 "case %zu", i);
		RF_CHECK(ask("b", now).is_admitted, "another agent");
		RF_CHECK(!ask("a", now + answer.retry_ms - 1).is_admitted, "case %zu: too soon", i);
		RF_CHECK(ask("a", now + answer.retry_ms).is_admitted, "case %zu: too late", i);
		end();
	}
}

RF_TEST(what_is_sent_while_a_run_goes_on_is_spent)
{
	static const enum rf_quota cases[] = { RF_QUOTA_REQUESTS_HOUR, RF_QUOTA_REQUESTS_DAY,
					       RF_QUOTA_BYTES_HOUR, RF_QUOTA_BYTES_DAY };

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		bool is_bytes = cases[i] >= RF_QUOTA_BYTES_HOUR;

		begin();
		quotas.figures[cases[i]] = 3;
		rf_docket_traffic(docket, "a", !is_bytes * 2, is_bytes * 2, 0);
		RF_CHECK(ask("a", 0).is_admitted, "case %zu: two of three", i);
		rf_docket_traffic(docket, "a", !is_bytes, is_bytes, 0);
		RF_CHECK(!ask("a", 0).is_admitted, "case %zu: all of it", i);
		RF_CHECK(ask("b", 0).is_admitted, "another agent");
		end();
	}
}

RF_TEST(what_a_credential_costs_is_its_own_and_its_agents)
{
	static const enum rf_quota cases[] = { RF_QUOTA_MONEY_HOUR, RF_QUOTA_MONEY_DAY };

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		begin();
		quotas.figures[cases[i]] = 500000;
		rf_docket_use(docket, "k", "a", 250000, 0);
		RF_CHECK(ask("a", 0).is_admitted, "case %zu: half of it", i);
		rf_docket_use(docket, "k", "a", 250000, 0);
		RF_CHECK(!ask("a", 0).is_admitted, "case %zu: all of it", i);
		RF_CHECK(strstr(ask("a", 0).reason, "0.5 of 0.5 of money"), "case %zu: %s", i,
			 ask("a", 0).reason);
		end();
	}
}

static const char *books(uint64_t serial, const char *credentials, uint64_t now)
{
	static char text[RF_BOOKS_TEXT];
	RF_AUTO_BUF struct rf_buf out;
	struct rf_err err = RF_ERR_INIT;

	rf_buf_init(&out, sizeof(text) - 1);
	if (rf_docket_books(docket, serial, credentials, now, &out, &err) < 0)
		return "";
	snprintf(text, sizeof(text), "%s", out.data);
	return text;
}

RF_TEST(gateways_are_told_what_is_spent_and_what_is_opened_by_hand)
{
	const struct rf_docket_now now = { 0, 1000 };

	begin();
	RF_CHECK(strcmp(books(0, "", 0), "serial 1\n") == 0, "nothing yet: %s", books(0, "", 0));
	rf_docket_use(docket, "k", "", 5, 0);
	rf_docket_use(docket, "k", "", 0, 2 * HOUR);
	RF_CHECK(strcmp(books(0, "k,other", 2 * HOUR),
			"serial 1\ncredential k 1 2 0 5 0\ncredential other 0 0 0 0 0\n") == 0,
		 "%s", books(0, "k,other", 2 * HOUR));
	rf_breaker_trip(breakers, RF_TABLE_HOST, "a.b", "by hand: odd", 60000, 2 * HOUR);
	rf_breaker_trip(breakers, RF_TABLE_CREDENTIAL, "k", "by hand", RF_CLOCK_NEVER, 2 * HOUR);
	rf_breaker_trip(breakers, RF_TABLE_AGENT, "a", "by hand", RF_CLOCK_NEVER, 2 * HOUR);
	RF_CHECK(strstr(books(0, "", 2 * HOUR), "open host a.b 60000 by hand: odd\n") &&
			 strstr(books(0, "", 2 * HOUR), "open credential k - by hand\n") &&
			 !strstr(books(0, "", 2 * HOUR), "agent"),
		 "%s", books(0, "", 2 * HOUR));
	RF_CHECK(!strstr(books(0, "", 2 * HOUR + 60000), "host a.b"), "its time is over");
	RF_CHECK(rf_docket_reset(docket, RF_TABLE_HOST, "x.y", false, &now) == -ENOENT, "unknown");
	RF_CHECK(rf_docket_reset(docket, RF_TABLE_HOST, "x.y", true, &now) == 0, "a gateway's");
	RF_CHECK(strstr(books(1, "", 3 * HOUR), "serial 1000\n") &&
			 strstr(books(1, "", 3 * HOUR), "reset host x.y\n"),
		 "%s", books(1, "", 3 * HOUR));
	RF_CHECK(!strstr(books(1000, "", 3 * HOUR), "reset"), "known already");
	RF_CHECK(!strstr(books(0, "", 3 * HOUR), "reset"), "one that begins has nothing to forget");
	RF_CHECK(rf_docket_reset(docket, RF_TABLE_CREDENTIAL, "k", false, &now) == 0, "reset");
	RF_CHECK(strstr(books(1000, "k", 3 * HOUR), "credential k 0 0 0 0 0\n") &&
			 strstr(books(1000, "k", 3 * HOUR), "reset credential k\n"),
		 "%s", books(1000, "k", 3 * HOUR));
	RF_CHECK(books(0, "a,,b", 0)[0] == '\0' && books(0, "a b", 0)[0] == '\0', "no names");
	end();
}

RF_TEST(a_reset_forgets_what_was_spent)
{
	const struct rf_docket_now now = { 0, 1 };

	begin();
	quotas.figures[RF_QUOTA_RUNS_DAY] = 1;
	RF_CHECK(ask("a", 0).is_admitted && !ask("a", 0).is_admitted, "one a day");
	RF_CHECK(rf_docket_reset(docket, RF_TABLE_AGENT, "a", false, &now) == 0, "reset");
	RF_CHECK(ask("a", 0).is_admitted, "after a reset");
	RF_CHECK(rf_docket_reset(docket, RF_TABLE_AGENT, "nobody", false, &now) == -ENOENT,
		 "nobody");
	end();
}

RF_TEST(who_can_not_be_counted_is_not_admitted)
{
	begin();
	RF_CHECK(ask("a", 0).is_admitted && ask("b", 0).is_admitted, "two");
	RF_CHECK(!ask("c", 0).is_admitted, "a third, for whom there is no room");
	RF_CHECK(rf_metrics_get(metrics, RF_METRIC_REFUSED, "agent", NULL) == 1, "not counted");
	end();
}

RF_TEST(the_figures_tell_of_every_breaker)
{
	begin();
	for (int run = 0; run < 5; run++)
		tell("a", ask("a", 0).ticket, "timeout", 0, 0, 0);
	ask("b", 0);
	rf_docket_measure(docket, 0);
	rf_docket_measure(docket, 0);
	RF_CHECK(rf_metrics_get(metrics, RF_METRIC_BREAKERS, "agent", "open") == 1, "open");
	RF_CHECK(rf_metrics_get(metrics, RF_METRIC_BREAKERS, "agent", "closed") == 1, "closed");
	RF_CHECK(rf_metrics_get(metrics, RF_METRIC_BUDGET_OWNERS, NULL, NULL) == 2, "owners");
	end();
}
