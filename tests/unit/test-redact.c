/* What must not be kept: src/audit/redact.c. */
#include <stdlib.h>
#include <string.h>

#include "audit/redact.h"
#include "base/fd.h"
#include "harness.h"

/* clang-format off */
static const struct { const char *text, *clean; } cases[] = {
	/* what stays */
	{ "",                                     "" },
	{ "open /etc/shadow",                     "open /etc/shadow" },
	{ "task-force-meeting-room-agenda",       "task-force-meeting-room-agenda" },
	{ "the token was refused",                "the token was refused" },
	{ "https://api.example.org/v1/users",     "https://api.example.org/v1/users" },
	{ "why? a=b",                             "why? a=b" },
	{ "sk-short",                             "sk-short" },
	{ "--write ./out",                        "--write ./out" },
	/* forms */
	{ "AKIAIOSFODNN7EXAMPLE",                 "[redacted]" },
	{ "use ghp_0123456789abcdefABCDEF0123456789abcd now", "use [redacted] now" },
	{ "sk-proj-0123456789abcdef",             "[redacted]" },
	{ "x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.c2ln y", "x [redacted] y" },
	{ "key -----BEGIN PRIVATE KEY-----\nMIIE", "key [redacted]" },
	/* names */
	{ "password=hunter2 user=me",             "password=[redacted] user=me" },
	{ "DB_PASSWORD: 'a b c' rest",            "DB_PASSWORD: [redacted] rest" },
	{ "{\"api_key\": \"zz\", \"n\": 1}",      "{\"api_key\": [redacted], \"n\": 1}" },
	{ "--token=abc",                          "--token=[redacted]" },
	{ "Authorization: Bearer abc def\nHost: x", "Authorization: [redacted]\nHost: x" },
	{ "Cookie: a=b; c=d",                     "Cookie: [redacted]" },
	{ "Bearer abcdef",                        "Bearer [redacted]" },
	/* URLs */
	{ "https://me:pw@example.org/x",          "https://[redacted]@example.org/x" },
	{ "GET /a?x=1&y=2#z",                     "GET /a?x=[redacted]&y=[redacted]#z" },
	{ "GET /a?flag&y=2 HTTP",                 "GET /a?flag&y=[redacted] HTTP" },
};
/* clang-format on */

RF_TEST(secrets_go_and_the_rest_stays)
{
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf out;

		rf_buf_init(&out, 4096);
		rf_redact(cases[i].text, strlen(cases[i].text), &out);
		RF_CHECK(strcmp(out.data ? out.data : "", cases[i].clean) == 0, "%s became %s",
			 cases[i].text, out.data);
	}
}

RF_TEST(what_is_redacted_is_not_redacted_again)
{
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf out;

		rf_buf_init(&out, 4096);
		rf_redact(cases[i].clean, strlen(cases[i].clean), &out);
		RF_CHECK(strcmp(out.data ? out.data : "", cases[i].clean) == 0, "%s became %s",
			 cases[i].clean, out.data);
	}
}

RF_TEST(a_long_text_takes_no_longer_for_a_byte)
{
	static const char *const pieces[] = { "a.", "token ", "eyJ.", "://", "?a=", "token=\"" };

	for (size_t i = 0; i < RF_LEN(pieces); i++) {
		RF_AUTO_BUF struct rf_buf in, out;

		rf_buf_init(&in, 4 << 20);
		rf_buf_init(&out, 64 << 20);
		while (in.len < 1 << 20)
			rf_buf_puts(&in, pieces[i]);
		rf_redact(in.data, in.len, &out); /* the harness ends what takes too long */
		RF_CHECK(out.len > 0 && !out.has_failed, "%s", pieces[i]);
	}
}
