/*
 * System call profiles: src/jail/ruleset*.c, and what src/jail/filter.c makes of them.
 *
 * Reading is checked by tables.  The filter is checked by profiles made at random as values of the
 * test's own, written as JSON, read, built, run by the interpreter, and compared with a plain reading
 * of those values.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "jail/filter.h"
#include "jail/ruleset.h"
#include "second-opinion.h"

static const struct rf_ruleset_facts facts = { 5, 10 };

#define ERRNO(n)    (SECCOMP_RET_ERRNO | (n))
#define ALL         "\"defaultAction\": \"SCMP_ACT_ALLOW\""
#define RULES(text) "{" ALL ", \"syscalls\": [" text "]}"

static struct rf_ruleset *parse(const char *text, struct rf_err *err)
{
	struct rf_ruleset *ruleset = NULL;
	int code = rf_ruleset_parse(text, strlen(text), &facts, &ruleset, err);

	RF_REQUIRE((code == 0) == (ruleset != NULL), "gives something exactly on success");
	return ruleset;
}

static struct rf_ruleset *must_parse(const char *text)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_ruleset *ruleset = parse(text, &err);

	RF_REQUIRE(ruleset, "%s at %d:%d (%s)", err.msg, err.line, err.column, text);
	return ruleset;
}

static void build(const struct rf_ruleset *ruleset, enum rf_syscalls syscalls,
		  struct rf_filter *ret_filter)
{
	const struct rf_call_options options = { .syscalls = syscalls,
						 .has_inet = true,
						 .has_unix = true };
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_filter_build(&options, &ruleset, 1, ret_filter, &err) == 0, "%s", err.msg);
}

/* The fate of one call under a profile. */
static uint32_t fate(const char *text, int nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	static struct rf_filter filter;
	struct rf_ruleset *ruleset = must_parse(text);
	struct seccomp_data data = { .nr = nr, .arch = OUR_ARCH, .args = { a0, a1, a2 } };
	uint32_t got;

	build(ruleset, RF_SYSCALLS_DEFAULT, &filter);
	got = rf_opinion_run(&filter, &data);
	rf_ruleset_free(ruleset);
	return got;
}

/* ------------------------------------------------------------- reading */

RF_TEST(every_part_of_the_format_is_read_and_means_what_it_says)
{
	/* clang-format off */
	static const struct { const char *text; int nr; uint64_t a0, a1, a2; uint32_t want; } cases[] = {
		{ "{" ALL "}", __NR_read, 0, 0, 0, ALLOW },
		{ "{" ALL ", \"syscalls\": null}", __NR_read, 0, 0, 0, ALLOW },
		{ "{\"defaultAction\": \"SCMP_ACT_LOG\"}", __NR_read, 0, 0, 0, SECCOMP_RET_LOG },
		{ "{\"defaultAction\": \"SCMP_ACT_LOG\"}", __NR_mount, 0, 0, 0, REFUSE },
		{ "{\"defaultAction\": \"SCMP_ACT_LOG\"}", __NR_fchmod, 0, 0755, 0, SECCOMP_RET_LOG },
		{ "{\"defaultAction\": \"SCMP_ACT_LOG\"}", __NR_fchmod, 0, 04755, 0, REFUSE },
		{ RULES("{\"name\": \"sendfile\", \"action\": \"SCMP_ACT_ERRNO\"}"), __NR_sendfile, 0, 0, 0, REFUSE },
		{ RULES("{\"names\": [\"flock\", \"sendfile\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 1234}"),
		  __NR_sendfile, 0, 0, 0, ERRNO(1234) },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 0}"), __NR_flock, 0, 0, 0, ERRNO(0) },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ERRNO\", \"errno\": \"ENOSYS\"}"), __NR_flock, 0, 0, 0, ERRNO(ENOSYS) },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ERRNO\", \"errno\": \"EINVAL\", \"errnoRet\": 22}"), __NR_flock, 0, 0, 0, ERRNO(EINVAL) },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_KILL\"}"), __NR_flock, 0, 0, 0, SECCOMP_RET_KILL_THREAD },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_KILL_THREAD\"}"), __NR_flock, 0, 0, 0, SECCOMP_RET_KILL_THREAD },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_KILL_PROCESS\"}"), __NR_flock, 0, 0, 0, KILL },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\"}"), __NR_flock, 0, 0, 0, SECCOMP_RET_TRAP },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_LOG\"}"), __NR_flock, 0, 0, 0, SECCOMP_RET_LOG },
		/* conditions on the machine: no capability is ever there, the kernel is 5.10 */
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"includes\": {\"caps\": [\"CAP_CHOWN\"]}}"), __NR_flock, 0, 0, 0, ALLOW },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"excludes\": {\"caps\": [\"CAP_CHOWN\"]}}"), __NR_flock, 0, 0, 0, SECCOMP_RET_TRAP },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"includes\": {\"minKernel\": \"4.8\"}}"), __NR_flock, 0, 0, 0, SECCOMP_RET_TRAP },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"includes\": {\"minKernel\": \"5.10\"}}"), __NR_flock, 0, 0, 0, SECCOMP_RET_TRAP },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"includes\": {\"minKernel\": \"5.11\"}}"), __NR_flock, 0, 0, 0, ALLOW },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"includes\": {\"minKernel\": \"6.0\"}}"), __NR_flock, 0, 0, 0, ALLOW },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"excludes\": {\"minKernel\": \"4.8\"}}"), __NR_flock, 0, 0, 0, ALLOW },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"includes\": {\"arches\": [\"s390x\"]}}"), __NR_flock, 0, 0, 0, ALLOW },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"includes\": {\"arches\": [\"amd64\", \"arm64\"]}}"), __NR_flock, 0, 0, 0, SECCOMP_RET_TRAP },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"excludes\": {\"arches\": [\"amd64\", \"arm64\"]}}"), __NR_flock, 0, 0, 0, ALLOW },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"includes\": {}, \"excludes\": {}, \"args\": [], \"comment\": \"\"}"), __NR_flock, 0, 0, 0, SECCOMP_RET_TRAP },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"includes\": null, \"args\": null, \"comment\": null}"), __NR_flock, 0, 0, 0, SECCOMP_RET_TRAP },
		/* rules that count only here may contradict others: the strictest holds */
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ALLOW\"}, {\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"excludes\": {\"caps\": [\"CAP_CHOWN\"]}}"), __NR_flock, 0, 0, 0, SECCOMP_RET_TRAP },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"excludes\": {\"caps\": [\"CAP_CHOWN\"]}}, {\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ALLOW\"}"), __NR_flock, 0, 0, 0, SECCOMP_RET_TRAP },
		/* two comparisons of one argument are two rules, of different arguments one */
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"args\": [{\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"}, {\"index\": 0, \"value\": 2, \"op\": \"SCMP_CMP_EQ\"}]}"), __NR_flock, 2, 0, 0, SECCOMP_RET_TRAP },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"args\": [{\"index\": 1, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"}, {\"index\": 0, \"value\": 2, \"op\": \"SCMP_CMP_EQ\"}]}"), __NR_flock, 2, 0, 0, ALLOW },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", \"args\": [{\"index\": 1, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"}, {\"index\": 0, \"value\": 2, \"op\": \"SCMP_CMP_EQ\"}]}"), __NR_flock, 2, 1, 0, SECCOMP_RET_TRAP },
		/* the strictest of those that fit; where both refuse, the table answers */
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ALLOW\"}, {\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ERRNO\", \"args\": [{\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"}]}"), __NR_flock, 1, 0, 0, REFUSE },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ALLOW\"}, {\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ERRNO\", \"args\": [{\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"}]}"), __NR_flock, 3, 0, 0, ALLOW },
		{ RULES("{\"names\": [\"openat2\"], \"action\": \"SCMP_ACT_ERRNO\"}"), __NR_openat2, 0, 0, 0, ABSENT },
		{ RULES("{\"names\": [\"openat2\"], \"action\": \"SCMP_ACT_KILL_PROCESS\"}"), __NR_openat2, 0, 0, 0, KILL },
		{ RULES("{\"names\": [\"openat2\"], \"action\": \"SCMP_ACT_ALLOW\"}"), __NR_openat2, 0, 0, 0, ABSENT },
		{ RULES("{\"names\": [\"sync\"], \"action\": \"SCMP_ACT_ERRNO\"}"), __NR_sync, 0, 0, 0, REFUSE },
		{ RULES("{\"names\": [\"sync\"], \"action\": \"SCMP_ACT_ALLOW\"}"), __NR_sync, 0, 0, 0, FAKE },
		{ "{" ALL ", \"architectures\": [\"SCMP_ARCH_AARCH64\"]}", __NR_read, 0, 0, 0, ALLOW },
		{ "{" ALL ", \"archMap\": [{\"architecture\": \"SCMP_ARCH_X86_64\", \"subArchitectures\": [\"SCMP_ARCH_X86\", \"SCMP_ARCH_X32\"]}, {\"architecture\": \"SCMP_ARCH_RISCV64\", \"subArchitectures\": null}]}", __NR_read, 0, 0, 0, ALLOW },
		{ "{" ALL ", \"flags\": [\"SECCOMP_FILTER_FLAG_LOG\", \"SECCOMP_FILTER_FLAG_TSYNC\"], \"listenerPath\": \"\"}", __NR_read, 0, 0, 0, ALLOW },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		uint32_t got =
			fate(cases[i].text, cases[i].nr, cases[i].a0, cases[i].a1, cases[i].a2);

		RF_CHECK(got == cases[i].want, "case %zu gave %#x: %s", i, got, cases[i].text);
	}
}

RF_TEST(what_is_wrong_is_refused_with_its_place_and_what_was_meant)
{
#define RULE(more) RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\", " more "}")
#define COND(more) RULE("\"args\": [{" more "}]")
	/* clang-format off */
	static const struct { const char *text, *says, *hint; } cases[] = {
		{ "",                                        "not JSON", "" },
		{ "[]",                                      "a profile is an object, not an array", "begin" },
		{ "{}",                                      "without \"defaultAction\"", "no rule names" },
		{ "{\"defaultAction\": 3}",                  "a string is needed here, not a number", "" },
		{ "{\"defaultAction\": \"SCMP_ACT_ALOW\"}",  "is not an action", "SCMP_ACT_ALLOW" },
		{ "{\"defaultAction\": \"SCMP_ACT_NOTIFY\"}", "no process", "SCMP_ACT_ERRNO" },
		{ "{\"defaultAction\": \"SCMP_ACT_TRACE\"}", "no process", "SCMP_ACT_LOG" },
		{ "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"defaultErrnoRet\": 1}", "has no errno", "" },
		{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 4096}", "0 to 4095", "" },
		{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": -1}", "0 to 4095", "" },
		{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrno\": \"EWHAT\"}", "known by name", "errnoRet" },
		{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrno\": \"EPERM\", \"defaultErrnoRet\": 2}", "beside it 2", "" },
		{ "{" ALL ", \"syscals\": []}",              "\"syscals\": unknown key", "syscalls" },
		{ "{" ALL ", \"listenerPath\": \"/run/x\"}", "no process", "remove it" },
		{ "{" ALL ", \"flags\": [\"SECCOMP_FILTER_FLAG_LOGG\"]}", "is not a flag", "SECCOMP_FILTER_FLAG_LOG" },
		{ "{" ALL ", \"architectures\": [\"SCMP_ARCH_X86_65\"]}", "is not an architecture", "SCMP_ARCH_X86_64" },
		{ "{" ALL ", \"architectures\": [\"SCMP_ARCH_X86\"], \"archMap\": [{\"architecture\": \"SCMP_ARCH_X86\"}]}", "both", "" },
		{ "{" ALL ", \"archMap\": [{}]}",            "without \"architecture\"", "" },
		{ "{" ALL ", \"syscalls\": {}}",             "an array is needed here", "" },
		{ RULES("3"),                                "an object is needed here", "" },
		{ RULES("{\"names\": [\"read\"]}"),          "without \"action\"", "" },
		{ RULES("{\"action\": \"SCMP_ACT_ALLOW\"}"), "without \"names\"", "" },
		{ RULES("{\"names\": [], \"action\": \"SCMP_ACT_ALLOW\"}"), "without \"names\"", "" },
		{ RULES("{\"name\": \"read\", \"names\": [\"write\"], \"action\": \"SCMP_ACT_ALLOW\"}"), "both", "names" },
		{ RULES("{\"names\": [\"mkdirr\"], \"action\": \"SCMP_ACT_ERRNO\"}"), "is no system call", "mkdir" },
		{ RULES("{\"names\": [\"\"], \"action\": \"SCMP_ACT_ERRNO\"}"), "not the name", "" },
		{ RULES("{\"names\": [3], \"action\": \"SCMP_ACT_ERRNO\"}"), "a string is needed", "" },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 1e3}"), "0 to 4095", "" },
		{ RULE("\"errnoRet\": 1"),                   "has no errno", "" },
		{ RULE("\"exclude\": {}"),                   "unknown key", "excludes" },
		{ RULE("\"includes\": {\"cap\": []}"),       "unknown key", "caps" },
		{ RULE("\"includes\": {\"caps\": [\"SYS_ADMIN\"]}"), "not a capability", "" },
		{ RULE("\"includes\": {\"minKernel\": \"4\"}"), "of the form 4.8", "" },
		{ RULE("\"includes\": {\"minKernel\": \"4.8.1\"}"), "of the form 4.8", "" },
		{ RULE("\"comment\": 1"),                    "a string is needed", "" },
		{ RULE("\"args\": {}"),                      "an array is needed", "" },
		{ COND("\"value\": 1, \"op\": \"SCMP_CMP_EQ\""), "without \"index\"", "" },
		{ COND("\"index\": 0, \"op\": \"SCMP_CMP_EQ\""), "without \"value\"", "" },
		{ COND("\"index\": 0, \"value\": 1"),        "without \"op\"", "" },
		{ COND("\"index\": 6, \"value\": 1, \"op\": \"SCMP_CMP_EQ\""), "0 to 5", "" },
		{ COND("\"index\": 0, \"value\": -1, \"op\": \"SCMP_CMP_EQ\""), "whole number", "" },
		{ COND("\"index\": 0, \"value\": 18446744073709551616, \"op\": \"SCMP_CMP_EQ\""), "whole number", "" },
		{ COND("\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQUAL\""), "not a comparison", "" },
		{ COND("\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_QE\""), "not a comparison", "SCMP_CMP_" },
		{ COND("\"index\": 0, \"value\": 1, \"valueTwo\": 2, \"op\": \"SCMP_CMP_EQ\""), "MASKED_EQ only", "leave it out" },
		{ COND("\"index\": 0, \"value\": 1, \"valueTwo\": 3, \"op\": \"SCMP_CMP_MASKED_EQ\""), "never holds", "(argument & value)" },
		{ COND("\"index\": 0, \"value\": 0, \"valueTwo\": 0, \"op\": \"SCMP_CMP_MASKED_EQ\""), "always holds", "(argument & value)" },
		{ COND("\"index\": 0, \"value\": 0, \"valueTwo\": 1, \"op\": \"SCMP_CMP_MASKED_EQ\""), "always holds", "(argument & value)" },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\"}, {\"names\": [\"flock\"], \"action\": \"SCMP_ACT_LOG\"}"), "`flock` has two fates", "meant" },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 1}, {\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 2}"), "two fates", "" },
		{ RULES("{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\"}, {\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"}]}"), "two fates where", "" },
		{ "{\"defaultAction\": \"SCMP_ACT_ERRNO\"}", "pid 1 needs fcntl", "docs/seccomp.md" },
		{ RULES("{\"names\": [\"wait4\", \"kill\"], \"action\": \"SCMP_ACT_ERRNO\"}"), "pid 1 needs kill wait4", "" },
		{ RULES("{\"names\": [\"clone\"], \"action\": \"SCMP_ACT_ERRNO\", \"args\": [{\"index\": 0, \"value\": 256, \"valueTwo\": 256, \"op\": \"SCMP_CMP_MASKED_EQ\"}]}"), "pid 1 needs clone", "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_ruleset *ruleset = parse(cases[i].text, &err);

		RF_CHECK(!ruleset, "was read: %s", cases[i].text);
		RF_CHECK(strstr(err.msg, cases[i].says), "%s: %s", cases[i].text, err.msg);
		RF_CHECK(strstr(err.hint, cases[i].hint), "%s: hint %s", cases[i].text, err.hint);
		RF_CHECK(err.line == 1 || strstr(err.msg, "pid 1"), "%s: no place", cases[i].text);
		rf_ruleset_free(ruleset);
	}
}

RF_TEST(a_contradiction_names_both_places)
{
	struct rf_err err = RF_ERR_INIT;

	RF_CHECK(!parse("{" ALL ", \"syscalls\": [\n"
			" {\"names\": [\"flock\"], \"action\": \"SCMP_ACT_ERRNO\"},\n"
			" {\"names\": [\"read\", \"flock\"], \"action\": \"SCMP_ACT_LOG\"}]}",
			&err),
		 "read");
	RF_CHECK(err.line == 3 && err.column == 21, "%d:%d", err.line, err.column);
	RF_CHECK(
		strstr(err.msg, "\"EPERM\" in line 2, column 13, and \"allowed, and logged\" here"),
		"%s", err.msg);
}

RF_TEST(names_that_no_kernel_has_are_listed_where_they_would_only_allow)
{
	struct rf_ruleset *ruleset = must_parse(RULES(
		"{\"names\": [\"reed\", \"read\", \"rite\", \"socketcall\"], \"action\": "
		"\"SCMP_ACT_ALLOW\"}, {\"names\": [\"ipc\"], \"action\": \"SCMP_ACT_TRAP\"}"));

	RF_CHECK(strcmp(ruleset->unknown, "reed rite") == 0 && ruleset->unknown_count == 2, "%s",
		 ruleset->unknown);
	RF_CHECK(ruleset->foreign_count == 2, "%zu", ruleset->foreign_count);
	rf_ruleset_free(ruleset);
}

RF_TEST(a_million_unknown_names_overflow_nothing)
{
	RF_AUTO_BUF struct rf_buf text;
	struct rf_ruleset *ruleset;

	rf_buf_init(&text, 1 << 22);
	rf_buf_puts(&text,
		    "{" ALL ", \"syscalls\": [{\"action\": \"SCMP_ACT_ALLOW\", \"names\": [");
	for (int i = 0; i < 200000; i++)
		rf_buf_printf(&text, "%s\"unknown_%d\"", i ? "," : "", i);
	rf_buf_puts(&text, "]}]}");
	ruleset = must_parse(text.data);
	RF_CHECK(ruleset->unknown_count == 200000 && strlen(ruleset->unknown) < 200, "%zu",
		 ruleset->unknown_count);
	rf_ruleset_free(ruleset);
}

/* ------------------------------------------------------------- size and time */

/* A profile with `count` rules, each an equality of its own, spread over `calls` numbers. */
static char *many_rules(int count, const char *const *calls, int call_count)
{
	struct rf_buf text;

	rf_buf_init(&text, 1 << 22);
	rf_buf_puts(&text, "{" ALL ", \"syscalls\": [");
	for (int i = 0; i < count; i++)
		rf_buf_printf(&text,
			      "%s{\"names\": [\"%s\"], \"action\": \"SCMP_ACT_TRAP\", \"args\": "
			      "[{\"index\": %d, \"value\": %d, \"op\": \"SCMP_CMP_EQ\"}]}",
			      i ? "," : "", calls[i % call_count], i % 6, i);
	rf_buf_puts(&text, "]}");
	return rf_buf_take(&text);
}

RF_TEST(ten_thousand_rules_are_read_and_what_does_not_fit_is_said)
{
	static const char *const calls[] = { "flock", "sendfile", "fsync" };
	const struct rf_call_options options = { .syscalls = RF_SYSCALLS_DEFAULT };
	static struct rf_filter filter;
	struct rf_err err = RF_ERR_INIT;
	char *text = many_rules(10000, calls, 3);
	struct rf_ruleset *ruleset = must_parse(text);
	const struct rf_ruleset *one = ruleset;

	RF_CHECK(ruleset->count == 10000, "%zu", ruleset->count);
	RF_CHECK(rf_filter_build(&options, &one, 1, &filter, &err) == -E2BIG, "fits?");
	RF_CHECK(strstr(err.msg, "more than 4096 instructions") && strstr(err.hint, "fewer"), "%s",
		 err.msg);
	rf_ruleset_free(ruleset);
	free(text);

	text = many_rules(600, calls, 3);
	ruleset = must_parse(text);
	one = ruleset;
	RF_CHECK(rf_filter_build(&options, &one, 1, &filter, &err) == 0, "%s", err.msg);
	rf_ruleset_free(ruleset);
	free(text);
}

RF_TEST(ten_thousand_times_the_same_rule_is_one)
{
	RF_AUTO_BUF struct rf_buf text;
	static struct rf_filter filter;
	struct rf_ruleset *ruleset;

	rf_buf_init(&text, 1 << 22);
	for (int i = 0; i < 10000; i++)
		rf_buf_printf(&text, "%s{\"names\": [\"flock\"], \"action\": \"SCMP_ACT_TRAP\"}",
			      i ? "," : "{" ALL ", \"syscalls\": [");
	rf_buf_puts(&text, "]}");
	ruleset = must_parse(text.data);
	RF_CHECK(ruleset->count == 1, "%zu", ruleset->count);
	build(ruleset, RF_SYSCALLS_DEFAULT, &filter);
	rf_ruleset_free(ruleset);
}

/* ------------------------------------------------------------- random profiles */

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

struct model_cond {
	unsigned arg, op;
	uint64_t value, two;
};

struct model_rule {
	int call, action;
	unsigned cond_count;
	struct model_cond conds[3];
};

#define MODEL_RULES 12
struct model {
	int fallback;
	unsigned count;
	struct model_rule rules[MODEL_RULES];
};

/* clang-format off */
/* Calls that pid 1 can do without, some of which the table looks at or refuses. */
static const struct { const char *name; int nr; } model_calls[] = {
	{ "flock", __NR_flock }, { "socket", __NR_socket }, { "fchmod", __NR_fchmod },
	{ "ioctl", __NR_ioctl }, { "mount", __NR_mount }, { "sync", __NR_sync },
	{ "keyctl", __NR_keyctl }, { "personality", __NR_personality }, { "lseek", __NR_lseek },
};
static const struct { const char *name; int rank; uint32_t action; } model_actions[] = {
	{ "SCMP_ACT_KILL_PROCESS", 0, KILL }, { "SCMP_ACT_KILL", 1, SECCOMP_RET_KILL_THREAD },
	{ "SCMP_ACT_TRAP", 2, SECCOMP_RET_TRAP }, { "SCMP_ACT_ERRNO\", \"errnoRet\": \"", 3, ERRNO(77) },
	{ "SCMP_ACT_LOG", 5, SECCOMP_RET_LOG }, { "SCMP_ACT_ALLOW", 6, ALLOW },
};
static const char *const model_ops[] = { "NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ" };
/* clang-format on */

/* A value near which others lie, so that comparisons are met on both sides. */
static uint64_t random_value(uint64_t *state)
{
	static const uint64_t bases[] = { 0,
					  1,
					  2,
					  16,
					  0xffffffff,
					  0x100000000,
					  0x7fffffffffffffff,
					  0x8000000000000000,
					  UINT64_MAX,
					  0x500000003 };
	uint64_t value = bases[next_random(state) % RF_LEN(bases)];

	switch (next_random(state) % 4) {
	case 0:
		return value + 1;
	case 1:
		return value - 1;
	case 2:
		return value ^ 1ull << next_random(state) % 64;
	default:
		return value;
	}
}

static void random_model(uint64_t *state, struct model *model)
{
	/* Only what lets pid 1 live can be the default. */
	model->fallback = next_random(state) % 2 ? 4 : 5;
	model->count = (unsigned)(next_random(state) % MODEL_RULES);
	for (unsigned i = 0; i < model->count; i++) {
		struct model_rule *rule = &model->rules[i];

		rule->call = (int)(next_random(state) % RF_LEN(model_calls));
		rule->action = (int)(next_random(state) % RF_LEN(model_actions));
		rule->cond_count = (unsigned)(next_random(state) % 4);
		for (unsigned k = 0; k < rule->cond_count; k++) {
			struct model_cond *cond = &rule->conds[k];

			*cond = (struct model_cond){ (unsigned)(next_random(state) % 2) + 2 * k,
						     (unsigned)(next_random(state) % 7),
						     random_value(state), 0 };
			if (cond->op == 6) {
				cond->value |=
					1u << next_random(state) % 32; /* a mask of 0 is refused */
				cond->two = random_value(state) & cond->value;
			}
		}
	}
}

static void write_model(const struct model *model, struct rf_buf *out)
{
	rf_buf_printf(out, "{\"defaultAction\": \"%s\", \"syscalls\": [",
		      model_actions[model->fallback].name);
	for (unsigned i = 0; i < model->count; i++) {
		const struct model_rule *rule = &model->rules[i];
		bool is_errno = rule->action == 3;

		rf_buf_printf(out, "%s{\"names\": [\"%s\"], \"action\": \"%s%s, \"args\": [",
			      i ? "," : "", model_calls[rule->call].name,
			      is_errno ? "SCMP_ACT_ERRNO" : model_actions[rule->action].name,
			      is_errno ? "\", \"errnoRet\": 77" : "\"");
		for (unsigned k = 0; k < rule->cond_count; k++)
			rf_buf_printf(out,
				      "%s{\"index\": %u, \"value\": %llu, \"valueTwo\": %llu, "
				      "\"op\": \"SCMP_CMP_%s\"}",
				      k ? "," : "", rule->conds[k].arg,
				      (unsigned long long)rule->conds[k].value,
				      (unsigned long long)rule->conds[k].two,
				      model_ops[rule->conds[k].op]);
		rf_buf_puts(out, "]}");
	}
	rf_buf_puts(out, "]}");
}

static bool model_holds(const struct model_cond *cond, uint64_t arg)
{
	switch (cond->op) {
	case 0:
		return arg != cond->value;
	case 1:
		return arg < cond->value;
	case 2:
		return arg <= cond->value;
	case 3:
		return arg == cond->value;
	case 4:
		return arg >= cond->value;
	case 5:
		return arg > cond->value;
	default:
		return (arg & cond->value) == cond->two;
	}
}

/* What a profile says: the strictest of the rules that fit, or its default. */
static uint32_t model_says(const struct model *model, const struct seccomp_data *data)
{
	int best = -1;

	for (unsigned i = 0; i < model->count; i++) {
		const struct model_rule *rule = &model->rules[i];
		bool fits = model_calls[rule->call].nr == data->nr;

		for (unsigned k = 0; k < rule->cond_count; k++)
			fits &= model_holds(&rule->conds[k], data->args[rule->conds[k].arg]);
		if (fits &&
		    (best < 0 || model_actions[rule->action].rank < model_actions[best].rank))
			best = rule->action;
	}
	return model_actions[best < 0 ? model->fallback : best].action;
}

/* True if the table refuses a call whatever its arguments are: then it answers. */
static bool is_refused_by_table(const struct rf_call_options *options, int nr)
{
	for (size_t g = 0; g < rf_call_group_count; g++)
		for (size_t i = 0; i < rf_call_groups[g].count; i++)
			if (rf_call_groups[g].calls[i].nr == nr) {
				enum rf_call_verdict v =
					rf_call_verdict(&rf_call_groups[g], options);

				return v == RF_CALL_REFUSE || v == RF_CALL_ABSENT;
			}
	return true;
}

/* What comes of a profile's word and the table's. */
static uint32_t both_say(uint32_t profile, const struct rf_call_options *options,
			 const struct seccomp_data *data)
{
	uint32_t table = rf_opinion(options, data);

	if (profile == ALLOW)
		return table;
	if (profile == SECCOMP_RET_LOG)
		return table == ALLOW ? SECCOMP_RET_LOG : table;
	if (profile == ERRNO(77) && is_refused_by_table(options, data->nr))
		return table;
	return profile;
}

static struct seccomp_data random_call(uint64_t *state, const struct model *models, size_t count)
{
	const struct model *model = &models[next_random(state) % count];
	struct seccomp_data data = { .arch = OUR_ARCH };

	data.nr = model_calls[next_random(state) % RF_LEN(model_calls)].nr;
	for (int i = 0; i < 6; i++)
		data.args[i] = random_value(state);
	/* Half of the time arguments that a rule is about, or nearly. */
	if (model->count > 0 && next_random(state) % 2) {
		const struct model_rule *rule = &model->rules[next_random(state) % model->count];

		data.nr = model_calls[rule->call].nr;
		for (unsigned k = 0; k < rule->cond_count; k++) {
			const struct model_cond *cond = &rule->conds[k];

			data.args[cond->arg] = (cond->op == 6 ? cond->two : cond->value) +
					       next_random(state) % 3 - 1;
			if (cond->op == 6 && next_random(state) % 2)
				data.args[cond->arg] =
					cond->two | (random_value(state) & ~cond->value);
		}
	}
	return data;
}

/* Reads a model's profile; NULL if it contradicts itself, which the random ones may. */
static struct rf_ruleset *read_model(const struct model *model)
{
	RF_AUTO_BUF struct rf_buf text;
	struct rf_err err = RF_ERR_INIT;
	struct rf_ruleset *ruleset;

	rf_buf_init(&text, 1 << 16);
	write_model(model, &text);
	ruleset = parse(text.data, &err);
	RF_REQUIRE(ruleset || strstr(err.msg, "two fates"), "%s: %s", err.msg, text.data);
	return ruleset;
}

RF_TEST(filters_of_random_profiles_do_what_a_plain_reading_of_them_says)
{
	uint64_t state = (uint64_t)time(NULL), seed = state;
	static struct rf_filter filter;
	unsigned built = 0;

	printf("seed %llu\n", (unsigned long long)seed);
	for (unsigned round = 0; round < 3000; round++) {
		struct rf_call_options options = {
			.syscalls = (enum rf_syscalls)(RF_SYSCALLS_FLOOR + round % 3),
			.has_inet = round & 8,
			.has_unix = round & 16,
		};
		const struct rf_ruleset *rulesets[2] = { NULL };
		struct rf_err err = RF_ERR_INIT;
		struct rf_ruleset *mine[2] = { NULL };
		size_t count = 1 + round % 2;
		struct model models[2];
		bool is_good = true;

		for (size_t i = 0; i < count; i++) {
			random_model(&state, &models[i]);
			rulesets[i] = mine[i] = read_model(&models[i]);
			is_good &= mine[i] != NULL;
		}
		if (is_good)
			RF_REQUIRE(rf_filter_build(&options, rulesets, count, &filter, &err) == 0,
				   "%s", err.msg);
		built += is_good;
		for (unsigned i = 0; is_good && i < 200; i++) {
			struct seccomp_data data = random_call(&state, models, count);
			uint32_t says = model_says(&models[0], &data), got, want;
			bool is_logged = says == SECCOMP_RET_LOG;
			bool is_refused = is_refused_by_table(&options, data.nr);

			/* The first profile that refuses answers; an errno only where the table does not. */
			if (count == 2 && (says == ALLOW || says == SECCOMP_RET_LOG ||
					   (says == ERRNO(77) && is_refused))) {
				says = model_says(&models[1], &data);
				if (says == ALLOW && is_logged)
					says = SECCOMP_RET_LOG;
			}
			want = both_say(says, &options, &data);
			got = rf_opinion_run(&filter, &data);
			RF_REQUIRE(got == want, "seed %llu, round %u: call %d gave %#x, not %#x",
				   (unsigned long long)seed, round, data.nr, got, want);
		}
		rf_ruleset_free(mine[0]);
		rf_ruleset_free(mine[1]);
	}
	RF_CHECK(built > 500, "only %u profiles were without contradiction", built);
}

RF_TEST(the_proof_and_foreign_entries_are_ours_whatever_a_profile_says)
{
	static const char text[] = "{\"defaultAction\": \"SCMP_ACT_LOG\", \"architectures\": "
				   "[\"SCMP_ARCH_X86\", \"SCMP_ARCH_X32\"]}";
	struct rf_ruleset *ruleset = must_parse(text);
	static struct rf_filter filter;
	struct seccomp_data proof = { .nr = RF_FILTER_PROOF_NR, .arch = OUR_ARCH };
	struct seccomp_data i386 = { .nr = 3, .arch = AUDIT_ARCH_I386 };
	struct seccomp_data x32 = { .nr = 0x40000000, .arch = OUR_ARCH };
	struct seccomp_data beyond = { .nr = 4000, .arch = OUR_ARCH };

	build(ruleset, RF_SYSCALLS_FLOOR, &filter);
	RF_CHECK(rf_opinion_run(&filter, &proof) == PROOF, "the proof");
	RF_CHECK(rf_opinion_run(&filter, &i386) == KILL, "i386");
#ifdef __x86_64__
	RF_CHECK(rf_opinion_run(&filter, &x32) == KILL, "x32");
#else
	(void)x32;
#endif
	RF_CHECK(rf_opinion_run(&filter, &beyond) == ABSENT, "beyond");
	rf_ruleset_free(ruleset);
	rf_ruleset_free(NULL);
}
