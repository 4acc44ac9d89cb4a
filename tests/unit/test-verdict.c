/* The verdict: every cause of an end is told apart by its rules. */
#include "jail/verdict.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "jail/wall.h"

#define EXITED(code)   ((code) << 8)
#define SIGNALED(sign) (sign)
#define NOBODY         UINT64_MAX

/* An ending as pid 1 and the groups would report it. */
static struct rf_ending ending_of(int wait_status)
{
	return (struct rf_ending){
		.start = { .kind = RF_REPORT_STARTED, .held = 1 },
		.end = { .kind = RF_REPORT_ENDED,
			 .code = wait_status,
			 .scratch_bytes = 1 << 20,
			 .scratch_free_bytes = 1 << 20,
			 .scratch_files = 100,
			 .scratch_free_files = 100 },
		.counts = { .oom_kills = NOBODY, .pids_refused = NOBODY },
		.killed_for = RF_LIMIT_COUNT,
	};
}

static struct rf_result judge(const struct rf_ending *ending)
{
	struct rf_result result;

	rf_result_init(&result, NULL);
	rf_verdict_judge(ending, "prog", NULL, &result);
	return result;
}

RF_TEST(the_programs_own_end_is_ok_or_failed)
{
	/* clang-format off */
	static const struct { int wait; enum rf_status status; int exit_code, signal, code; } cases[] = {
		{ EXITED(0),         RF_STATUS_OK,      0,  0,       0   },
		{ EXITED(3),         RF_STATUS_FAILED,  3,  0,       3   },
		{ EXITED(255),       RF_STATUS_FAILED, 255, 0,       255 },
		{ SIGNALED(SIGSEGV), RF_STATUS_FAILED, -1,  SIGSEGV, 139 },
		{ SIGNALED(SIGXFSZ), RF_STATUS_DISK,   -1,  SIGXFSZ, 153 },
		{ SIGNALED(SIGXCPU), RF_STATUS_CPU,    -1,  SIGXCPU, 152 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_ending ending = ending_of(cases[i].wait);
		struct rf_result result = judge(&ending);

		RF_CHECK(result.status == cases[i].status &&
				 result.exit_code == cases[i].exit_code &&
				 result.signal == cases[i].signal && result.code == cases[i].code,
			 "wait status %d: %s, %d, %d, %d", cases[i].wait,
			 rf_result_status(result.status), result.exit_code, result.signal,
			 result.code);
	}
}

RF_TEST(a_pid_1_that_left_without_a_word_is_an_error_and_one_that_was_killed_is_not)
{
	struct rf_ending ending = ending_of(0);
	struct rf_result result;

	ending.end = (struct rf_report){ 0 };
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_KILLED && result.code == 137, "killed: %d",
		 result.code);
	ending.has_left = true;
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_ERROR && result.code == 125 && result.error.msg[0],
		 "left: %d, %s", result.code, result.error.msg);
	ending.killed_for = RF_LIMIT_TIME; /* as a lesser box leaves when it is told to end */
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_TIMEOUT, "told to: %d", result.code);
}

RF_TEST(a_limit_that_ringfort_killed_for_is_the_cause_whatever_else_was_hit)
{
	/* clang-format off */
	static const struct { enum rf_limit limit; enum rf_status status; int code; } cases[] = {
		{ RF_LIMIT_TIME,     RF_STATUS_TIMEOUT, 124 },
		{ RF_LIMIT_OUTPUT,   RF_STATUS_OUTPUT,  137 },
		{ RF_LIMIT_MEMORY,   RF_STATUS_MEMORY,  137 },
		{ RF_LIMIT_CPU_TIME, RF_STATUS_CPU,     137 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_ending ending = ending_of(EXITED(0));
		struct rf_result result;

		ending.end.kind = 0; /* dead before it could say anything */
		ending.killed_for = cases[i].limit;
		ending.counts.pids_refused = 7;
		result = judge(&ending);
		RF_CHECK(result.status == cases[i].status && result.code == cases[i].code &&
				 result.signal == SIGKILL,
			 "%s: %s, %d", rf_limit_table[cases[i].limit].key,
			 rf_result_status(result.status), result.code);
		RF_CHECK(result.limits_hit == (1u << cases[i].limit | 1u << RF_LIMIT_PIDS), "%x",
			 result.limits_hit);
	}
}

RF_TEST(a_limit_that_was_hit_is_the_cause_only_if_the_program_failed)
{
	struct rf_ending ending = ending_of(SIGNALED(SIGKILL));
	struct rf_result result;

	ending.counts.oom_kills = 1;
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_MEMORY && result.code == 137, "killed by the kernel");

	ending.end.code = EXITED(0);
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_OK && result.code == 0 &&
			 result.limits_hit == 1u << RF_LIMIT_MEMORY,
		 "a child was killed, and the program coped");

	ending = ending_of(EXITED(1));
	ending.counts.pids_refused = 1;
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_PIDS && result.code == 1, "a refused fork");

	ending = ending_of(EXITED(1));
	ending.end.scratch_free_bytes = 0;
	RF_CHECK(judge(&ending).status == RF_STATUS_DISK, "a full disk");

	ending = ending_of(EXITED(1));
	ending.end.scratch_free_files = 0;
	RF_CHECK(judge(&ending).status == RF_STATUS_DISK, "no file left");

	ending = ending_of(EXITED(1));
	ending.used_up = 1u << RF_LIMIT_INODES;
	RF_CHECK(judge(&ending).status == RF_STATUS_DISK, "no room in the workspace");

	ending = ending_of(EXITED(1));
	RF_CHECK(judge(&ending).limits_hit == 0, "counters that nobody keeps count nothing");
}

RF_TEST(a_signal_that_was_passed_on_is_told_apart_from_the_programs_own)
{
	struct rf_ending ending = ending_of(SIGNALED(SIGTERM));
	struct rf_result result = judge(&ending);

	RF_CHECK(result.status == RF_STATUS_FAILED, "its own SIGTERM");
	ending.forwarded = SIGTERM;
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_KILLED && result.code == 143, "ours");
	ending.end.code = EXITED(5);
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_FAILED && result.code == 5,
		 "caught, and an end of its own");
	ending.end.kind = 0;
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_KILLED && result.code == 137, "the second time");
}

RF_TEST(a_program_that_could_not_be_executed_is_an_error_with_a_remedy)
{
	/* clang-format off */
	static const struct { int err, code; const char *program, *outside, *hint; } cases[] = {
		{ ENOENT,  127, "go",    "/opt/go/bin/go", "/opt/go/bin/go" },
		{ ENOENT,  127, "go",    NULL,             "/usr/local/bin" },
		{ ENOENT,  127, "./go",  NULL,             "--read" },
		{ EACCES,  126, "/tmp/x", NULL,            "executable" },
		{ ENOEXEC, 126, "/tmp/x", NULL,            "#!/bin/sh" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_ending ending = ending_of(0);
		struct rf_result result;

		ending.end = (struct rf_report){ .kind = RF_REPORT_NO_EXEC, .code = cases[i].err };
		rf_result_init(&result, NULL);
		rf_verdict_judge(&ending, cases[i].program, cases[i].outside, &result);
		RF_CHECK(result.status == RF_STATUS_ERROR && result.code == cases[i].code &&
				 result.error.code == -cases[i].err &&
				 strstr(result.error.hint, cases[i].hint),
			 "%s: %d, %s", cases[i].program, result.code, result.error.hint);
	}
}

RF_TEST(a_box_without_its_walls_is_refused_or_failed_and_never_run)
{
	struct rf_ending ending = { .killed_for = RF_LIMIT_COUNT };
	struct rf_result result = judge(&ending);

	RF_CHECK(result.status == RF_STATUS_ERROR && result.code == 125 &&
			 result.error.code == -EIO,
		 "ended without a word");

	rf_fail(&ending.setup, -EPERM, "mounts");
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_ERROR && result.code == 125, "a wall that failed");

	rf_fail_say(&ending.setup, -EOPNOTSUPP, "this machine lacks Landlock");
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_DENIED && result.code == 126, "a wall that is missing");

	ending = (struct rf_ending){ .killed_for = RF_LIMIT_COUNT,
				     .start = { .kind = RF_REPORT_REFUSED,
						.fact = RF_PROOF_SECCOMP } };
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_ERROR && result.code == 125 &&
			 strstr(result.error.msg, "seccomp"),
		 "unproven: %s", result.error.msg);
}

RF_TEST(output_that_was_lost_is_no_success)
{
	struct rf_ending ending = ending_of(EXITED(0));
	struct rf_result result;

	rf_result_init(&result, NULL);
	rf_fail(&result.error, -ENOSPC, "write standard output");
	rf_verdict_judge(&ending, "prog", NULL, &result);
	RF_CHECK(result.status == RF_STATUS_ERROR && result.code == 125, "%d", result.code);
}

/* A result names walls without knowing them: both tables must say the same. */
RF_TEST(a_result_names_the_walls_in_the_order_in_which_they_go_up)
{
	for (int is_lesser = 0; is_lesser < 2; is_lesser++)
		for (size_t i = 0; i <= RF_RESULT_WALLS; i++) {
			const char *name = rf_wall_name(is_lesser, i);
			const char *told = rf_result_wall(is_lesser, i);

			RF_CHECK(!name == !told && (!name || strcmp(name, told) == 0),
				 "wall %zu: %s, %s", i, name ? name : "none", told ? told : "none");
		}
}

RF_TEST(a_box_that_had_to_end_because_something_of_it_was_missing_says_what)
{
	struct rf_ending ending = ending_of(0);
	struct rf_result result;

	ending.end = (struct rf_report){ 0 };
	rf_fail_say(&ending.setup, -EPIPE, "the network: its gateway is gone");
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_KILLED && result.code == 137 &&
			 strstr(result.error.msg, "gateway is gone"),
		 "%d, %s", result.code, result.error.msg);
	ending.killed_for = RF_LIMIT_TIME; /* then that is the reason */
	result = judge(&ending);
	RF_CHECK(result.status == RF_STATUS_TIMEOUT && !result.error.code, "%s", result.error.msg);
}
