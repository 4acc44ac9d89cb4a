/* Between the watcher and the gateway of one box: src/audit/account.c, and what traffic.c makes of costs and breakers. */
#include "audit/account.h"

#include <errno.h>
#include <string.h>

#include "audit/traffic.h"
#include "base/fd.h"
#include "harness.h"
#include "policy/net.h"

static struct rf_net_credential credentials[] = {
	{ .name = "k", .budget = RF_LIMIT_NONE, .money = RF_LIMIT_NONE },
	{ .name = "l", .budget = RF_LIMIT_NONE, .money = RF_LIMIT_NONE },
};
static struct rf_net net = { .credentials = credentials, .credential_count = 2 };
static struct rf_plan plan = { .link = RF_LINK_GATEWAY, .net = &net };

static void use(struct rf_account *account, const char *name, enum rf_gate_verdict verdict)
{
	const struct rf_gate_event event = { .kind = RF_GATE_CREDENTIAL,
					     .verdict = verdict,
					     .credential = name };

	rf_account_hear(account, &event);
}

RF_TEST(what_was_told_before_the_question_goes_with_its_answer)
{
	static const char question[] = "books\0"
				       "0\0"
				       "k,l";
	static const char answer[] = "serial 9\ncredential k 5 6 7 8 0\ncredential l 0 0 0 0 0\n"
				     "reset host a.b\n";
	struct rf_account account;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf line, books;

	rf_buf_init(&line, 4096);
	rf_buf_init(&books, RF_BOOKS_TEXT);
	rf_account_init(&account, &plan);
	use(&account, "k", RF_GATE_ALLOWED);
	use(&account, "k", RF_GATE_ALLOWED);
	use(&account, "k", RF_GATE_DENIED);
	use(&account, "m", RF_GATE_ALLOWED);
	rf_account_ask(&account, &line);
	RF_CHECK(line.len == sizeof(question) && memcmp(line.data, question, line.len) == 0, "%.*s",
		 (int)line.len, line.data);
	use(&account, "k", RF_GATE_ALLOWED); /* which the answer can't know */
	RF_REQUIRE(rf_account_answer(&account, answer, &books, &err) == 0, "%s", err.msg);
	RF_CHECK(strstr(books.data, "credential k 5 6 7 8 2\n") &&
			 strstr(books.data, "credential l 0 0 0 0 0\n") &&
			 strstr(books.data, "reset host a.b\n"),
		 "%s", books.data);
	rf_buf_clear(&line);
	rf_account_ask(&account, &line);
	RF_CHECK(strcmp(line.data + 6, "9") == 0, "the next question is for what came after: %s",
		 line.data + 6);
	RF_CHECK(rf_account_answer(&account, "nonsense", &books, &err) == -EBADMSG, "nonsense");
}

RF_TEST(a_tenants_credential_is_never_another_tenants_of_the_same_name)
{
	static const char question[] = "books\0"
				       "0\0"
				       "acme/k,acme/l";
	static const char answer[] =
		"serial 9\ncredential acme/k 5 6 7 8 0\ncredential acme/l 0 0 0 0 0\n"
		"open credential acme/l - by hand\nopen credential acmes/k - by hand\n"
		"open credential other/k - by hand\nopen credential m - by hand\n";
	struct rf_plan own = plan;
	struct rf_account account;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf line, books;

	rf_buf_init(&line, 4096);
	rf_buf_init(&books, RF_BOOKS_TEXT);
	own.origin.tenant = "acme";
	rf_account_init(&account, &own);
	use(&account, "k", RF_GATE_ALLOWED);
	rf_account_ask(&account, &line);
	RF_CHECK(line.len == sizeof(question) && memcmp(line.data, question, line.len) == 0, "%.*s",
		 (int)line.len, line.data);
	RF_REQUIRE(rf_account_answer(&account, answer, &books, &err) == 0, "%s", err.msg);
	RF_CHECK(strstr(books.data, "credential k 5 6 7 8 1\n") &&
			 strstr(books.data, "open credential l ") &&
			 strstr(books.data, "open credential m ") && !strchr(books.data, '/') &&
			 !strstr(books.data, "open credential k"),
		 "%s", books.data);
}

RF_TEST(books_are_needed_for_budgets_that_go_beyond_a_run)
{
	/* clang-format off */
	static const struct { uint64_t budget, ms, money; bool is_needed; } cases[] = {
		{ RF_LIMIT_NONE, 0,        RF_LIMIT_NONE, false },
		{ 10,            1000,     RF_LIMIT_NONE, false },
		{ 10,            3600000,  RF_LIMIT_NONE, true },
		{ 10,            86400000, RF_LIMIT_NONE, true },
		{ RF_LIMIT_NONE, 0,        5,             true },
	};
	/* clang-format on */
	struct rf_account account;

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		credentials[1].budget = cases[i].budget;
		credentials[1].budget_ms = cases[i].ms;
		credentials[1].money = cases[i].money;
		rf_account_init(&account, &plan);
		RF_CHECK(rf_account_is_needed(&account) == cases[i].is_needed, "case %zu", i);
		plan.link = RF_LINK_HOST;
		rf_account_init(&account, &plan);
		RF_CHECK(!rf_account_is_needed(&account), "case %zu: without a gateway", i);
		plan.link = RF_LINK_GATEWAY;
	}
}

static void decode(const struct rf_gate_event *event, struct rf_buf *out,
		   struct rf_audit_event *told)
{
	struct rf_err err = RF_ERR_INIT;

	rf_buf_clear(out);
	RF_REQUIRE(rf_traffic_write(out, "bot", "b1", event, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_audit_event_decode(out->data + 4, out->len - 4, told, &err) == 0, "%s",
		   err.msg);
}

RF_TEST(a_breaker_of_a_gateway_is_told_as_one_and_a_use_with_its_cost)
{
	struct rf_gate_event breaker = { .kind = RF_GATE_BREAKER,
					 .host = "a.b:443",
					 .address = "",
					 .credential = "",
					 .method = "closed",
					 .rule = "open",
					 .reason = "5 failures in a row",
					 .time_ms = 1000,
					 .duration_us = 60000000 };
	struct rf_gate_event paid = { .kind = RF_GATE_CREDENTIAL,
				      .host = "a.b",
				      .address = "",
				      .credential = "k",
				      .reason = "",
				      .cost = 20000 };
	struct rf_audit_event told;
	RF_AUTO_BUF struct rf_buf out;
	char text[64];

	rf_buf_init(&out, 1 << 16);
	decode(&breaker, &out, &told);
	rf_audit_event_copy(&told, RF_AUDIT_BREAKER, text, sizeof(text));
	RF_CHECK(told.kind == RF_AUDIT_BREAKER_CHANGE && strcmp(text, "host a.b:443") == 0 &&
			 rf_audit_event_get(&told, RF_AUDIT_UNTIL_MS) == 61000,
		 "%s", text);
	breaker.credential = "k";
	decode(&breaker, &out, &told);
	rf_audit_event_copy(&told, RF_AUDIT_BREAKER, text, sizeof(text));
	RF_CHECK(strcmp(text, "credential k") == 0, "%s", text);
	decode(&paid, &out, &told);
	RF_CHECK(told.kind == RF_AUDIT_CREDENTIAL_USE &&
			 rf_audit_event_get(&told, RF_AUDIT_SPENT) == 20000,
		 "a use");
}
