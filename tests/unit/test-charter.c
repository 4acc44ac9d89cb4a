/* How a server is to serve: src/server/charter.c. */
#include "server/charter.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

RF_TEST(what_a_file_says_is_taken)
{
	static const char text[] =
		"listen: [127.0.0.1:7070]\nhosts: Boxes.Example\norigins: ['https://ui.example']\n"
		"tls: {cert: /c, key: /k}\ngrace: 2m\naudit: {anchors: [syslog], keep: 10G}\ndisk: "
		"{margin: 1G}\n"
		"webhooks:\n  - {url: 'http://a.example/x', secret: 'env:HOOK', events: alarms}\n"
		"  - {url: 'https://b.example', secret: 'file:/secret'}\notlp: {endpoint: "
		"'http://127.0.0.1:4318', every: 5s}\n";
	struct rf_charter charter;
	struct rf_err err = RF_ERR_INIT;

	rf_charter_init(&charter);
	RF_REQUIRE(rf_charter_read(&charter, text, strlen(text), &err) == 0, "%d:%d %s", err.line,
		   err.column, err.msg);
	RF_CHECK(strcmp(charter.hosts[0], "boxes.example") == 0, "%s", charter.hosts[0]);
	RF_CHECK(charter.grace_s == 120 && charter.every_s == 5, "times");
	RF_CHECK(charter.disk_bytes == 1u << 30, "space");
	RF_CHECK(charter.webhook_count == 2 && charter.webhooks[0].topics == RF_CHARTER_ALARMS &&
			 charter.webhooks[1].topics == 7,
		 "webhooks");
	RF_CHECK(rf_charter_check(&charter, &err) == 0, "%s", err.msg);
	rf_charter_done(&charter);
}

RF_TEST(what_is_wrong_is_told_with_its_place_and_what_may_be_meant)
{
	/* clang-format off */
	static const struct { const char *text; int line, column; const char *says, *hint; } cases[] = {
		{ "# note\xc2\x85listen: [\"*:80\"]",   1, 7,  "U+0085",              "double quotes" },
		{ "# \xe2\x80\xae note",              1, 3,  "U+202E",              "double quotes" },
		{ "listne: [x]",                      1, 1,  "no key `listne`",     "`listen`" },
		{ "tls:\n  crt: /x",                  2, 3,  "no key `tls.crt`",    "`cert`" },
		{ "grace: 1s\ngrace: 2s",             2, 1,  "twice",               "" },
		{ "grace: soon",                      1, 8,  "grace",               "" },
		{ "disk: {margin: none}",             1, 16, "disk.margin",         "" },
		{ "disk: {margin: lots}",             1, 16, "disk.margin",         "" },
		{ "grace: 0s",                        1, 8,  "out of range",        "" },
		{ "origins: [ui.example]",            1, 11, "no origin",           "https://" },
		{ "tls: {cert: cert.pem}",            1, 13, "no whole path",       "/" },
		{ "webhooks: [{url: 'http://x/'}]",   1, 0,  "`url` and `secret`",  "" },
		{ "webhooks: [{secret: hunter2}]",    1, 21, "never written here",  "file:" },
		{ "webhooks: [{events: [all]}]",      1, 22, "nothing that is told", "alarms" },
		{ "listen: {a: b}",                   1, 9,  "a list is needed",    "" },
		{ "tls: yes",                         1, 6,  "a mapping is needed", "" },
		{ "tls.cert: /x",                     1, 1,  "no key `tls.cert`",   "" },
		{ "otlp: {endpoint: 'ftp://x'}",      1, 18, "no address",          "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_charter charter;
		struct rf_err err = RF_ERR_INIT;

		rf_charter_init(&charter);
		RF_CHECK(rf_charter_read(&charter, cases[i].text, strlen(cases[i].text), &err) < 0,
			 "%s", cases[i].text);
		RF_CHECK(err.line == cases[i].line &&
				 (!cases[i].column || err.column == cases[i].column),
			 "%s: at %d:%d", cases[i].text, err.line, err.column);
		RF_CHECK(strstr(err.msg, cases[i].says) && strstr(err.hint, cases[i].hint),
			 "%s: %s (%s)", cases[i].text, err.msg, err.hint);
		rf_charter_done(&charter);
	}
}

RF_TEST(what_goes_together_is_there_together)
{
	static const char *const cases[] = { "tls: {cert: /c}", "tls: {key: /k}",
					     "tls: {client_ca: /c}" };

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_charter charter;
		struct rf_err err = RF_ERR_INIT;

		rf_charter_init(&charter);
		RF_CHECK(rf_charter_read(&charter, cases[i], strlen(cases[i]), &err) == 0, "%s",
			 err.msg);
		RF_CHECK(rf_charter_check(&charter, &err) == -EINVAL, "%s", cases[i]);
		rf_charter_done(&charter);
	}
}
