/* The verdict: see verdict.h. */
#include "jail/verdict.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"

/* clang-format off */
/* When several limits were hit by a program that failed, the first of these is the cause. */
static const struct { enum rf_limit limit; enum rf_status status; } causes[] = {
	{ RF_LIMIT_MEMORY,    RF_STATUS_MEMORY  },
	{ RF_LIMIT_CPU_TIME,  RF_STATUS_CPU     },
	{ RF_LIMIT_PIDS,      RF_STATUS_PIDS    },
	{ RF_LIMIT_FILE_SIZE, RF_STATUS_DISK    },
	{ RF_LIMIT_DISK,      RF_STATUS_DISK    },
	{ RF_LIMIT_INODES,    RF_STATUS_DISK    },
	{ RF_LIMIT_OUTPUT,    RF_STATUS_OUTPUT  },
	{ RF_LIMIT_TIME,      RF_STATUS_TIMEOUT },
};
/* clang-format on */

static enum rf_status cause_of(uint32_t hit, enum rf_status otherwise)
{
	for (size_t i = 0; i < RF_LEN(causes); i++)
		if (hit & 1u << causes[i].limit)
			return causes[i].status;
	return otherwise;
}

/* A counter that counted; one that no group keeps reads UINT64_MAX. */
static bool is_counted(uint64_t count)
{
	return count > 0 && count != UINT64_MAX;
}

/* Which limits were touched, whether or not they ended the run. */
static uint32_t limits_hit(const struct rf_ending *ending)
{
	const struct rf_report *end = &ending->end;
	uint32_t hit = ending->used_up;

	if (ending->killed_for != RF_LIMIT_COUNT)
		hit |= 1u << ending->killed_for;
	if (is_counted(ending->counts.oom_kills))
		hit |= 1u << RF_LIMIT_MEMORY;
	if (is_counted(ending->counts.pids_refused))
		hit |= 1u << RF_LIMIT_PIDS;
	if (end->kind != RF_REPORT_ENDED)
		return hit;
	if (end->scratch_bytes && end->scratch_free_bytes < 4096)
		hit |= 1u << RF_LIMIT_DISK;
	if (end->scratch_files && end->scratch_free_files == 0)
		hit |= 1u << RF_LIMIT_INODES;
	if (WIFSIGNALED(end->code) && WTERMSIG(end->code) == SIGXFSZ)
		hit |= 1u << RF_LIMIT_FILE_SIZE;
	if (WIFSIGNALED(end->code) && WTERMSIG(end->code) == SIGXCPU)
		hit |= 1u << RF_LIMIT_CPU_TIME;
	return hit;
}

/* The program's own end, where pid 1 saw it. */
static void judge_end(const struct rf_ending *ending, struct rf_result *result)
{
	int status = ending->end.code;

	if (WIFEXITED(status))
		result->exit_code = WEXITSTATUS(status);
	else
		result->signal = WTERMSIG(status);
	result->code = result->signal ? 128 + result->signal : result->exit_code;
	if (result->exit_code == 0)
		result->status = RF_STATUS_OK;
	else if (ending->forwarded && result->signal == ending->forwarded)
		result->status = RF_STATUS_KILLED;
	else
		result->status = cause_of(result->limits_hit, RF_STATUS_FAILED);
}

/* Killed as a whole: by us, by the OOM killer, or by somebody outside. */
static void judge_kill(const struct rf_ending *ending, struct rf_result *result)
{
	uint32_t hit = ending->killed_for == RF_LIMIT_COUNT ? result->limits_hit
							    : 1u << ending->killed_for;

	result->signal = SIGKILL;
	result->status = cause_of(hit, RF_STATUS_KILLED);
	result->code = result->status == RF_STATUS_TIMEOUT ? 124 : 137;
	/* What it could not go on without was not there when it had begun: its network, for one. */
	if (result->status == RF_STATUS_KILLED && ending->setup.code && !result->error.code)
		result->error = ending->setup;
}

/* ------------------------------------------------------------- runs that never were */

static void judge_no_exec(const struct rf_ending *ending, const char *program,
			  const char *found_outside, struct rf_result *result)
{
	int code = ending->end.code;
	struct rf_err err;

	rf_fail(&err, -code, "%s", program);
	if (code == ENOENT && found_outside)
		rf_fail_hint(&err,
			     "it is at %.80s on your PATH, but not on the box's: name it by that "
			     "path, and show its folder with --read if it is not in /usr",
			     found_outside);
	else if (code == ENOENT && strpbrk(program, " ;|&<>"))
		rf_fail_hint(&err, "a line for a shell is run with: ringfort run -- sh -c '...'");
	else if (code == ENOENT && !strchr(program, '/'))
		rf_fail_hint(&err, "the box looks in /usr/local/bin, /usr/bin and /bin");
	else if (code == ENOENT)
		rf_fail_hint(&err, "the box sees /usr and what --read and --write show it");
	else if (code == EACCES)
		rf_fail_hint(&err, "it must be executable and in a place that the box may execute");
	else if (code == ENOEXEC)
		rf_fail_hint(&err, "a script needs a first line such as #!/bin/sh");
	rf_result_fail(result, RF_STATUS_ERROR, code == ENOENT ? 127 : 126, &err);
}

static void judge_unproven(const struct rf_ending *ending, struct rf_result *result)
{
	static const char *const facts[] = RF_PROOF_NAMES;
	uint32_t fact = ending->start.fact;
	struct rf_err err;

	rf_fail_say(&err, -EPERM, "the proof failed: %s; nothing was started",
		    fact < RF_PROOF_COUNT ? facts[fact] : "?");
	rf_fail_hint(&err, "this is a defect in Ringfort or in this kernel: please report it");
	rf_result_fail(result, RF_STATUS_ERROR, 125, &err);
}

/* The walls could not be raised: refused where this machine lacks one, failed otherwise. */
static void judge_unwalled(const struct rf_ending *ending, struct rf_result *result)
{
	struct rf_err err = ending->setup;
	bool is_refusal = err.code == -EOPNOTSUPP;

	if (!err.code)
		rf_fail_say(&err, -EIO, "the box ended before the program started");
	rf_result_fail(result, is_refusal ? RF_STATUS_DENIED : RF_STATUS_ERROR,
		       is_refusal ? 126 : 125, &err);
}

/* Pid 1 had to leave, or could not tell: how the program ended is not known. */
static void judge_untold(struct rf_result *result)
{
	struct rf_err err;

	rf_fail_say(&err, -EIO, "pid 1 ended without saying how the program did");
	rf_result_fail(result, RF_STATUS_ERROR, 125, &err);
}

void rf_verdict_judge(const struct rf_ending *ending, const char *program,
		      const char *found_outside, struct rf_result *result)
{
	bool was_killed = ending->killed_for != RF_LIMIT_COUNT || ending->forwarded;

	result->proven = ending->start.held;
	memcpy(result->ns, ending->start.ns, sizeof(result->ns));
	result->limits_hit = limits_hit(ending);
	if (ending->end.kind == RF_REPORT_NO_EXEC)
		judge_no_exec(ending, program, found_outside, result);
	else if (ending->start.kind == RF_REPORT_REFUSED)
		judge_unproven(ending, result);
	else if (ending->start.kind == 0 && !was_killed)
		judge_unwalled(ending, result);
	else if (ending->end.kind == RF_REPORT_ENDED && ending->killed_for == RF_LIMIT_COUNT)
		judge_end(ending, result);
	else if (!ending->end.kind && ending->has_left && !was_killed && !result->limits_hit)
		judge_untold(result);
	else
		judge_kill(ending, result);
	/* Its output could not be passed on: that is Ringfort's failure, and no success. */
	if (result->error.code && result->status == RF_STATUS_OK)
		rf_result_fail(result, RF_STATUS_ERROR, 125, &result->error);
}
