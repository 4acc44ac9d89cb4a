/* What a request orders: src/server/order.c and form.c.  tests/integration/test_server.py has the wrong ones. */
#include "server/order.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

static const char *find(const struct rf_lang *lang)
{
	return strcmp(lang->name, "ruby") == 0 ? NULL : lang->programs[0];
}

static const struct rf_order_tools tools = { find };

static int read_one(enum rf_order_kind kind, const char *text, struct rf_order *order,
		    struct rf_api_error *error)
{
	*order = (struct rf_order){ 0 };
	return rf_order_read(kind, text, strlen(text), true, &tools, order, error);
}

RF_TEST(a_policy_is_put_together_from_what_was_said)
{
	/* clang-format off */
	static const struct { enum rf_order_kind kind; const char *text, *policy; } cases[] = {
		{ RF_ORDER_RUN, "{\"argv\":[\"a\"]}", "{\"limits\": {\"output\": \"1M\"}}" },
		{ RF_ORDER_RUN, "{\"argv\":[\"a\"],\"timeout\":5,\"profile\":\"python\"}",
		  "{\"extends\": [\"python\"], \"limits\": {\"time\": \"5s\", \"cpu_time\": \"5s\", \"output\": \"1M\"}}" },
		{ RF_ORDER_RUN, "{\"argv\":[\"a\"],\"policy\":{\"hostname\":\"h\",\"limits\":{\"pids\":7,\"memory\":\"1G\"}},\"limits\":{\"memory\":\"2G\",\"output\":\"2M\"}}",
		  "{\"hostname\": \"h\", \"limits\": {\"pids\": 7, \"memory\": \"2G\", \"output\": \"2M\"}}" },
		{ RF_ORDER_SANDBOX, "{}", "{\"limits\": {\"time\": \"300s\", \"cpu_time\": \"300s\"}}" },
		{ RF_ORDER_SANDBOX, "{\"policy\":{\"limits\":{\"time\":\"1h\"}},\"limits\":{\"cpu_time\":\"9s\"}}",
		  "{\"limits\": {\"time\": \"1h\", \"cpu_time\": \"9s\"}}" },
		/* What is for an agent has the agent's time, which is always said. */
		{ RF_ORDER_SANDBOX, "{\"agent\":\"bot\"}", "{\"agent\": \"bot\", \"limits\": {}}" },
		{ RF_ORDER_SANDBOX, "{\"agent\":\"bot\",\"policy\":{\"agent\":\"bot\"},\"timeout\":9}",
		  "{\"agent\": \"bot\", \"limits\": {\"time\": \"9s\", \"cpu_time\": \"9s\"}}" },
		{ RF_ORDER_AGENT, "{\"name\":\"bot\"}", "{\"agent\": \"bot\", \"limits\": {\"time\": \"300s\", \"cpu_time\": \"300s\"}}" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_api_error error;
		struct rf_order order;

		RF_REQUIRE(read_one(cases[i].kind, cases[i].text, &order, &error) == 0,
			   "case %zu: %s", i, error.message);
		RF_CHECK(strcmp(order.policy, cases[i].policy) == 0, "case %zu: %s", i,
			 order.policy);
		rf_order_done(&order);
	}
}

RF_TEST(what_is_named_is_told_from_what_is_filled_in)
{
	/* clang-format off */
	static const struct { enum rf_order_kind kind; const char *text, *named; bool names_policy, drops; } cases[] = {
		{ RF_ORDER_RUN, "{\"argv\":[\"a\"]}", "{\"limits\": {}}", false, false },
		{ RF_ORDER_RUN, "{\"argv\":[\"a\"],\"profile\":\"python\",\"beyond\":\"drop\"}", "{\"limits\": {}}", false, true },
		{ RF_ORDER_RUN, "{\"argv\":[\"a\"],\"outputs\":[\"b\"],\"timeout\":5,\"beyond\":\"refuse\"}", "{\"limits\": {\"time\": \"5s\"}}", true, false },
		{ RF_ORDER_RUN, "{\"argv\":[\"a\"],\"policy\":{\"limits\":{\"pids\":7,\"memory\":\"1G\"}},\"limits\":{\"memory\":\"2G\"}}",
		  "{\"limits\": {\"pids\": 7, \"memory\": \"2G\"}}", true, false },
		{ RF_ORDER_SANDBOX, "{}", "{\"limits\": {}}", false, false },
		{ RF_ORDER_SANDBOX, "{\"agent\":\"bot\",\"timeout\":9}", "{\"limits\": {\"time\": \"9s\"}}", true, false },
		{ RF_ORDER_AGENT, "{\"name\":\"bot\",\"policy\":{\"weaker\":\"allow\"}}", "{\"weaker\": \"allow\", \"limits\": {}}", true, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_api_error error;
		struct rf_order order;

		RF_REQUIRE(read_one(cases[i].kind, cases[i].text, &order, &error) == 0,
			   "case %zu: %s", i, error.message);
		RF_CHECK(strcmp(order.named, cases[i].named) == 0 &&
				 order.names_policy == cases[i].names_policy &&
				 order.drops_beyond == cases[i].drops,
			 "case %zu: %s", i, order.named);
		rf_order_done(&order);
	}
}

RF_TEST(code_becomes_a_file_and_words)
{
	struct rf_api_error error;
	struct rf_order order;

	RF_REQUIRE(read_one(RF_ORDER_RUN, "{\"language\":\"py\",\"code\":\"x\"}", &order, &error) ==
			   0,
		   "%s", error.message);
	RF_CHECK(strcmp(order.argv[0], "python3") == 0 &&
			 strcmp(order.argv[1], "/code/main.py") == 0 && !order.argv[2],
		 "%s", order.argv[1]);
	RF_CHECK(order.extra_count == 1 && strcmp(order.extras[0].source, "x") == 0, "the file");
	rf_order_done(&order);
	RF_REQUIRE(read_one(RF_ORDER_RUN, "{\"language\":\"deno\",\"code\":\"x\"}", &order,
			    &error) == 0,
		   "%s", error.message);
	RF_CHECK(strcmp(order.argv[0], "deno") == 0 && strcmp(order.argv[1], "run") == 0,
		 "its words");
	rf_order_done(&order);
	RF_REQUIRE(read_one(RF_ORDER_RUN, "{\"language\":\"c\",\"code\":\"x\"}", &order, &error) ==
			   0,
		   "%s", error.message);
	RF_CHECK(strcmp(order.argv[0], "/bin/sh") == 0 && strstr(order.argv[2], "$out/main") &&
			 strcmp(order.argv[5], "/code/main.c") == 0,
		 "it is built first");
	rf_order_done(&order);
	RF_CHECK(read_one(RF_ORDER_RUN, "{\"language\":\"ruby\",\"code\":\"x\"}", &order, &error) <
				 0 &&
			 error.code == RF_API_UNSUPPORTED,
		 "a language that is not here");
}

RF_TEST(each_kind_has_its_own_fields)
{
	/* clang-format off */
	static const struct { enum rf_order_kind kind; const char *text; bool is_good; } cases[] = {
		{ RF_ORDER_EXEC,    "{\"command\":\"x\",\"background\":true}",     true },
		{ RF_ORDER_EXEC,    "{\"command\":\"x\",\"policy\":{}}",           false },
		{ RF_ORDER_EXEC,    "{\"command\":\"x\",\"terminal\":{}}",          false },
		{ RF_ORDER_SESSION, "{\"command\":\"x\",\"terminal\":{}}",          true },
		{ RF_ORDER_SESSION, "{\"command\":\"x\",\"background\":true}",     false },
		{ RF_ORDER_SESSION, "{\"command\":\"x\",\"terminal\":{\"rows\":4097}}", false },
		{ RF_ORDER_WORD,    "{\"data\":\"x\",\"signal\":\"INT\"}",         true },
		{ RF_ORDER_WORD,    "{\"terminal\":{\"columns\":1}}",              true },
		{ RF_ORDER_WORD,    "{\"signal\":\"BUS\"}",                       false },
		{ RF_ORDER_WORD,    "{}",                                         false },
		{ RF_ORDER_EXEC,    "{\"code\":\"x\",\"language\":\"python\"}",    true },
		{ RF_ORDER_EXEC,    "{\"code\":\"x\",\"language\":\"python\",\"stdin\":\"y\"}", false },
		{ RF_ORDER_EXEC,    "{\"code\":\"x\",\"language\":\"python\",\"background\":true}", false },
		{ RF_ORDER_RUN,     "{\"command\":\"x\",\"background\":true}",     false },
		{ RF_ORDER_RUN,     "{\"command\":\"x\",\"labels\":{}}",           false },
		{ RF_ORDER_SANDBOX, "{\"labels\":{\"a\":\"b\"}}",                  true },
		{ RF_ORDER_SANDBOX, "{\"agent\":\"a.b\"}",                        false },
		{ RF_ORDER_SANDBOX, "{\"agent\":\"a\",\"policy\":{\"agent\":\"b\"}}", false },
		{ RF_ORDER_AGENT,   "{\"name\":\"a\",\"description\":\"x\"}",     true },
		{ RF_ORDER_AGENT,   "{\"name\":\"a\",\"description\":\"x\\n\"}",  false },
		{ RF_ORDER_AGENT,   "{\"name\":\"a\",\"workspace\":{}}",          false },
		{ RF_ORDER_AGENT,   "{\"name\":\"a\",\"argv\":[\"x\"]}",          false },
		{ RF_ORDER_APPLY,   "{}",                                           true },
		{ RF_ORDER_APPLY,   "{\"dry_run\":true,\"conflicts\":\"fork\"}",    true },
		{ RF_ORDER_APPLY,   "{\"conflicts\":\"mine\"}",                    false },
		{ RF_ORDER_SANDBOX, "{\"labels\":{\"a\":1}}",                      false },
		{ RF_ORDER_SANDBOX, "{\"labels\":{\"\":\"b\"}}",                   false },
		{ RF_ORDER_SANDBOX, "{\"argv\":[\"x\"]}",                          false },
		{ RF_ORDER_RENEW,   "{\"timeout\":5}",                             true },
		{ RF_ORDER_RENEW,   "{\"timeout\":5.0}",                           true },
		{ RF_ORDER_RENEW,   "{\"timeout\":5.5}",                           false },
		{ RF_ORDER_RENEW,   "{\"timeout\":5e1}",                           false },
		{ RF_ORDER_RENEW,   "{}",                                          false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_api_error error = { 0 };
		struct rf_order order;
		int code = read_one(cases[i].kind, cases[i].text, &order, &error);

		RF_CHECK((code == 0) == cases[i].is_good && (code == 0 || error.message[0]),
			 "case %zu: %s", i, error.message);
		if (code == 0)
			rf_order_done(&order);
	}
}

RF_TEST(bytes_come_as_text_or_base64)
{
	struct rf_api_error error;
	struct rf_order order;

	RF_REQUIRE(read_one(RF_ORDER_EXEC, "{\"command\":\"x\",\"stdin_base64\":\"AAEC\"}", &order,
			    &error) == 0,
		   "%s", error.message);
	RF_CHECK(order.input_len == 3 && memcmp(order.input, "\0\1\2", 3) == 0, "%zu bytes",
		 order.input_len);
	rf_order_done(&order);
	RF_REQUIRE(read_one(RF_ORDER_EXEC, "{\"command\":\"x\",\"stdin\":\"\"}", &order, &error) ==
			   0,
		   "%s", error.message);
	RF_CHECK(order.input && order.input_len == 0, "an empty one is one");
	rf_order_done(&order);
}
