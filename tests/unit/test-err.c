/* Errors that carry their story: src/base/err.c. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "harness.h"

/* An error in which every field holds something, to see what a call leaves of it. */
static struct rf_err stale(void)
{
	return (struct rf_err){ -EPERM, 7, 8, "an older story", "an older hint" };
}

RF_TEST(each_way_to_fail_tells_its_story_and_returns_the_code)
{
	struct rf_err fail = stale(), say = stale(), at = stale();
	int fail_code = rf_fail(&fail, -ENOENT, "open %s", "/x");
	int say_code = rf_fail_say(&say, -EACCES, "%d is too many", 3);
	int at_code = rf_fail_at(&at, 12, 34, "unknown key '%s'", "memry");
	/* clang-format off */
	const struct { const char *what; const struct rf_err *err; int code, want, line, column; const char *msg; } cases[] = {
		{ "rf_fail",     &fail, fail_code, -ENOENT, 0,  0,  "open /x: No such file or directory" },
		{ "rf_fail_say", &say,  say_code,  -EACCES, 0,  0,  "3 is too many" },
		{ "rf_fail_at",  &at,   at_code,   -EINVAL, 12, 34, "unknown key 'memry'" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const struct rf_err *err = cases[i].err;

		RF_CHECK(cases[i].code == cases[i].want, "%s returned %d", cases[i].what,
			 cases[i].code);
		RF_CHECK(err->code == cases[i].want, "%s: code %d", cases[i].what, err->code);
		RF_CHECK(err->line == cases[i].line && err->column == cases[i].column,
			 "%s: at %d:%d", cases[i].what, err->line, err->column);
		RF_CHECK(strcmp(err->msg, cases[i].msg) == 0, "%s: msg '%s'", cases[i].what,
			 err->msg);
		RF_CHECK(err->hint[0] == '\0', "%s kept the hint '%s'", cases[i].what, err->hint);
	}
}

RF_TEST(context_goes_in_front_and_keeps_code_place_and_hint)
{
	struct rf_err err = RF_ERR_INIT;

	rf_fail_at(&err, 3, 5, "not a number");
	RF_CHECK(rf_fail_hint(&err, "write %s", "64M") == -EINVAL, "code %d", err.code);
	RF_CHECK(rf_fail_in(&err, "limits.%s", "memory") == -EINVAL, "code %d", err.code);
	RF_CHECK(rf_fail_in(&err, "policy.yaml") == -EINVAL, "code %d", err.code);
	RF_CHECK(strcmp(err.msg, "policy.yaml: limits.memory: not a number") == 0, "'%s'", err.msg);
	RF_CHECK(strcmp(err.hint, "write 64M") == 0, "'%s'", err.hint);
	RF_CHECK(err.line == 3 && err.column == 5, "at %d:%d", err.line, err.column);
}

RF_TEST(a_story_too_long_is_cut_and_still_ends)
{
	struct {
		struct rf_err err;
		char guard[16];
	} box;
	char longer[2 * sizeof(box.err.msg)];
	size_t max = sizeof(box.err.msg) - 1;

	memset(&box, 'G', sizeof(box));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';

	rf_fail(&box.err, -EIO, "%s", longer);
	RF_CHECK(strlen(box.err.msg) == max, "rf_fail: %zu", strlen(box.err.msg));
	rf_fail_in(&box.err, "outer");
	RF_CHECK(strlen(box.err.msg) == max, "rf_fail_in: %zu", strlen(box.err.msg));
	RF_CHECK(strncmp(box.err.msg, "outer: xxx", 10) == 0, "'%.10s'", box.err.msg);
	rf_fail_in(&box.err, "%s", longer);
	RF_CHECK(strlen(box.err.msg) == max, "long context: %zu", strlen(box.err.msg));
	rf_fail_hint(&box.err, "%s", longer);
	RF_CHECK(strlen(box.err.hint) == sizeof(box.err.hint) - 1, "%zu", strlen(box.err.hint));
	for (size_t i = 0; i < sizeof(box.guard); i++)
		RF_CHECK(box.guard[i] == 'G', "wrote %zu bytes past the end", i + 1);
}

RF_TEST(an_error_crosses_a_pipe_in_one_write)
{
	/* PIPE_BUF, below which POSIX makes writes atomic, is at least 512: pipe(7). */
	RF_CHECK(sizeof(struct rf_err) <= 512, "it has %zu bytes", sizeof(struct rf_err));
}
