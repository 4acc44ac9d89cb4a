/* A request that leans on a base: src/policy/lean.c. */
#include "policy/lean.h"

#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "harness.h"
#include "policy/key.h"

static struct rf_policy *read(const char *text)
{
	struct rf_policy *policy = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_lean_read(text, strlen(text), &policy, &err) == 0, "%s: %s", text, err.msg);
	return policy;
}

/* What comes of it, as text. */
static void join(const char *base, const char *request, struct rf_buf *out)
{
	struct rf_policy *a = read(base), *b = read(request), *joined = NULL;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_lean_on(a, b, &joined, &err) == 0, "%s", err.msg);
	rf_policy_format(joined, out);
	rf_policy_free(a);
	rf_policy_free(b);
	rf_policy_free(joined);
}

RF_TEST(what_a_request_does_not_say_is_the_bases_and_what_it_says_only_tightens)
{
	static const char base[] = "limits: { memory: 64M, time: 1h }\n"
				   "network: { allow: [a.test, b.test] }\n"
				   "commands: [sh, cat]\nagent: bot\n";
	/* clang-format off */
	static const struct { const char *request, *has, *has_not; } cases[] = {
		{ "{}",                                     "memory: 64M",  NULL },
		{ "{}",                                     "a.test",       NULL },
		{ "{}",                                     "agent: bot",   NULL },
		{ "limits: { memory: 16M }",                "memory: 16M",  NULL },
		{ "limits: { memory: 16M }",                "time: 1h",     NULL },
		{ "limits: { memory: 1G }",                 "memory: 64M",  "memory: 1G" },
		{ "network: { allow: [b.test, c.test] }",   "b.test",       "a.test" },
		{ "network: { allow: [b.test, c.test] }",   "b.test",       "c.test" },
		{ "network: { deny: [a.test] }",            "deny",         NULL },
		{ "network: { deny: [a.test] }",            "b.test",       NULL },
		{ "network: none",                          "memory: 64M",  "a.test" },
		{ "network: host",                          "memory: 64M",  "link: host" },
		{ "commands: [cat, uname]",                 "cat",          "uname" },
		{ "commands: [cat, uname]",                 "cat",          "sh" },
		{ "agent: boa",                             "agent: bot",   "boa" },
		{ "extends: [strict]",                      "memory: 64M",  NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf out;

		rf_buf_init(&out, RF_MAX_POLICY_BYTES);
		join(base, cases[i].request, &out);
		RF_CHECK(strstr(out.data, cases[i].has) &&
				 (!cases[i].has_not || !strstr(out.data, cases[i].has_not)),
			 "%s: %s", cases[i].request, out.data);
	}
}

RF_TEST(a_strangers_text_reads_no_file)
{
	static const char *const texts[] = { "extends: [/etc/passwd]", "extends: [./a.yaml]",
					     "extends: [nobody]", "odd: 1", "[" };

	for (size_t i = 0; i < RF_LEN(texts); i++) {
		struct rf_policy *policy = NULL;
		struct rf_err err = RF_ERR_INIT;

		RF_CHECK(rf_lean_read(texts[i], strlen(texts[i]), &policy, &err) < 0 && !policy,
			 "%s", texts[i]);
	}
}
