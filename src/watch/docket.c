/* Whether an agent may begin a run: see docket.h. */
#include "watch/docket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "wire/books.h"

#define RESETS 32 /* that are remembered: a gateway asks every few seconds */

/* Something of a gateway's that somebody reset. */
struct reset {
	uint64_t serial;
	bool is_credential;
	char name[RF_TABLE_NAME];
};

struct rf_docket {
	struct rf_breaker_set *breakers;
	struct rf_budget_set *budgets;
	struct rf_metrics *metrics;
	struct reset resets[RESETS];
	uint64_t
		serial; /* of the last; goes on from one watcher to the next, because it follows the clock */
};

struct rf_docket *rf_docket_new(struct rf_breaker_set *breakers, struct rf_budget_set *budgets,
				struct rf_metrics *metrics)
{
	struct rf_docket *docket = calloc(1, sizeof(*docket));

	if (docket)
		*docket = (struct rf_docket){
			.breakers = breakers, .budgets = budgets, .metrics = metrics, .serial = 1
		};
	return docket;
}

void rf_docket_free(struct rf_docket *docket)
{
	free(docket);
}

/* ------------------------------------------------------------- rules */

/* A figure of a policy, where 0 says that there is none. */
static uint32_t figure(uint64_t quota)
{
	return quota == RF_LIMIT_NONE || quota > UINT32_MAX ? 0 : (uint32_t)quota;
}

static struct rf_breaker_rule breaker_rule(const struct rf_quotas *quotas)
{
	return (struct rf_breaker_rule){
		.failures = figure(quotas->figures[RF_QUOTA_FAILURES]),
		.rate_percent = figure(quotas->figures[RF_QUOTA_RATE]),
		.of = figure(quotas->figures[RF_QUOTA_OF]),
		.within_ms = quotas->figures[RF_QUOTA_WITHIN],
		.open_ms = quotas->figures[RF_QUOTA_OPEN], /* RF_LIMIT_NONE is RF_CLOCK_NEVER */
	};
}
_Static_assert(RF_LIMIT_NONE == RF_CLOCK_NEVER && RF_LIMIT_NONE == RF_BUDGET_NONE,
	       "no limit is the same number everywhere");

/* In the order of the quotas, each by the hour and by the day. */
static const enum rf_budget budgeted[] = {
	RF_BUDGET_RUNS,     RF_BUDGET_CPU_MS, RF_BUDGET_DENIALS, RF_BUDGET_TIMEOUTS,
	RF_BUDGET_REQUESTS, RF_BUDGET_BYTES,  RF_BUDGET_MONEY,
};
_Static_assert(RF_LEN(budgeted) * RF_BUDGET_PERIODS == RF_QUOTA_COUNT - RF_QUOTA_BUDGETS,
	       "a budget for every two quotas");

static struct rf_budget_rule budget_rule(const struct rf_quotas *quotas)
{
	struct rf_budget_rule out = rf_budget_rule_none();

	for (size_t i = 0; i < RF_LEN(budgeted); i++)
		for (size_t j = 0; j < RF_BUDGET_PERIODS; j++)
			out.limits[budgeted[i]][j] =
				quotas->figures[RF_QUOTA_BUDGETS + i * RF_BUDGET_PERIODS + j];
	return out;
}

/* ------------------------------------------------------------- runs */

static void refuse(struct rf_breaker_answer *answer, const char *reason, uint64_t retry_ms)
{
	*answer = (struct rf_breaker_answer){ .retry_ms = retry_ms };
	snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
}

void rf_docket_ask(struct rf_docket *docket, const char *agent, const struct rf_quotas *quotas,
		   uint64_t mono_ms, struct rf_breaker_answer *ret_answer,
		   struct rf_budget_answer *ret_spent)
{
	const struct rf_budget_rule budgets = budget_rule(quotas);

	*ret_spent = (struct rf_budget_answer){ 0 };
	rf_breaker_admit(docket->breakers, RF_TABLE_AGENT, agent, mono_ms, ret_answer);
	if (ret_answer->is_admitted)
		rf_budget_ask(docket->budgets, RF_TABLE_AGENT, agent, &budgets, mono_ms, ret_spent);
	if (ret_spent->is_spent) {
		rf_breaker_trip(docket->breakers, RF_TABLE_AGENT, agent, ret_spent->reason,
				ret_spent->retry_ms, mono_ms);
		refuse(ret_answer, ret_spent->reason, ret_spent->retry_ms);
	} else if (ret_answer->is_admitted &&
		   rf_budget_spend(docket->budgets, RF_TABLE_AGENT, agent, RF_BUDGET_RUNS, 1,
				   mono_ms) < 0) {
		rf_breaker_record(docket->breakers, RF_TABLE_AGENT, agent,
				  &(struct rf_breaker_rule){ 0 }, ret_answer->ticket,
				  RF_BREAKER_UNKNOWN, mono_ms);
		refuse(ret_answer, "there is no room to count what another agent spends", 60000);
	}
	if (!ret_answer->is_admitted)
		rf_metrics_add(docket->metrics, RF_METRIC_REFUSED, "agent", NULL, 1);
}

static enum rf_breaker_outcome judge(enum rf_docket_end end, bool counts_failures)
{
	switch (end) {
	case RF_DOCKET_WELL:
		return RF_BREAKER_WELL;
	case RF_DOCKET_FAILED:
		return counts_failures ? RF_BREAKER_FAILED : RF_BREAKER_WELL;
	case RF_DOCKET_TIMEOUT:
	case RF_DOCKET_LIMIT:
	case RF_DOCKET_DENIED:
		return RF_BREAKER_FAILED;
	case RF_DOCKET_UNKNOWN:
		break;
	}
	return RF_BREAKER_UNKNOWN;
}

void rf_docket_tell(struct rf_docket *docket, const char *agent, const struct rf_quotas *quotas,
		    uint64_t ticket, const struct rf_docket_outcome *outcome, uint64_t mono_ms)
{
	const struct rf_breaker_rule breaker = breaker_rule(quotas);
	const struct {
		enum rf_budget budget;
		uint64_t amount;
	} costs[] = {
		{ RF_BUDGET_CPU_MS, outcome->cpu_ms },
		{ RF_BUDGET_DENIALS, outcome->denials },
		{ RF_BUDGET_TIMEOUTS, outcome->end == RF_DOCKET_TIMEOUT },
	};

	for (size_t i = 0; i < RF_LEN(costs); i++)
		if (costs[i].amount > 0)
			rf_budget_spend(docket->budgets, RF_TABLE_AGENT, agent, costs[i].budget,
					costs[i].amount, mono_ms);
	rf_breaker_record(docket->breakers, RF_TABLE_AGENT, agent, &breaker, ticket,
			  judge(outcome->end, quotas->counts_failures), mono_ms);
}

void rf_docket_traffic(struct rf_docket *docket, const char *agent, uint64_t requests,
		       uint64_t bytes, uint64_t mono_ms)
{
	if (requests > 0)
		rf_budget_spend(docket->budgets, RF_TABLE_AGENT, agent, RF_BUDGET_REQUESTS,
				requests, mono_ms);
	if (bytes > 0)
		rf_budget_spend(docket->budgets, RF_TABLE_AGENT, agent, RF_BUDGET_BYTES, bytes,
				mono_ms);
}

void rf_docket_use(struct rf_docket *docket, const char *credential, const char *agent,
		   uint64_t cost, uint64_t mono_ms)
{
	if (rf_table_takes(credential)) {
		rf_budget_spend(docket->budgets, RF_TABLE_CREDENTIAL, credential,
				RF_BUDGET_REQUESTS, 1, mono_ms);
		if (cost > 0)
			rf_budget_spend(docket->budgets, RF_TABLE_CREDENTIAL, credential,
					RF_BUDGET_MONEY, cost, mono_ms);
	}
	if (cost > 0 && rf_table_takes(agent))
		rf_budget_spend(docket->budgets, RF_TABLE_AGENT, agent, RF_BUDGET_MONEY, cost,
				mono_ms);
}

/* ------------------------------------------------------------- what gateways are told */

static void remember_reset(struct rf_docket *docket, enum rf_table_kind kind, const char *name,
			   uint64_t wall_ms)
{
	struct reset *reset;

	docket->serial = docket->serial < wall_ms ? wall_ms : docket->serial + 1;
	memmove(docket->resets + 1, docket->resets, (RESETS - 1) * sizeof(*reset));
	reset = &docket->resets[0];
	*reset = (struct reset){ .serial = docket->serial,
				 .is_credential = kind == RF_TABLE_CREDENTIAL };
	snprintf(reset->name, sizeof(reset->name), "%s", name);
}

int rf_docket_reset(struct rf_docket *docket, enum rf_table_kind kind, const char *name,
		    bool is_known, const struct rf_docket_now *now)
{
	int breaker = rf_breaker_reset(docket->breakers, kind, name, now->mono_ms);
	int budget = rf_budget_reset(docket->budgets, kind, name);

	if (breaker < 0 && budget < 0 && !is_known)
		return -ENOENT;
	if (kind == RF_TABLE_HOST || kind == RF_TABLE_CREDENTIAL)
		remember_reset(docket, kind, name, now->wall_ms);
	return 0;
}

/* Only what somebody opened by hand is there: of what fails by itself each box has its own. */
static void list_open(void *arg, const struct rf_breaker_view *view)
{
	struct rf_books *books = arg;
	struct rf_books_order *order = &books->orders[books->order_count];

	if ((view->kind != RF_TABLE_HOST && view->kind != RF_TABLE_CREDENTIAL) ||
	    view->state != RF_BREAKER_OPEN || view->retry_ms == 0 ||
	    books->order_count == RF_BOOKS_ORDERS - RESETS)
		return;
	order->is_credential = view->kind == RF_TABLE_CREDENTIAL;
	order->ms = view->retry_ms == RF_CLOCK_NEVER ? RF_BOOKS_NEVER : view->retry_ms;
	snprintf(order->name, sizeof(order->name), "%s", view->name);
	snprintf(order->reason, sizeof(order->reason), "%s",
		 view->reason[0] ? view->reason : "by hand");
	books->order_count++;
}

static void list_resets(const struct rf_docket *docket, uint64_t serial, struct rf_books *books)
{
	for (size_t i = RESETS; i-- > 0 && serial > 0;) { /* the oldest first */
		const struct reset *reset = &docket->resets[i];
		struct rf_books_order *order = &books->orders[books->order_count];

		if (reset->serial <= serial)
			continue;
		order->is_reset = true;
		order->is_credential = reset->is_credential;
		snprintf(order->name, sizeof(order->name), "%s", reset->name);
		books->order_count++;
	}
}

static int list_sums(struct rf_docket *docket, const char *names, uint64_t mono_ms,
		     struct rf_books *books)
{
	static const enum rf_budget_period periods[RF_BOOKS_PERIODS] = {
		[RF_BOOKS_HOUR] = RF_BUDGET_HOUR, [RF_BOOKS_DAY] = RF_BUDGET_DAY
	};

	while (*names) {
		size_t len = strcspn(names, ",");
		struct rf_books_sum *sum = &books->sums[books->sum_count];

		if (books->sum_count == RF_BOOKS_SUMS || len >= sizeof(sum->name))
			return -EINVAL;
		memcpy(sum->name, names, len);
		if (!rf_table_takes(sum->name))
			return -EINVAL;
		for (int i = 0; i < RF_BOOKS_PERIODS; i++) {
			sum->uses[i] =
				rf_budget_used(docket->budgets, RF_TABLE_CREDENTIAL, sum->name,
					       RF_BUDGET_REQUESTS, periods[i], mono_ms);
			sum->money[i] =
				rf_budget_used(docket->budgets, RF_TABLE_CREDENTIAL, sum->name,
					       RF_BUDGET_MONEY, periods[i], mono_ms);
		}
		books->sum_count++;
		names += len + (names[len] == ',');
	}
	return 0;
}

int rf_docket_books(struct rf_docket *docket, uint64_t serial, const char *credentials,
		    uint64_t mono_ms, struct rf_buf *out, struct rf_err *err)
{
	struct rf_books *books = calloc(1, sizeof(*books));
	int code = 0;

	if (!books)
		return rf_fail(err, -ENOMEM, "the books");
	books->serial = docket->serial;
	if (list_sums(docket, credentials, mono_ms, books) < 0) {
		code = rf_fail_say(err, -EINVAL, "\"%.60s\" are no names of credentials",
				   credentials);
	} else {
		rf_breaker_each(docket->breakers, mono_ms, list_open, books);
		list_resets(docket, serial, books);
		rf_books_write(books, out);
	}
	free(books);
	return code;
}

enum rf_docket_end rf_docket_end_of(const char *verdict)
{
	/* clang-format off */
	static const struct { const char *verdict; enum rf_docket_end end; } ends[] = {
		{ "ok",      RF_DOCKET_WELL },    { "failed",  RF_DOCKET_FAILED },
		{ "timeout", RF_DOCKET_TIMEOUT }, { "cpu",     RF_DOCKET_LIMIT },
		{ "memory",  RF_DOCKET_LIMIT },   { "pids",    RF_DOCKET_LIMIT },
		{ "disk",    RF_DOCKET_LIMIT },   { "output",  RF_DOCKET_LIMIT },
		{ "denied",  RF_DOCKET_DENIED },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(ends); i++)
		if (strcmp(ends[i].verdict, verdict) == 0)
			return ends[i].end;
	return RF_DOCKET_UNKNOWN;
}

/* ------------------------------------------------------------- figures */

static void count_one(void *arg, const struct rf_breaker_view *view)
{
	rf_metrics_add(arg, RF_METRIC_BREAKERS, rf_table_kind_name(view->kind),
		       rf_breaker_state_name(view->state), 1);
}

void rf_docket_measure(struct rf_docket *docket, uint64_t mono_ms)
{
	rf_metrics_clear(docket->metrics, RF_METRIC_BREAKERS);
	rf_breaker_each(docket->breakers, mono_ms, count_one, docket->metrics);
	rf_metrics_set(docket->metrics, RF_METRIC_BREAKER_LOST, NULL, NULL,
		       rf_breaker_lost(docket->breakers));
	rf_metrics_set(docket->metrics, RF_METRIC_BUDGET_OWNERS, NULL, NULL,
		       rf_budget_count(docket->budgets));
}
