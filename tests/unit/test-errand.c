/* What a client asks for: src/wire/errand.c. */
#include "wire/errand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/limits.h"
#include "harness.h"
#include "wire/wire.h"

static char *const args[] = { (char[]){ "python3" }, (char[]){ "-c" }, (char[]){ "" }, NULL };
static char *const variables[] = { (char[]){ "A=1" }, (char[]){ "odd" }, NULL };
static struct rf_place extras[] = {
	{ RF_PLACE_HOST, "/opt/node", "/home/me/node", RF_RIGHT_READ | RF_RIGHT_EXEC, false, "why",
	  "rule" },
	{ RF_PLACE_TEXT, "/code/main.py", "print(1)\n", RF_RIGHT_READ, true, "", "" },
};

static char *own[] = { (char[]){ "TOKEN=a=b" }, NULL };

static struct rf_errand full(void)
{
	struct rf_errand errand = {
		.command = RF_COMMAND_RUN,
		.policy = "limits: {time: 5s}\n",
		.folder = "/srv/project",
		.home = "/home/me",
		.cwd = "/srv/project",
		.argv = args,
		.env = variables,
		.extras = extras,
		.extra_count = RF_LEN(extras),
		.caller_path = "/usr/bin:/bin",
		.wants_denials = true,
		.umask = 027,
		.nice = -5,
		.set = own,
		.note = "{\"labels\":{}}",
		.idle_ms = 60000,
		.origin = { .tenant = "acme", .key = "k1", .request = "order-17" },
		.is_recorded = true,
	};

	for (size_t i = 0; i < RF_ERRAND_RLIMITS; i++)
		errand.rlimits[i].hard = UINT64_MAX;
	errand.rlimits[3].soft = 12345;
	return errand;
}

/* Packs and unpacks; the buffer must outlive what is given. */
static int there_and_back(const struct rf_errand *errand, struct rf_buf *buf,
			  struct rf_errand *ret_errand, struct rf_err *err)
{
	rf_buf_init(buf, RF_WIRE_BODY);
	rf_errand_pack(errand, buf);
	RF_REQUIRE(!buf->has_failed, "no room");
	return rf_errand_unpack(buf->data, buf->len, ret_errand, err);
}

RF_TEST(an_errand_arrives_as_it_was_asked)
{
	struct rf_errand errand = full(), got;
	RF_AUTO_BUF struct rf_buf buf, again;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(there_and_back(&errand, &buf, &got, &err) == 0, "%s", err.msg);
	RF_CHECK(strcmp(got.policy, errand.policy) == 0 && strcmp(got.argv[0], "python3") == 0 &&
			 !*got.argv[2] && !got.argv[3] && strcmp(got.env[1], "odd") == 0 &&
			 !got.env[2],
		 "strings");
	RF_CHECK(got.extra_count == 2 && got.extras[0].kind == RF_PLACE_HOST &&
			 strcmp(got.extras[1].source, "print(1)\n") == 0 &&
			 got.extras[1].is_optional,
		 "extras");
	RF_CHECK(got.umask == 027 && got.nice == -5 && got.rlimits[3].soft == 12345 &&
			 got.wants_denials,
		 "the caller");
	RF_CHECK(strcmp(got.set[0], "TOKEN=a=b") == 0 && !got.set[1] &&
			 strcmp(got.note, errand.note) == 0 && got.idle_ms == 60000,
		 "the program's own variables, and the note");
	RF_CHECK(strcmp(got.origin.request, "order-17") == 0 && !got.origin.trace,
		 "what the client calls it");
	RF_CHECK(!got.origin.tenant && !got.origin.key && !got.is_recorded,
		 "whose it is can't be said");
	rf_buf_init(&again, RF_WIRE_BODY);
	rf_errand_pack(&got, &again);
	RF_CHECK(again.len == buf.len && memcmp(again.data, buf.data, buf.len) == 0,
		 "packed again it is another");
	rf_errand_done(&got);
}

RF_TEST(what_a_client_calls_its_request_is_plain_and_short)
{
	static const char too_long[] =
		"01234567890123456789012345678901234567890123456789012345678901234";
	static const char *const words[] = { "a b", "a\nb", "\xc3\xa9", "x/y", too_long };

	for (size_t i = 0; i < RF_LEN(words); i++) {
		struct rf_errand errand = full(), got;
		RF_AUTO_BUF struct rf_buf buf;
		struct rf_err err = RF_ERR_INIT;

		errand.origin.trace = words[i];
		RF_CHECK(there_and_back(&errand, &buf, &got, &err) == -EBADMSG, "%s", words[i]);
	}
}

RF_TEST(what_may_be_absent_may_be)
{
	struct rf_errand errand = full(), got;
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_err err = RF_ERR_INIT;

	errand.cwd = errand.caller_path = NULL;
	errand.env = NULL;
	errand.extras = NULL;
	errand.extra_count = 0;
	errand.policy = "";
	RF_REQUIRE(there_and_back(&errand, &buf, &got, &err) == 0, "%s", err.msg);
	RF_CHECK(!got.cwd && !got.caller_path && got.env && !got.env[0] && !got.extra_count,
		 "some");
	rf_errand_done(&got);
}

RF_TEST(what_nobody_may_ask_for_is_refused)
{
	static struct rf_place bad[] = {
		{ RF_PLACE_HOST, "/x", "/x", RF_RIGHT_READ | RF_RIGHT_WRITE, false, "", "" },
		{ RF_PLACE_HOST, "/x", "/x", RF_RIGHT_INERT, false, "", "" },
		{ RF_PLACE_HOST, "x", "/x", RF_RIGHT_READ, false, "", "" },
		{ RF_PLACE_HOST, "/x", "x", RF_RIGHT_READ, false, "", "" },
		{ RF_PLACE_SYSTEM, "/x", "/x", RF_RIGHT_READ, false, "", "" },
		{ RF_PLACE_DEVICE, "/x", "/dev/sda", RF_RIGHT_READ, false, "", "" },
		{ RF_PLACE_LINK, "/x", "/x", RF_RIGHT_READ, false, "", "" },
		{ RF_PLACE_PROC, "/x", "/x", RF_RIGHT_READ, false, "", "" },
		{ (enum rf_place_kind)77, "/x", "/x", RF_RIGHT_READ, false, "", "" },
		{ RF_PLACE_TEXT, NULL, "text", RF_RIGHT_READ, false, "", "" },
	};
	static char long_path[5000];
	RF_AUTO_BUF struct rf_buf buf = { 0 };
	struct rf_err err = RF_ERR_INIT;
	struct rf_errand got;

	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[0] = '/';
	for (size_t i = 0; i < RF_LEN(bad) + 9; i++) {
		struct rf_errand errand = full();
		size_t other = i - RF_LEN(bad);

		if (i < RF_LEN(bad)) {
			errand.extras = &bad[i];
			errand.extra_count = 1;
		}
		errand.command = other == 0 ? RF_COMMAND_COUNT : errand.command;
		errand.folder = other == 1 ? "." : errand.folder;
		errand.home = other == 2 ? "" : errand.home;
		errand.cwd = other == 3 ? "relative" : errand.cwd;
		errand.umask = other == 4 ? 01000 : errand.umask;
		errand.nice = other == 5 ? 20 : errand.nice;
		errand.rlimits[0].hard = other == 6 ? 0 : errand.rlimits[0].hard;
		errand.rlimits[0].soft = 1;
		errand.policy = other == 7 ? NULL : errand.policy;
		errand.cwd = other == 8 ? long_path : errand.cwd;
		rf_buf_done(&buf);
		RF_CHECK(there_and_back(&errand, &buf, &got, &err) < 0 && err.msg[0], "case %zu",
			 i);
	}
}

RF_TEST(too_much_is_told_before_it_is_sent_and_refused_when_it_comes)
{
	char **many = calloc(RF_ERRAND_ARGS + 2, sizeof(*many));
	char *text = calloc(1, RF_ERRAND_BYTES + 2), *policy = calloc(1, RF_MAX_POLICY_BYTES + 2);
	char *none[] = { NULL }, *one[] = { text, NULL };
	RF_AUTO_BUF struct rf_buf buf = { 0 };

	RF_REQUIRE(many && text && policy, "no memory");
	for (size_t i = 0; i <= RF_ERRAND_ARGS; i++)
		many[i] = args[0];
	memset(text, 'x', RF_ERRAND_BYTES - 1);
	memset(policy, ' ', RF_MAX_POLICY_BYTES + 1);
	for (int i = 0; i < 5; i++) {
		struct rf_errand errand = full(), got;
		struct rf_err err = RF_ERR_INIT;
		int want = i == 0 ? -EINVAL : -E2BIG;

		errand.argv = i == 0 ? none : i == 1 ? many : i == 2 ? one : errand.argv;
		errand.env = i == 3 ? many : errand.env;
		errand.policy = i == 4 ? policy : errand.policy;
		RF_CHECK(rf_errand_check(&errand, &err) == want, "case %d: %s", i, err.msg);
		rf_buf_done(&buf);
		RF_CHECK(there_and_back(&errand, &buf, &got, &err) < 0, "case %d", i);
	}
	many[RF_ERRAND_ARGS] = NULL;
	for (int i = 0; i < 2; i++) { /* and what is just not too much */
		struct rf_errand errand = full(), got;
		struct rf_err err = RF_ERR_INIT;

		text[RF_ERRAND_BYTES - 50] = '\0';
		errand.argv = i == 0 ? many : one;
		rf_buf_done(&buf);
		RF_CHECK(there_and_back(&errand, &buf, &got, &err) == 0, "case %d: %s", i, err.msg);
		rf_errand_done(&got);
	}
	free(many);
	free(text);
	free(policy);
}

RF_TEST(an_errand_that_was_cut_or_made_longer_is_refused)
{
	struct rf_errand errand = full(), got;
	RF_AUTO_BUF struct rf_buf buf;

	rf_buf_init(&buf, RF_WIRE_BODY);
	rf_errand_pack(&errand, &buf);
	rf_buf_add(&buf, "", 1);
	for (size_t len = 0; len <= buf.len; len++) {
		struct rf_err err = RF_ERR_INIT;
		int code = rf_errand_unpack(buf.data, len, &got, &err);

		RF_CHECK((code == 0) == (len == buf.len - 1), "%zu of %zu bytes: %d", len,
			 buf.len - 1, code);
		if (code == 0)
			rf_errand_done(&got);
	}
}

RF_TEST(the_callers_own_settings_are_noted_and_not_changed)
{
	struct rlimit files = { 100, 200 };
	struct rf_errand errand = { 0 };

	umask(031);
	RF_REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0 && setpriority(PRIO_PROCESS, 0, 7) == 0,
		   "set");
	rf_errand_note_caller(&errand);
	RF_CHECK(errand.umask == 031 && umask(0) == 031, "%o", errand.umask);
	RF_CHECK(errand.nice == 7, "%d", errand.nice);
	RF_CHECK(errand.rlimits[RLIMIT_NOFILE].soft == 100 &&
			 errand.rlimits[RLIMIT_NOFILE].hard == 200,
		 "files");
}
