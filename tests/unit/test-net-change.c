/* What of a box's network can change while it lives: src/policy/net-change.c. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "policy/net-change.h"
#include "policy/net.h"

static struct rf_policy *read(const char *text)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_CHECK(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0, "%s: %s", text,
		 err.msg);
	return policy;
}

static const char *written(const struct rf_policy *policy, struct rf_buf *buf)
{
	rf_buf_clear(buf);
	rf_net_change_format(policy, buf);
	return buf->data ? buf->data : "";
}

static struct rf_net *net_of(const char *text)
{
	struct rf_policy *policy = read(text);
	struct rf_net *net = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_net_make(policy, &net, &err) == 0, "%s", err.msg);
	rf_policy_free(policy);
	return net;
}

RF_TEST(writes_that_wait_have_every_host_looked_into)
{
	struct rf_net *held =
		net_of("network: {allow: [a.example], writes: hold, approval_time: 2m}");
	struct rf_net *passed = net_of("network: {allow: [a.example], writes: pass}");

	RF_CHECK(held->holds_writes && held->needs_tls && held->looks_everywhere, "held");
	RF_CHECK(held->limits[RF_NET_APPROVAL_TIME] == 120000, "how long");
	RF_CHECK(!passed->holds_writes && !passed->needs_tls && !passed->looks_everywhere &&
			 passed->limits[RF_NET_APPROVAL_TIME] == 3600000,
		 "passed");
	rf_net_free(held);
	rf_net_free(passed);
}

RF_TEST(a_box_gets_what_can_change_and_keeps_the_rest)
{
	/* clang-format off */
	static const struct { const char *opened, *text; bool is_bounded; const char *has, *lacks; int code; } cases[] = {
		{ "network: { allow: [a.example] }", "network: { allow: [b.example] }", false, "b.example", "a.example", 0 },
		{ "network: { allow: [a.example] }", "network: { allow: [b.example, a.example] }", true, "a.example", "b.example", 0 },
		{ "network: { allow: [a.example] }", "network: { mode: open, allow: [a.example] }", true, "a.example", "open", 0 },
		{ "network: { allow: [a.example], deny: [b.a.example] }", "network: { allow: [a.example] }", true, "b.a.example", "zzz", 0 },
		{ "network: { allow: [a.example], rate: 10/s }", "network: { allow: [a.example], rate: 20/s }", true, "10/s", "20/s", 0 },
		{ "network: { allow: [a.example], publish: ['8080'] }", "network: { allow: [b.example] }", false, "8080", "a.example", 0 },
		{ "network: { allow: [a.example], filter: on }", "network: { allow: [b.example] }", false, "filter", "a.example", 0 },
		{ "network: { allow: [a.example], writes: hold }", "network: { allow: [b.example] }", false, "writes: hold", "a.example", 0 },
		{ "network: { allow: [a.example], writes: hold }", "network: { allow: [a.example], writes: pass }", false, "", "", -EOPNOTSUPP },
		{ "network: { allow: [a.example] }", "{}", false, "gateway", "a.example", 0 },
		{ "network: { allow: [a.example] }", "network: { publish: ['8080'] }", false, "", "", -EOPNOTSUPP },
		{ "network: { allow: [a.example] }", "network: { filter: on }", false, "", "", -EOPNOTSUPP },
		{ "network: { allow: [a.example] }", "network: host", false, "", "", -EOPNOTSUPP },
		{ "network: { allow: [a.example] }", "limits: { memory: 1G }", false, "", "", -EOPNOTSUPP },
		{ "network: { allow: [a.example] }", "credentials: { x: { from: 'env:X', hosts: [a.example] } }", false, "", "", -EOPNOTSUPP },
		{ "network: { allow: [a.example] }", "network: { allow: ['0x7f.1'] }", false, "", "", -EINVAL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *opened = read(cases[i].opened), *policy = NULL;
		struct rf_err err = RF_ERR_INIT;
		struct rf_buf buf;
		int code = rf_net_change_make(opened, cases[i].text, strlen(cases[i].text),
					      cases[i].is_bounded ? opened : NULL, false, &policy,
					      &err);

		rf_buf_init(&buf, 65536);
		RF_CHECK(code == cases[i].code, "%s: %d %s", cases[i].text, code, err.msg);
		if (code == 0) {
			rf_policy_format_net(policy, &buf);
			RF_CHECK(strstr(buf.data, cases[i].has) &&
					 !strstr(buf.data, cases[i].lacks),
				 "%s: %s", cases[i].text, buf.data);
		}
		rf_buf_done(&buf);
		rf_policy_free(policy);
		rf_policy_free(opened);
	}
}

RF_TEST(keys_are_replaced_or_joined)
{
	struct rf_policy *policy =
		read("network: { allow: [a.example], deny: [b.example], rate: 5/s }");
	struct rf_policy *set = read("network: { allow: [c.example] }");
	struct rf_policy *add = read("network: { allow: [b.example, d.example] }");
	struct rf_policy *none = read("network: none");
	struct rf_err err = RF_ERR_INIT;
	struct rf_buf buf;
	const char *text;

	rf_buf_init(&buf, 65536);
	RF_CHECK(rf_net_change_replace(policy, set, &err) == 0, "%s", err.msg);
	text = written(policy, &buf);
	RF_CHECK(strstr(text, "c.example") && !strstr(text, "a.example") &&
			 strstr(text, "b.example") && strstr(text, "5/s"),
		 "%s", text);
	RF_CHECK(rf_net_change_missing(policy, add) != NULL, "both are missing");
	RF_CHECK(rf_net_change_add(policy, add, &err) == 0, "%s", err.msg);
	text = written(policy, &buf);
	RF_CHECK(strstr(text, "d.example") && strstr(text, "c.example"), "%s", text);
	text = strstr(text, "deny:");
	RF_CHECK(!text || !strstr(text, "b.example"),
		 "what is allowed in these words is not denied: %s", text);
	RF_CHECK(rf_net_change_missing(policy, add) == NULL, "none is missing");
	RF_CHECK(rf_net_change_replace(policy, none, &err) == 0, "%s", err.msg);
	text = written(policy, &buf);
	RF_CHECK(!strstr(text, "c.example"), "%s", text);
	rf_buf_done(&buf);
	rf_policy_free(policy);
	rf_policy_free(set);
	rf_policy_free(add);
	rf_policy_free(none);
}

RF_TEST(what_is_final_bounds)
{
	/* clang-format off */
	static const struct { const char *text; bool is_final; } cases[] = {
		{ "network: { allow: [a.example] }\nfinal: [network.allow]", true },
		{ "network: { mode: enforce }\nfinal: [network.mode]", true },
		{ "network: { allow: [a.example] }\nlimits: { memory: 1G }\nfinal: [limits.memory]", false },
		{ "network: { allow: [a.example] }", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *policy = read(cases[i].text);

		RF_CHECK(rf_net_change_is_final(policy) == cases[i].is_final, "%s", cases[i].text);
		rf_policy_free(policy);
	}
}

RF_TEST(a_change_that_is_to_be_whole_is_refused_where_it_would_be_narrowed)
{
	/* clang-format off */
	static const struct { const char *text, *has; int code; } cases[] = {
		{ "network: { allow: [\"a.example:443\"] }", "", 0 },
		{ "network: none", "", 0 },
		{ "network: { allow: [\"a.example:443\", \"b.example:443\"] }", "network.allow: b.example:443", -EPERM },
		{ "network: { allow: [\"a.example:443\"], mode: open }", "network.mode: open", -EPERM },
		{ "network: { allow: [\"a.example:443\"], connections: 6 }", "network.connections: 6", -EPERM },
		{ "network: { hosts: { a.example: 192.0.2.1 } }", "network.hosts: a.example", -EPERM },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_policy *opened = read("network: { allow: [\"a.example:443\"] }");
		struct rf_policy *most =
			read("network: { allow: [\"a.example:443\"], connections: 5 }");
		struct rf_policy *policy = NULL;
		struct rf_err err = RF_ERR_INIT;
		int code = rf_net_change_make(opened, cases[i].text, strlen(cases[i].text), most,
					      true, &policy, &err);

		RF_CHECK(code == cases[i].code && strstr(err.msg, cases[i].has), "%s: %d %s",
			 cases[i].text, code, err.msg);
		rf_policy_free(policy);
		rf_policy_free(opened);
		rf_policy_free(most);
	}
}
